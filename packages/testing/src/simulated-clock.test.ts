import { expect, test } from 'vitest'
import { SimulatedClock } from './simulated-clock.ts'

const never = new AbortController().signal

test('sleepers wake in the order of their due times, each with its time', async () => {
  const clock = new SimulatedClock()
  const log: string[] = []
  const sleeper = async (name: string, ...delaysMs: number[]): Promise<void> => {
    for (const delayMs of delaysMs) {
      await clock.sleep(delayMs, never)
      log.push(`${name}@${clock.monotonicMs()}`)
    }
  }
  const all = Promise.all([sleeper('a', 20, 20), sleeper('b', 30), sleeper('c', 20)])
  await clock.advance(39)
  expect(log).toEqual(['a@20', 'c@20', 'b@30'])
  await clock.advance(1)
  await all
  expect(log.at(-1)).toBe('a@40')
  expect(clock.sleeping).toBe(0)
})

test('an aborted sleeper rejects with the reason and is gone', async () => {
  const clock = new SimulatedClock()
  const controller = new AbortController()
  const sleep = clock.sleep(10, controller.signal)
  const reason = new Error('enough')
  controller.abort(reason)
  await expect(sleep).rejects.toBe(reason)
  expect(clock.sleeping).toBe(0)
  await expect(clock.sleep(10, controller.signal)).rejects.toBe(reason)
})

test('after a stall sleepers wake late', async () => {
  const clock = new SimulatedClock()
  let wokenAtMs: number | undefined
  const sleep = clock.sleep(10, never).then(() => (wokenAtMs = clock.monotonicMs()))
  clock.stall(500)
  expect(wokenAtMs).toBeUndefined()
  await clock.advance(0)
  await sleep
  expect(wokenAtMs).toBe(500)
})

test('the wall clock jumps alone', async () => {
  const clock = new SimulatedClock({ startWallMs: 1000 })
  clock.jumpWall(-600)
  await clock.advance(5)
  expect([clock.wallMs(), clock.monotonicMs()]).toEqual([405, 5])
})
