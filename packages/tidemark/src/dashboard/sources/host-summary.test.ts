import { expect, test } from 'vitest'
import { hostSummary } from './host-summary.ts'

const TOLD = {
  host: 'a',
  atMs: 9,
  sinceMs: 1,
  changes: 3,
  batches: 2,
  changesPerS: 1.5,
  errors: 1,
  deadLetters: 0,
  halted: ['-FF'],
}

test('what an observer threw passes the mask, with its code; what was not told is null', () => {
  const lastError = { atMs: 8, leaseId: '-FF', code: 'ERR_SQL', message: 'bad {"name":"Ada"}' }
  const show = (text: string): string => text.replace('Ada', '…')
  expect(hostSummary({ ...TOLD, batchMs: { p50: 1, p99: 4 }, lastError }, show)).toEqual({
    changesPerSecond: 1.5,
    batchP50Ms: 1,
    batchP99Ms: 4,
    errors: 1,
    lastError: 'ERR_SQL: bad {"name":"…"}',
    lastErrorMs: 8,
    halted: ['-FF'],
  })
  expect(hostSummary(TOLD, show)).toMatchObject({
    batchP50Ms: null,
    lastError: null,
    lastErrorMs: null,
  })
})
