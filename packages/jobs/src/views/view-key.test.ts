import { idOnPath } from '@tidemark/contracts/internal'
import { expect, test } from 'vitest'
import { viewDocumentId, viewKeys } from './view-key.ts'

test.each([
  'a\0b',
  '\ud800',
  'a/b',
  '',
  ' a',
  '.a',
  'x'.repeat(500),
  '\u0000'.repeat(500),
  true,
  -1.5,
])('any key has an id that a store takes: %j', (key) => {
  expect(viewKeys(key)).toEqual([key])
  expect(idOnPath(viewDocumentId(key))).toBe(viewDocumentId(key))
})
