import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { FULL_RANGE } from '../ranges/feed-range.ts'
import { lsn } from '../ranges/lsn.ts'
import type { FeedPage } from './change-feed-source.ts'
import type { Change } from './change.ts'
import { decodeContinuation, encodeContinuation, type ContinuationToken } from './continuation.ts'
import { cutPage } from './cut-page.ts'

const changeAt = (at: number, id: string): Change => ({
  kind: 'version',
  id,
  partitionKey: 'p',
  lsn: lsn(at),
  operationType: 'create',
  crts: 0,
  timeToLiveExpired: false,
})

const tokenAt = (at: number): ContinuationToken => ({
  collectionRid: 'Sl8fALN4sw4=',
  mode: 'allVersions',
  positions: [{ range: FULL_RANGE, epoch: 3, lsn: lsn(at), purgeStamp: 5 }],
})

/** One page of transactions of these sizes, with an LSN between two of them that has no change. */
function pageOf(sizes: readonly number[], caughtUp: boolean): FeedPage {
  const changes = sizes.flatMap((size, index) =>
    Array.from({ length: size }, (_, n) => changeAt(2 * index + 1, `${index}/${n}`)),
  )
  // Rows that are nothing for this reader came last.
  const end = 2 * sizes.length + 10
  return { changes, continuation: encodeContinuation(tokenAt(end)), lsn: lsn(end), caughtUp }
}

const sizes = fc.array(fc.integer({ min: 1, max: 6 }), { maxLength: 30 })
const maxItemCount = fc.integer({ min: 1, max: 8 })

describe('CF-16 a page that is cut', () => {
  test('has the same changes, in parts of whole transactions that are no larger than asked', () => {
    fc.assert(
      fc.property(sizes, maxItemCount, fc.boolean(), (transactions, most, caughtUp) => {
        const whole = pageOf(transactions, caughtUp)
        const parts = cutPage(whole, most)
        expect(parts.flatMap(({ changes }) => changes)).toEqual(whole.changes)
        const lsnsOf = parts.map(({ changes }) => new Set(changes.map((change) => change.lsn)))
        for (const [index, { changes }] of parts.entries()) {
          if (changes.length > most) expect(lsnsOf[index]!.size).toBe(1)
          const next = lsnsOf[index + 1]
          if (next !== undefined) expect([...next].some((at) => lsnsOf[index]!.has(at))).toBe(false)
        }
      }),
      { seed: 1 },
    )
  })

  test('leads from part to part, and in the end to where it led', () => {
    fc.assert(
      fc.property(sizes, maxItemCount, fc.boolean(), (transactions, most, caughtUp) => {
        const whole = pageOf(transactions, caughtUp)
        const parts = cutPage(whole, most)
        const last = parts.at(-1)!
        expect({ ...last, changes: [] }).toEqual({ ...whole, changes: [] })
        for (const part of parts.slice(0, -1)) {
          expect(part.lsn).toBe(part.changes.at(-1)?.lsn)
          expect(decodeContinuation(part.continuation)).toEqual(tokenAt(part.lsn))
          expect(part.caughtUp).toBe(false)
        }
      }),
      { seed: 2 },
    )
  })

  test('is of one range: what several have read has no common LSN', () => {
    const { positions, ...token } = tokenAt(9)
    const [position] = positions
    const ranges = [
      { minInclusive: '', maxExclusive: '80' },
      { minInclusive: '80', maxExclusive: 'FF' },
    ]
    const both = { ...token, positions: ranges.map((range) => ({ ...position!, range })) }
    const page = { ...pageOf([1, 1], false), continuation: encodeContinuation(both) }
    expect(() => cutPage(page, 1)).toThrow('several ranges')
  })

  test('is one part when it is small enough or one transaction, also without changes', () => {
    for (const [transactions, most] of [
      [[], 1],
      [[1, 2], 3],
      [[9], 3],
    ] as const) {
      expect(cutPage(pageOf(transactions, true), most)).toHaveLength(1)
    }
  })
})
