import { expect, test } from 'vitest'
import { uniqueKeysOf } from './unique-key-policy.ts'

test('unique keys are read off a definition; what is none is passed over', () => {
  const uniqueKeys = [{ paths: ['/a', '/b/c'] }, { paths: [] }, 5, { paths: '/a' }]
  expect(uniqueKeysOf({ uniqueKeyPolicy: { uniqueKeys } })).toEqual([['/a', '/b/c']])
  expect(uniqueKeysOf({})).toEqual([])
})
