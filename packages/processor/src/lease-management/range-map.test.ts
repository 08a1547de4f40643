import fc from 'fast-check'
import { expect, test } from 'vitest'
import { rangesOverlap, type FeedRange } from '@tidemark/contracts'
import { RangeMap } from './range-map.ts'

const KEYS = 12

const range = fc.tuple(fc.nat(KEYS - 1), fc.nat(KEYS)).filter(([from, to]) => from < to)
const step = fc.tuple(range, fc.option(fc.nat(9)))

function feedRange([from, to]: readonly [number, number]): FeedRange {
  return { minInclusive: key(from), maxExclusive: key(to) }
}

function key(number: number): string {
  return number.toString(16).toUpperCase().padStart(2, '0')
}

test('every key has the value that was set last, and no two ranges have a key in common', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30 }), range, (steps, asked) => {
      const map = new RangeMap<number>()
      const values: (number | null)[] = Array.from({ length: KEYS }, () => null)
      for (const [[from, to], value] of steps) {
        if (value === null) map.delete(feedRange([from, to]))
        else map.set(feedRange([from, to]), value)
        values.fill(value, from, to)
      }
      const found = values.map((_, at) => {
        const entries = map.overlapping(feedRange([at, at + 1]))
        expect(entries.length).toBeLessThanOrEqual(1)
        return entries[0]?.value ?? null
      })
      expect(found).toEqual(values)
      const all = map.overlapping(feedRange([0, KEYS]))
      expect(map.overlapping(feedRange(asked))).toEqual(
        all.filter((entry) => rangesOverlap(entry.range, feedRange(asked))),
      )
    }),
  )
})
