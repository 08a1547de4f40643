import fc from 'fast-check'
import { expect, test } from 'vitest'
import { documentsEqual } from './documents-equal.ts'

test('the order of properties does not matter, at any depth; that of elements does', () => {
  expect(documentsEqual({ a: 1, b: { c: 2, d: 3 } }, { b: { d: 3, c: 2 }, a: 1 })).toBe(true)
  expect(documentsEqual({ a: [1, 2] }, { a: [2, 1] })).toBe(false)
})

test('what the store adds at the top is ignored, and only there', () => {
  expect(documentsEqual({ id: 'x', _ts: 1, _etag: 'a', _lsn: 1 }, { id: 'x', _ts: 2 })).toBe(true)
  expect(documentsEqual({ a: { _ts: 1 } }, { a: { _ts: 2 } })).toBe(false)
})

test('null, absent, zero, false and empty are five different things', () => {
  const values = [{ a: null }, {}, { a: 0 }, { a: false }, { a: '' }, { a: [] }, { a: {} }]
  for (const [i, a] of values.entries()) {
    for (const [j, b] of values.entries()) expect(documentsEqual(a, b)).toBe(i === j)
  }
  expect(documentsEqual({ a: undefined }, {})).toBe(true)
})

test('a document equals itself read back, and no other', () => {
  const documents = fc.dictionary(fc.string(), fc.jsonValue())
  fc.assert(
    fc.property(documents, documents, (a, b) => {
      const stored: unknown = JSON.parse(JSON.stringify(a))
      expect(documentsEqual(a, Object(stored))).toBe(true)
      expect(documentsEqual(a, b)).toBe(documentsEqual(b, a))
    }),
  )
})
