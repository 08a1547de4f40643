import { getEventListeners } from 'node:events'
import { expect, test } from 'vitest'
import { systemClock } from './system-clock.ts'

const LONG_MS = 1_000_000

test('a sleep ends with its time, and leaves nothing with the signal', async () => {
  const { signal } = new AbortController()
  await systemClock.sleep(1, signal)
  await systemClock.sleep(1, signal, { purpose: 'foreground' })
  expect(getEventListeners(signal, 'abort')).toEqual([])
})

test('a sleep that is aborted rejects with the reason itself, and leaves no timer', async () => {
  const before = process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length
  const ended = new AbortController()
  const reason = new Error('enough')
  const sleeps = [
    systemClock.sleep(LONG_MS, ended.signal),
    systemClock.sleep(LONG_MS, ended.signal, { purpose: 'background' }),
  ]
  ended.abort(reason)
  sleeps.push(systemClock.sleep(1, ended.signal))
  for (const sleep of sleeps) await expect(sleep).rejects.toBe(reason)
  const after = process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length
  expect(after).toBeLessThanOrEqual(before)
})
