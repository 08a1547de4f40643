import type { RequestEffect } from '@tidemark/contracts/internal'
import { expect, test } from 'vitest'
import { retryDelayMs, type RequestFailure } from './retry-policy.ts'

const LIMITS = { maxAttempts: 10, maxRetryMs: 30_000 }
const answer = (status: number, retryAfterMs?: number): RequestFailure => ({
  kind: 'answer',
  status,
  retryAfterMs,
})
const delay = (
  failure: RequestFailure,
  effect: RequestEffect = 'none',
  { attempt = 1, elapsedMs = 0, fraction = 1 } = {},
): number | undefined => retryDelayMs(failure, { attempt, elapsedMs, effect, fraction }, LIMITS)

test('a request that changes something is repeated only if it was certainly not done', () => {
  for (const failure of [answer(429), answer(449), { kind: 'refused' } as const]) {
    expect(delay(failure, 'write')).toBeDefined()
    expect(delay(failure)).toBeDefined()
  }
  for (const failure of [answer(503), answer(408), answer(502), { kind: 'lost' } as const]) {
    expect(delay(failure, 'write')).toBeUndefined()
    expect(delay(failure)).toBeDefined()
  }
})

test('what a server refuses for good is not repeated', () => {
  for (const status of [400, 401, 403, 404, 409, 410, 412, 413, 500]) {
    expect(delay(answer(status))).toBeUndefined()
  }
})

test('a throttled request waits as long as the server asks', () => {
  expect(delay(answer(429, 1234), 'write', { fraction: 0 })).toBe(1234)
  expect(delay(answer(429, 0))).toBe(0)
})

test('others wait twice as long each time, up to a second, with jitter of up to half', () => {
  const waits = (fraction: number) =>
    [1, 2, 3, 4, 5, 6, 7].map((attempt) => delay({ kind: 'lost' }, 'none', { attempt, fraction }))
  expect(waits(1)).toEqual([50, 100, 200, 400, 800, 1000, 1000])
  expect(waits(0)).toEqual([25, 50, 100, 200, 400, 500, 500])
})

test('attempts and time have an end', () => {
  expect(delay(answer(429, 1), 'none', { attempt: 9 })).toBe(1)
  expect(delay(answer(429, 1), 'none', { attempt: 10 })).toBeUndefined()
  expect(delay(answer(429, 100), 'none', { elapsedMs: 29_900 })).toBe(100)
  expect(delay(answer(429, 101), 'none', { elapsedMs: 29_900 })).toBeUndefined()
})
