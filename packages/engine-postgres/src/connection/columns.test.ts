import { expect, test } from 'vitest'
import {
  booleanColumn,
  booleanList,
  nullableNumberColumn,
  nullableTextColumn,
  numberColumn,
  numberList,
  textColumn,
} from './columns.ts'

const DAMAGED = expect.objectContaining({ code: 'ERR_STORE_DAMAGED' })

test('columns are read as what they should hold', () => {
  const row = ['12', 'text', 't', 'f', null, '', '-1.5']
  expect(numberColumn(row, 0)).toBe(12)
  expect(textColumn(row, 1)).toBe('text')
  expect(booleanColumn(row, 2)).toBe(true)
  expect(booleanColumn(row, 3)).toBe(false)
  expect(nullableNumberColumn(row, 4)).toBeNull()
  expect(nullableNumberColumn(row, 0)).toBe(12)
  expect(nullableTextColumn(row, 4)).toBeNull()
  expect(textColumn(row, 5)).toBe('')
  expect(numberColumn(row, 6)).toBe(-1.5)
})

test('a column that holds something else is damage, not a wrong value', () => {
  expect(() => numberColumn(['x'], 0)).toThrow(DAMAGED)
  expect(() => numberColumn([''], 0)).toThrow(DAMAGED)
  expect(() => numberColumn([null], 0)).toThrow(DAMAGED)
  expect(() => numberColumn([], 0)).toThrow(DAMAGED)
  expect(() => nullableNumberColumn([], 0)).toThrow(DAMAGED)
  expect(() => textColumn([null], 0)).toThrow(DAMAGED)
  expect(() => textColumn([], 0)).toThrow(DAMAGED)
  expect(() => booleanColumn(['true'], 0)).toThrow(DAMAGED)
})

test('an integer that a number cannot hold is refused', () => {
  expect(numberColumn(['9007199254740991'], 0)).toBe(Number.MAX_SAFE_INTEGER)
  expect(() => numberColumn(['9007199254740992'], 0)).toThrow(DAMAGED)
  expect(() => numberList('{9007199254740993}')).toThrow(DAMAGED)
})

test('lists are read from the text of arrays', () => {
  expect(numberList('{}')).toEqual([])
  expect(numberList('{1,NULL,-3}')).toEqual([1, null, -3])
  expect(booleanList('{t,f,NULL}')).toEqual([true, false, null])
  expect(() => numberList('1,2')).toThrow(DAMAGED)
  expect(() => numberList('{1,}')).toThrow(DAMAGED)
  expect(() => numberList('{{1},{2}}')).toThrow(DAMAGED)
  expect(() => booleanList('{true}')).toThrow(DAMAGED)
})
