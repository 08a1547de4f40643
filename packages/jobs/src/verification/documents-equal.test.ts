import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { documentsEqual, documentsEqualButTtl } from './documents-equal.ts'

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

test.each([
  [{ a: [1] }, { a: [1, 2] }],
  [{ a: [] }, { a: [null] }],
  [{ a: [1, null] }, { a: [1] }],
  [{ a: [[1], [2]] }, { a: [[1], [2, 3]] }],
  [{ a: [1, 2] }, { a: { 0: 1, 1: 2, length: 2 } }],
  [{ a: [] }, { a: {} }],
  [{ a: 1 }, { a: 1, b: 1 }],
  [
    { a: 1, b: 1 },
    { a: 1, c: 1 },
  ],
  [{ a: { b: 1 } }, { a: { b: 1, c: undefined, d: null } }],
  [{ a: { b: { c: 1 } } }, { a: { b: { c: 2 } } }],
  [{ a: 1 }, { a: '1' }],
  [{ a: 1 }, { a: true }],
  [{ a: 'x' }, { a: 'x ' }],
  [{ a: 'é' }, { a: 'e\u0301' }],
  [{ a: 9007199254740992 }, { a: 9007199254740994 }],
  [{ toString: 1 }, {}],
  [{ a: { constructor: 1 } }, { a: {} }],
])('%j and %j are not equal, whichever comes first', (a, b) => {
  expect(documentsEqual(a, b)).toBe(false)
  expect(documentsEqual(b, a)).toBe(false)
})

test('of a copy that carries its expiry `ttl` says nothing, and only at the top', () => {
  expect(documentsEqualButTtl({ a: 1, ttl: 5 }, { a: 1 })).toBe(true)
  expect(documentsEqualButTtl({ a: 1 }, { a: 1, ttl: 5, _ts: 1 })).toBe(true)
  expect(documentsEqualButTtl({ a: { ttl: 5 } }, { a: {} })).toBe(false)
  expect(documentsEqual({ a: 1, ttl: 5 }, { a: 1 })).toBe(false)
})

/** Few names and values: two of these are often equal, or nearly. */
const close = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    fc.constantFrom(null, 0, 1, false, '', '0'),
    fc.array(tie('value'), { maxLength: 2 }),
    fc.dictionary(fc.constantFrom('a', 'b', '0', '_ts'), tie('value'), { maxKeys: 3 }),
  ),
})).value
const closeDocuments = fc.dictionary(fc.constantFrom('a', 'b', '_ts'), close, { maxKeys: 3 })

test('a document equals itself read back, and no other', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (document) => {
      const stored: unknown = JSON.parse(JSON.stringify(document))
      expect(documentsEqual(document, Object(stored))).toBe(true)
    }),
  )
  let equal = 0
  fc.assert(
    fc.property(closeDocuments, closeDocuments, (a, b) => {
      const isSame = isDeepStrictEqual(withoutTime(a), withoutTime(b))
      if (isSame) equal++
      expect([documentsEqual(a, b), documentsEqual(b, a)]).toEqual([isSame, isSame])
    }),
    { numRuns: 1000 },
  )
  expect(equal).toBeGreaterThan(0)
  expect(equal).toBeLessThan(1000)
})

function withoutTime({ _ts, ...rest }: Readonly<Record<string, unknown>>): unknown {
  // fast-check's dictionaries may have no prototype.
  return JSON.parse(JSON.stringify(rest))
}
