import {
  InvalidOptionError,
  RangeGoneError,
  ResourceNotFoundError,
  ThrottledError,
} from '@tidemark/contracts'
import { wireStatus } from '@tidemark/contracts/internal'
import { expect, test } from 'vitest'
import { errorAnswer, wireError } from './error-answer.ts'

test.each([
  ['ERR_NOT_FOUND', 404, undefined],
  ['ERR_SESSION_AHEAD', 404, 1002],
  ['ERR_EXISTS', 409, undefined],
  ['ERR_UNIQUE_KEY', 409, undefined],
  ['ERR_PARTITION_KEY_MISMATCH', 400, 1001],
  ['ERR_RANGE_GONE', 410, 1002],
  ['ERR_OTHER_CONTAINER', 400, 1024],
  ['ERR_CONTAINER_REPLACED', 410, 1000],
  ['ERR_PRECONDITION_FAILED', 412, undefined],
  ['ERR_DOCUMENT_TOO_LARGE', 413, undefined],
  ['ERR_COMMIT_TOO_LARGE', 413, undefined],
  ['ERR_THROTTLED', 429, 3200],
])('%s is %d on the wire', (code, status, substatus) => {
  expect(wireStatus(code)).toMatchObject({ status })
  expect(wireStatus(code)?.substatus).toBe(substatus)
})

test('no status makes the client believe that this is not the write region', () => {
  for (const code of ['ERR_FORBIDDEN', 'ERR_STORE_CLOSED', 'ERR_GATEWAY_STOPPING']) {
    expect(wireStatus(code)).toBeDefined()
    expect(wireStatus(code)?.substatus).toBeUndefined()
  }
})

test('every error has a JSON body with code, message and activity id', () => {
  const answer = errorAnswer(new ResourceNotFoundError('document', 'x'), 'the-id')
  expect(answer.status).toBe(404)
  expect(JSON.parse(answer.body?.join('') ?? '')).toEqual({
    code: 'NotFound',
    message: 'document "x" does not exist\r\nActivityId: the-id',
  })
})

test('an unforeseen error is a 500 that shows nothing of it', () => {
  for (const error of [new Error('secret'), new InvalidOptionError('x').code, undefined, null]) {
    const { status, message } = wireError(error)
    expect(status).toBe(500)
    expect(message).not.toContain('secret')
  }
})

test('a range that is gone tells the client to list the ranges anew', () => {
  const { headers } = errorAnswer(new RangeGoneError('3', []), '')
  expect(headers).toMatchObject({ 'x-ms-substatus': '1002' })
})

test('a spent budget says when to come again', () => {
  const { headers } = errorAnswer(new ThrottledError(120, 'spent'), '')
  expect(headers).toMatchObject({ 'x-ms-substatus': '3200', 'x-ms-retry-after-ms': '120' })
})
