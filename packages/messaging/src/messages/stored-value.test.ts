import { expect, test } from 'vitest'
import type { PropertyValue } from './message.ts'
import { fromStoredValue, fromStoredValues, toStoredValue, toStoredValues } from './stored-value.ts'

const VALUES: readonly PropertyValue[] = [
  'text',
  '',
  0,
  -0.5,
  2 ** 53,
  Number.NaN,
  -Infinity,
  9_007_199_254_740_993n,
  2n ** 63n - 1n,
  -(2n ** 63n),
  true,
  false,
  null,
  new Date('2026-01-02T03:04:05.678Z'),
  new Uint8Array([0, 255, 128]),
  new Uint8Array(),
]

test.each(VALUES)('%s comes back as it was, through JSON', (value) => {
  const text = JSON.stringify(toStoredValue('p', value))
  expect(fromStoredValue(JSON.parse(text))).toEqual(value)
})

test('values of one name each', () => {
  expect(toStoredValues({ a: 1n, b: 'x' })).toEqual({ a: { long: '1' }, b: 'x' })
  expect(fromStoredValues({ a: { long: '1' }, b: 'x' })).toEqual({ a: 1n, b: 'x' })
  const most = { a: { ulong: '18446744073709551615' } }
  expect(toStoredValues(fromStoredValues(most))).toEqual(most)
})

test('a type of another protocol is shown as its value', () => {
  expect(fromStoredValue({ char: 'x' })).toBe('x')
  expect(fromStoredValue({ map: {} })).toBeNull()
})

test.each([
  [{}],
  [undefined],
  [2n ** 64n],
  [-(2n ** 63n) - 1n],
  [new Date(Number.NaN)],
  [Symbol('x')],
])('refuses what no property can be: %s', (value) => {
  expect(() => toStoredValue('p', value as never)).toThrow(
    'the property "p" must be a text, a number, a 64-bit integer, true, false, a date, bytes or null, got ',
  )
})

test('SET-17 a message has at most 1,000 properties', () => {
  const values = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, n) => [`p${n}`, n]))
  expect(Object.keys(toStoredValues(values(1000)))).toHaveLength(1000)
  expect(() => toStoredValues(values(1001))).toThrow('at most 1000 application properties')
})
