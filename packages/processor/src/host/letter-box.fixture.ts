import type { DeadLetter, DeadLetterSink } from '@tidemark/contracts'
import type { Fleet, FakeDocument, FleetOptions } from '@tidemark/testing'

export type Letter = DeadLetter<FakeDocument>

/** Keeps letters by id, and hands out those that were sent back. */
export class LetterBox implements DeadLetterSink<FakeDocument> {
  readonly letters: Map<string, Letter> = new Map()
  readonly sentBack: Set<string> = new Set()
  /** Every `put`, also those that were refused. */
  puts = 0
  /** So many of the first are refused. */
  refuses = 0
  /** Before anything is done. May wait, and may throw: a fault. */
  before: (operation: 'put' | 'takeRedriven' | 'settle') => Promise<void> | void = () => {}

  async put(letter: Letter): Promise<void> {
    this.puts += 1
    if (this.puts <= this.refuses) throw new Error('no room')
    await this.before('put')
    this.letters.set(letter.id, letter)
    this.sentBack.delete(letter.id)
  }

  async takeRedriven(): Promise<readonly Letter[]> {
    await this.before('takeRedriven')
    return [...this.letters.values()].filter(({ id }) => this.sentBack.has(id))
  }

  async settle({ id }: Letter): Promise<void> {
    await this.before('settle')
    this.letters.delete(id)
    this.sentBack.delete(id)
  }

  /** Ids of the changes in it. */
  get changes(): readonly string[] {
    return [...this.letters.values()].map(({ change }) => change.id)
  }
}

export const POISON: Error = new Error('poison')

export function failsOn(...ids: readonly string[]): NonNullable<FleetOptions['behaviour']> {
  return (_context, changes) => {
    if (changes.some(({ id }) => ids.includes(id))) throw POISON
  }
}

/** Changes of 16 keys in turn. */
export function write(fleet: Fleet, count: number): void {
  for (let n = 0; n < count; n += 1) fleet.feed.append(`key${n % 16}`)
}

/** The ids of changes that some observer accepted, in order, once each. */
export function accepted({ deliveries }: Fleet): readonly string[] {
  const done = deliveries.filter(({ outcome }) => outcome === 'done')
  return [...new Set(done.flatMap(({ changes }) => changes.map(({ id }) => id)))]
}
