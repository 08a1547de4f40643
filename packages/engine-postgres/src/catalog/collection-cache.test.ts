import { expect, test } from 'vitest'
import type { SqlRow } from '../connection/sql.ts'
import { Statements } from '../connection/statements.ts'
import { POSTGRES } from '../dialect/dialect.ts'
import { CollectionCache } from './collection-cache.ts'

const COLLECTION = { number: 1, id: 'coll' }

/** Reads that are answered when the test says so, each with the version that there is when it begins. */
class SlowReads {
  version = 1
  readonly #answers: (() => void)[] = []

  get count(): number {
    return this.#answers.length
  }

  read(): Promise<readonly SqlRow[]> {
    const definition = JSON.stringify({})
    const version = String(this.version)
    const row = ['1', 'coll', 'r', definition, '[]', 'e', '0', null, 'f', version, '[]', '[]']
    return new Promise((resolve) => {
      this.#answers.push(() => resolve([row]))
    })
  }

  answer(index: number): void {
    this.#answers[index]?.()
  }
}

function cacheWith(connections: SlowReads): CollectionCache {
  return new CollectionCache(connections, new Statements('s', { dialect: POSTGRES, clock: 'own' }))
}

test('ST-10 who asks after a change is not answered by a read that began before it', async () => {
  const reads = new SlowReads()
  const cache = cacheWith(reads)
  const before = cache.refresh(COLLECTION)
  reads.version = 2
  const after = Promise.all([cache.refresh(COLLECTION), cache.refresh(COLLECTION)])
  expect(reads.count).toBe(1)
  reads.answer(0)
  expect((await before).version).toBe(1)
  expect(reads.count).toBe(2)
  reads.answer(1)
  // Those that came while one was on its way share the next.
  expect((await after).map(({ version }) => version)).toEqual([2, 2])
  expect(cache.known(1)?.version).toBe(2)
  expect(reads.count).toBe(2)
})
