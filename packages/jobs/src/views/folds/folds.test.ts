import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { addExactly, roundedSum, type ExactSum } from './exact-sum.ts'
import { foldProperties } from './fold-properties.ts'
import type { Fold } from './fold.ts'
import { count, sum, top } from './folds.ts'
import { orderCode } from './order-code.ts'

const double = fc.double({ noNaN: true, noDefaultInfinity: true, min: -1e300, max: 1e300 })

describe('JB-3 sums', () => {
  test('numbers that were added and taken away again leave nothing behind', () => {
    fc.assert(
      fc.property(
        fc.array(double, { maxLength: 30 }),
        fc.array(double, { maxLength: 30 }),
        (stay, leave) => {
          let all: ExactSum = []
          for (const each of [...stay, ...leave]) all = addExactly(all, each)
          for (const each of leave.toReversed()) all = addExactly(all, -each)
          let alone: ExactSum = []
          for (const each of stay.toReversed()) alone = addExactly(alone, each)
          expect(roundedSum(all)).toBe(roundedSum(alone))
        },
      ),
      { seed: 3, numRuns: 300 },
    )
  })

  test('are rounded once', () => {
    const tenths = Array.from({ length: 10 }, () => 0.1)
    expect(roundedSum(tenths.reduce<ExactSum>(addExactly, []))).toBe(1)
    expect(roundedSum([1e100, 1, -1e100].reduce<ExactSum>(addExactly, []))).toBe(1)
    expect(addExactly(addExactly([], 1e100), -1e100)).toEqual([])
  })

  test('beyond the range of numbers, and of what is no number, are refused', () => {
    expect(() => addExactly([1.7e308], 1.7e308)).toThrow('beyond the range')
    const [total] = foldProperties<{ readonly id: string }>(sum(() => 'x' as never))
    expect(() => total!.part({ id: 'a' } as never, '')).toThrow('takes numbers')
  })
})

test('parts and states of own folds that are no finite numbers are refused', () => {
  const product: Fold<{ readonly id: string; readonly n: number }, number, number, number> = {
    kind: 'product',
    empty: 1,
    part: ({ n }) => n,
    add: (state, part) => state * part,
    remove: (state, part) => state / part,
    value: (state) => state,
  }
  const [fold] = foldProperties({ product })
  expect(() => fold!.part({ id: 'a', n: Number.NaN } as never, 'a')).toThrow('made NaN')
  const change = { removed: [0], added: [] }
  expect(() => fold!.change(0, change)).toThrow('fold product takes finite numbers')
})

describe('codes of scores', () => {
  const score = fc.oneof(double, fc.string({ maxLength: 15 }))
  test('sort as the scores do, the other way round for the highest first', () => {
    fc.assert(
      fc.property(double, double, (a, b) => {
        const sign = Math.sign(compare(orderCode(a, 'lowest'), orderCode(b, 'lowest')))
        expect(sign).toBe(Math.sign(a - b || 0))
        expect(Math.sign(compare(orderCode(a, 'highest'), orderCode(b, 'highest')))).toBe(-sign + 0)
      }),
      { seed: 5 },
    )
  })
  test('of texts sort by code points, after those of numbers', () => {
    expect(['b', '', 'a', 'ab', 'é'].toSorted(byCode)).toEqual(['', 'a', 'ab', 'b', 'é'])
    expect(orderCode(1e300, 'lowest') < orderCode('', 'lowest')).toBe(true)
    fc.assert(
      fc.property(score, (each) => orderCode(each, 'lowest').length <= 123),
      { seed: 5 },
    )
  })
  test('that cannot be ordered are refused', () => {
    expect(() => orderCode(Number.NaN, 'lowest')).toThrow('finite')
    expect(() => orderCode('x'.repeat(61), 'lowest')).toThrow('60 bytes')
    expect(() => orderCode(true as never, 'lowest')).toThrow('number or a text')
  })
})

test.each([
  [{}, '1 to 50 folds'],
  [{ id: count() }, 'cannot be named "id"'],
  [{ _x: count() }, 'cannot be named "_x"'],
  [{ x: {} as never }, 'fold.x must be a fold'],
  [{ x: top(0, () => 1) }, 'limit of 1 to 1000'],
])('folds that cannot be are refused: %#', (folds, message) => {
  expect(() => foldProperties(folds)).toThrow(message)
})

function byCode(a: string, b: string): number {
  return compare(orderCode(a, 'lowest'), orderCode(b, 'lowest'))
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
