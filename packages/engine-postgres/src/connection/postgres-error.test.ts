import { StoreClosedError, StoreUnavailableError } from '@tidemark/contracts'
import { expect, test } from 'vitest'
import {
  breaksConnection,
  failureKind,
  isConnectionLost,
  isLastingRefusal,
  isRetryable,
  isTemporary,
  leavesOutcomeOpen,
  sqlState,
  storeError,
} from './postgres-error.ts'

/** As `pg` throws it for what the server answered. */
function answered(code: string, more: { severity?: string; routine?: string } = {}): Error {
  return Object.assign(new Error(`reason of ${code}`), { code, severity: 'ERROR', ...more })
}

/** As Node throws it for a socket. */
function ofSocket(code: string, syscall = 'connect'): Error {
  return Object.assign(new Error(`${syscall} ${code} 127.0.0.1:5432`), { code, syscall })
}

test.each([
  ['53100', 'Free space on the disk'],
  ['53300', 'max_connections'],
  ['57P01', 'shutting down, or'],
  ['57014', 'statement timeout'],
  ['08006', 'check that the URL'],
  ['3D000', 'name in the URL'],
  ['28P01', 'the password in the URL'],
  ['28000', 'pg_hba.conf'],
  ['42501', 'privileges'],
  ['25006', 'Point the URL to the primary'],
  ['53400', 'check its log'],
])('%s says what to do', (code, advice) => {
  const error = storeError(answered(code))
  expect(error).toMatchObject({ code: 'ERR_STORE_UNAVAILABLE', retryable: true })
  expect(error.message).toContain(advice)
  expect(error.message).toContain(`reason of ${code}`)
  expect(sqlState(error)).toBe(code)
})

test.each(['42P01', '42703', '42883', '3F000', 'XX001', 'XX002'])('%s is damage', (code) => {
  expect(storeError(answered(code))).toMatchObject({ code: 'ERR_STORE_DAMAGED', retryable: false })
})

test.each([
  ['ECONNREFUSED', 'Check that the server runs'],
  ['ENOTFOUND', 'name of the host'],
  ['ENOENT', 'no such socket'],
  ['EPIPE', 'cannot be reached'],
])('%s of the socket says what to do', (code, advice) => {
  const error = storeError(ofSocket(code))
  expect(error).toMatchObject({ code: 'ERR_STORE_UNAVAILABLE' })
  expect(error.message).toContain(advice)
  expect(isConnectionLost(error)).toBe(true)
  expect(sqlState(error)).toBeUndefined()
})

test('the failure of a host with several addresses has a reason', () => {
  const failures = [ofSocket('ECONNREFUSED'), ofSocket('ECONNREFUSED')]
  const error = Object.assign(new AggregateError(failures), { code: 'ECONNREFUSED' })
  expect(storeError(error).message).toContain('connect ECONNREFUSED 127.0.0.1:5432')
})

test('a coded error stays what it is', () => {
  const closed = new StoreClosedError('closed')
  expect(storeError(closed)).toBe(closed)
  expect(isConnectionLost(closed)).toBe(false)
  expect(isLastingRefusal(closed)).toBe(true)
  expect(leavesOutcomeOpen(new StoreUnavailableError('COMMIT was answered by ROLLBACK'))).toBe(
    false,
  )
})

test('conflicts are told from outages and from what stays the same', () => {
  const kind = (error: unknown): string => failureKind(error, { takesWrites: true })
  expect(kind(answered('40001'))).toBe('conflict')
  expect(kind(storeError(answered('40P01')))).toBe('conflict')
  expect(kind(answered('26000'))).toBe('conflict')
  expect(kind(answered('57P01', { severity: 'FATAL' }))).toBe('outage')
  expect(kind(answered('25006'))).toBe('outage')
  expect(kind(new Error('Connection terminated unexpectedly'))).toBe('outage')
  expect(kind(answered('0A000', { routine: 'RevalidateCachedQuery' }))).toBe('outage')
  expect(kind(answered('0A000'))).toBe('lasting')
  expect(kind(answered('57014'))).toBe('lasting')
  expect(kind(answered('53100'))).toBe('lasting')
  expect(kind(answered('42P01'))).toBe('lasting')
  expect(kind(undefined)).toBe('lasting')
})

test('a server that never took a write and refuses them is the wrong one', () => {
  expect(failureKind(answered('25006'), { takesWrites: false })).toBe('lasting')
})

test('the outcome of a commit is open unless the server itself said that it did nothing', () => {
  expect(leavesOutcomeOpen(new Error('Connection terminated unexpectedly'))).toBe(true)
  expect(leavesOutcomeOpen(storeError(ofSocket('ECONNRESET', 'read')))).toBe(true)
  expect(leavesOutcomeOpen(storeError(ofSocket('ECONNRESET', 'write')))).toBe(false)
  // A pooler that lost its server.
  expect(leavesOutcomeOpen(answered('08P01', { severity: 'FATAL' }))).toBe(true)
  expect(leavesOutcomeOpen(answered('57P01', { severity: 'FATAL' }))).toBe(true)
  expect(leavesOutcomeOpen(answered('40003'))).toBe(true)
  const said = { severity: 'FATAL', routine: 'ProcessInterrupts' }
  expect(leavesOutcomeOpen(answered('57P01', said))).toBe(false)
  expect(leavesOutcomeOpen(answered('40001'))).toBe(false)
  expect(leavesOutcomeOpen(answered('53100'))).toBe(false)
})

test('a connection is ended after what it does not recover from', () => {
  expect(breaksConnection(answered('40001'))).toBe(false)
  expect(breaksConnection(answered('23505'))).toBe(false)
  expect(breaksConnection(answered('25006'))).toBe(true)
  expect(breaksConnection(answered('57P01', { severity: 'FATAL' }))).toBe(true)
  expect(breaksConnection(new Error('Query read timeout'))).toBe(true)
})

test('a refusal that stays is told from a server that is away', () => {
  expect(isLastingRefusal(answered('28P01', { severity: 'FATAL' }))).toBe(true)
  expect(isLastingRefusal(answered('3D000', { severity: 'FATAL' }))).toBe(true)
  expect(isLastingRefusal(answered('57P03', { severity: 'FATAL' }))).toBe(false)
  expect(isLastingRefusal(answered('53300', { severity: 'FATAL' }))).toBe(false)
  expect(isLastingRefusal(ofSocket('ECONNREFUSED'))).toBe(false)
  expect(isRetryable(ofSocket('ECONNREFUSED'))).toBe(false)
  expect(isTemporary(ofSocket('ECONNREFUSED'))).toBe(false)
})
