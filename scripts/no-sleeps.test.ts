import { setTimeout as sleep } from 'node:timers/promises'
import { systemClock } from '@tidemark/contracts'
import { expect, test } from 'vitest'

test('a test that sleeps for more than 100 ms is refused, by either timer', () => {
  expect(() => sleep(101)).toThrow('a test of the gate sleeps for 101 ms')
  expect(() => setTimeout(() => {}, 101)).toThrow('a test of the gate sleeps for 101 ms')
})

test('shorter ones, and product code that a test calls, are left alone', async () => {
  await sleep(1)
  const abort = new AbortController()
  const slept = systemClock.sleep(60_000, abort.signal)
  abort.abort(new Error('enough'))
  await expect(slept).rejects.toThrow('enough')
})
