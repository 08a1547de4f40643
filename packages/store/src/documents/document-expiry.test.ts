import { expect, test } from 'vitest'
import { expiryMs } from './document-expiry.ts'

const at = (ttl: unknown, defaultTtl: number | null): number | undefined =>
  expiryMs({ _ts: 1000, ttl }, defaultTtl)

test('TTL-3 the matrix of collection and document', () => {
  for (const ttl of [undefined, -1, 5, 'x']) expect(at(ttl, null)).toBeUndefined()
  expect(at(undefined, -1)).toBeUndefined()
  expect(at(-1, -1)).toBeUndefined()
  expect(at(5, -1)).toBe(1_005_000)
  expect(at(undefined, 7)).toBe(1_007_000)
  expect(at(-1, 7)).toBeUndefined()
  expect(at(5, 7)).toBe(1_005_000)
})

test('TTL-9 an invalid stored value counts as absent', () => {
  for (const ttl of [0, -2, 1.5, '5', null, 2 ** 31]) {
    expect(at(ttl, 7)).toBe(1_007_000)
    expect(at(ttl, -1)).toBeUndefined()
  }
})
