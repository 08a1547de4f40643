import fc from 'fast-check'
import { expect, test } from 'vitest'
import { loadKey, loadText, parseLoads } from './lease-loads.ts'

function costs(...values: readonly number[]): ReadonlyMap<string, number> {
  return new Map(values.map((cost, index) => [`${index}-FF`, cost]))
}

test('PH-14 what is told of a few leases is found again, to three digits', () => {
  const { restCost, named } = parseLoads(loadText(costs(12.3456, 0, 1_000)))
  expect(restCost).toBeUndefined()
  expect([0, 1, 2].map((index) => named.get(loadKey(`${index}-FF`)))).toEqual([12.3, 0, 1_000])
})

test('PH-14 of many leases the heaviest are named, of the others the mean is told', () => {
  const { restCost, named } = parseLoads(loadText(costs(...Array(100).fill(2), 900, 5)))
  expect(named.size).toBe(32)
  expect(named.get(loadKey('100-FF'))).toBe(900)
  expect(named.get(loadKey('101-FF'))).toBe(5)
  expect(restCost).toBe(2)
})

test('PH-14 what is told stays short, and has no quotes, whatever the leases', () => {
  const any = fc.array(fc.double({ min: 0, max: 1e9, noNaN: true }), { maxLength: 200 })
  fc.assert(
    fc.property(any, (values) => {
      const text = loadText(costs(...values))
      expect(text.length).toBeLessThan(600)
      expect(text).not.toMatch(/["\\]/)
      expect(parseLoads(text).named.size).toBeLessThanOrEqual(32)
    }),
    { seed: 20261128 },
  )
})

test.each(['', 'x', '-', 'NaN a=Infinity', '-1 a=-2', '{"a":1}', ' a'])(
  'PH-14 %j tells nothing, and harms nothing',
  (text) => {
    expect(parseLoads(text)).toEqual({ restCost: undefined, named: new Map() })
  },
)

test('PH-14 what no host can have done counts as a bound, so that sums stay numbers', () => {
  const bound = 1_000_000
  expect(parseLoads('1e308 a=1e300')).toEqual({ restCost: bound, named: new Map([['a', bound]]) })
})
