import { expect, test } from 'vitest'
import { parentsOf, type RangeWithAncestors } from './range-tree.ts'

/** Ranges as the store numbers them, and the lists of ancestors that it keeps. */
class Ranges {
  readonly #direct = new Map<string, readonly string[]>()
  #live: readonly RangeWithAncestors[] = []
  #next = 0

  constructor(count: number) {
    this.#live = Array.from({ length: count }, () => this.#add([], []))
  }

  split(id: string): readonly string[] {
    const parents = [...this.#take(id).parents, id]
    const children = [this.#add(parents, [id]), this.#add(parents, [id])]
    this.#live = [...this.#live, ...children]
    return children.map((child) => child.id)
  }

  merge(one: string, other: string): string {
    const [a, b] = [this.#take(one), this.#take(other)]
    const parents = [...new Set([...a.parents, ...b.parents, one, other])]
    parents.sort((first, second) => Number(first) - Number(second))
    const merged = this.#add(
      parents,
      [one, other].sort((x, y) => Number(x) - Number(y)),
    )
    this.#live = [...this.#live, merged]
    return merged.id
  }

  expectTree(): void {
    const found = parentsOf(this.#live)
    for (const [id, own] of found) expect([id, own]).toEqual([id, this.#direct.get(id)])
  }

  #add(parents: readonly string[], direct: readonly string[]): RangeWithAncestors {
    const id = String(this.#next)
    this.#next += 1
    this.#direct.set(id, direct)
    return { id, parents }
  }

  #take(id: string): RangeWithAncestors {
    const found = this.#live.find((one) => one.id === id)
    if (found === undefined) throw new Error(`no range ${id}`)
    this.#live = this.#live.filter((one) => one !== found)
    return found
  }
}

test('splits of splits', () => {
  const ranges = new Ranges(2)
  const [left = '', right = ''] = ranges.split('0')
  ranges.expectTree()
  ranges.split(left)
  ranges.split(right)
  ranges.split('1')
  ranges.expectTree()
})

test('merges of halves, of neighbours, and of what was merged', () => {
  const ranges = new Ranges(3)
  const [left = '', right = ''] = ranges.split('0')
  const again = ranges.merge(left, right)
  ranges.expectTree()
  const [, upper = ''] = ranges.split(again)
  ranges.merge(upper, '1')
  ranges.expectTree()
})
