import { expect, test } from 'vitest'
import { assertCommitSize, assertOperations, commitChars } from './commit-size.ts'
import type { CommitBatch } from './commit.ts'

const MIB = 2 ** 20
const WIDE = '€'.repeat(MIB)

function writing(
  texts: readonly string[],
  entries: readonly string[] = [],
): Pick<CommitBatch, 'operations' | 'uniqueSteps'> {
  const condition = { kind: 'none' } as const
  return {
    operations: texts.map((body, n) => {
      return { kind: 'put', id: `d${n}`, condition, rid: 'r', body, ttl: 0 }
    }),
    uniqueSteps: entries.length === 0 ? undefined : [{ id: 'd0', entries }],
  }
}

const refused = expect.objectContaining({ code: 'ERR_COMMIT_TOO_LARGE', retryable: false })

test('texts are counted in bytes, over all batches', () => {
  const wide = Array.from({ length: 11 }, () => WIDE)
  expect(() =>
    assertCommitSize([writing(wide), writing(wide.slice(1))], { maxDocumentBytes: 2 * MIB }),
  ).not.toThrow()
  expect(() =>
    assertCommitSize([writing(wide), writing(wide)], { maxDocumentBytes: 2 * MIB }),
  ).toThrow(refused)
})

test('what documents hold of unique keys counts too', () => {
  const texts = Array.from({ length: 20 }, () => WIDE)
  expect(() =>
    assertCommitSize([writing(texts, [WIDE])], { maxDocumentBytes: 2 * MIB }),
  ).not.toThrow()
  expect(() =>
    assertCommitSize([writing(texts, [WIDE, WIDE])], { maxDocumentBytes: 2 * MIB }),
  ).toThrow(refused)
  expect(commitChars([writing(['12', '345'], ['6', '78'])])).toBe(5 + 3)
})

test('unique keys of every document of a batch count', () => {
  const [id, entries] = ['d0', [WIDE]]
  const { operations } = writing(Array.from({ length: 20 }, () => WIDE))
  const one = { operations, uniqueSteps: [{ id, entries }] }
  const two = {
    operations,
    uniqueSteps: [
      { id, entries },
      { id: 'd1', entries },
    ],
  }
  expect(() => assertCommitSize([one], { maxDocumentBytes: 2 * MIB })).not.toThrow()
  expect(() => assertCommitSize([two], { maxDocumentBytes: 2 * MIB })).toThrow(refused)
})

test('the largest document that a store takes can be written together with something else', () => {
  const largest = WIDE.repeat(30)
  expect(() =>
    assertCommitSize([writing([largest, 'x'])], { maxDocumentBytes: 90 * MIB }),
  ).not.toThrow()
  expect(() =>
    assertCommitSize([writing([largest, WIDE])], { maxDocumentBytes: 90 * MIB }),
  ).toThrow(refused)
})

test('operations are counted whatever they do', () => {
  const condition = { kind: 'absent' } as const
  const checks = Array.from({ length: 10_001 }, (_, n) => {
    return { kind: 'check', id: `c${n}`, condition } as const
  })
  expect(() => assertOperations(10_000)).not.toThrow()
  expect(() =>
    assertCommitSize([{ operations: checks.slice(1) }], { maxDocumentBytes: MIB }),
  ).not.toThrow()
  expect(() => assertCommitSize([{ operations: checks }], { maxDocumentBytes: MIB })).toThrow(
    refused,
  )
})
