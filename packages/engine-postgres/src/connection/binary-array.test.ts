import { expect, test } from 'vitest'
import { booleanArray, bytesArray, integerArray, textArray } from './binary-array.ts'

test('an empty array has no dimension', () => {
  expect([...textArray([])]).toEqual([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 25])
})

test('a text array names its elements by their length in UTF-8 bytes, and -1 for NULL', () => {
  const expected = [
    [0, 0, 0, 1], // dimensions
    [0, 0, 0, 1], // has NULLs
    [0, 0, 0, 25], // text
    [0, 0, 0, 3], // elements
    [0, 0, 0, 1], // lower bound
    [0, 0, 0, 2, 0xc3, 0xa4],
    [0xff, 0xff, 0xff, 0xff],
    [0, 0, 0, 0],
  ]
  expect([...textArray(['ä', null, ''])]).toEqual(expected.flat())
})

test('without NULLs an array says so', () => {
  expect(textArray(['a']).readInt32BE(4)).toBe(0)
})

test('a text with a NUL is refused, which would fail the statement for all others too', () => {
  expect(() => textArray(['a', 'b\0c'])).toThrow(
    expect.objectContaining({ code: 'ERR_INVALID_DOCUMENT' }),
  )
})

test('integers and booleans go as text', () => {
  expect(integerArray([])).toBe('{}')
  expect(integerArray([1, null, -2, 2 ** 53 - 1])).toBe('{1,NULL,-2,9007199254740991}')
  expect(booleanArray([true, false, null])).toBe('{true,false,NULL}')
})

test('bytes go as they are', () => {
  expect([...bytesArray([])]).toEqual([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 17])
  const expected = [
    [0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 17, 0, 0, 0, 2, 0, 0, 0, 1],
    [0, 0, 0, 2, 0, 255],
    [0, 0, 0, 0],
  ]
  expect([...bytesArray([new Uint8Array([0, 255]), new Uint8Array()])]).toEqual(expected.flat())
})
