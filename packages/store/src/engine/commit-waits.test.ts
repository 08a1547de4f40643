import {
  RangeGoneError,
  ResourceNotFoundError,
  type CodedError,
  type FeedRange,
} from '@tidemark/contracts'
import type { CollectionRecord } from './catalog.ts'
import { expect, test } from 'vitest'
import { CommitWaits, type PlaceCounter, type WaitPlace } from './commit-waits.ts'

const LOW: FeedRange = { minInclusive: '', maxExclusive: '80' }
const HIGH: FeedRange = { minInclusive: '80', maxExclusive: 'FF' }

function place(number: number, rangeNumber: number, range: FeedRange): WaitPlace {
  // Only the number and the id are looked at.
  const collection = { number, id: `c${number}` } as CollectionRecord
  return { collection, range, rangeNumber }
}

function recheck(
  waits: CommitWaits,
  answer: (places: readonly WaitPlace[]) => readonly (PlaceCounter | CodedError)[],
): void {
  const places = waits.places()
  waits.tell(places, answer(places))
}

class Waiter {
  readonly log: string[]
  readonly afterLsn: number
  readonly #name: string
  constructor(log: string[], name: string, afterLsn: number) {
    this.log = log
    this.afterLsn = afterLsn
    this.#name = name
  }
  wake(): void {
    this.log.push(this.#name)
  }
  fail(error: unknown): void {
    this.log.push(`${this.#name}: ${(error as { code: string }).code}`)
  }
}

test('CF-12 a commit wakes those of its range that are behind it, and nobody else', () => {
  const log: string[] = []
  const waits = new CommitWaits()
  waits.add(place(1, 0, LOW), new Waiter(log, 'behind', 4))
  waits.add(place(1, 0, LOW), new Waiter(log, 'not behind', 5))
  waits.add(place(1, 0, { minInclusive: '10', maxExclusive: '20' }), new Waiter(log, 'part', 4))
  waits.add(place(1, 1, HIGH), new Waiter(log, 'other range', 0))
  waits.add(place(2, 0, LOW), new Waiter(log, 'other collection', 0))
  waits.committed({ collection: 1, range: 0, lsn: 5 })
  expect(log).toEqual(['behind', 'part'])
})

test('thousands of waits in one place are one look-up', () => {
  const log: string[] = []
  const waits = new CommitWaits()
  const ends = Array.from({ length: 3000 }, (_, n) =>
    waits.add(place(1, n % 2, n % 2 === 0 ? LOW : HIGH), new Waiter(log, 'x', n % 2)),
  )
  expect(waits.size).toBe(3000)
  let asked = 0
  recheck(waits, (places) => {
    asked += places.length
    return places.map(({ rangeNumber }) => ({ lsn: 1, rangeNumber }))
  })
  expect(asked).toBe(2)
  expect(log).toHaveLength(1500)
  for (const end of ends) end()
  for (const end of ends) end()
  expect(waits.size).toBe(0)
  recheck(waits, (places) => {
    expect(places).toEqual([])
    return []
  })
})

test('a place that is gone is told to its readers, and the others are still looked up', () => {
  const log: string[] = []
  const waits = new CommitWaits()
  waits.add(place(1, 0, LOW), new Waiter(log, 'gone', 0))
  waits.add(place(2, 0, LOW), new Waiter(log, 'there', 0))
  recheck(waits, ([first]) => [
    new ResourceNotFoundError('collection', first?.collection.id ?? ''),
    { lsn: 7, rangeNumber: 0 },
  ])
  expect(log).toEqual(['gone: ERR_NOT_FOUND', 'there'])
})

test('ST-9 a place whose pkrange is another one now is woken: no commit would be told to it', () => {
  const log: string[] = []
  const waits = new CommitWaits()
  waits.add(place(1, 0, LOW), new Waiter(log, 'split', 5))
  recheck(waits, () => [{ lsn: 5, rangeNumber: 3 }])
  recheck(waits, () => [new RangeGoneError('0-80', [])])
  expect(log).toEqual(['split', 'split'])
})

test('a limit keeps a leak of waits from growing', () => {
  const waits = new CommitWaits()
  const wait = { afterLsn: 0, wake() {}, fail() {} }
  const add = (): unknown => waits.add(place(1, 0, LOW), { ...wait })
  for (let n = 0; n < 100_000; n++) add()
  expect(add).toThrow(expect.objectContaining({ code: 'ERR_STORE_UNAVAILABLE' }))
})
