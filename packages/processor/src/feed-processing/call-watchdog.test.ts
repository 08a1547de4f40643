import { SimulatedClock } from '@tidemark/testing'
import { expect, test } from 'vitest'
import { CallWatchdog } from './call-watchdog.ts'

test('PH-15 a call that comes forward hides no other one that hangs', async () => {
  const clock = new SimulatedClock()
  const startMs = clock.monotonicMs()
  const stuck: number[] = []
  const onStuck = (): void => void stuck.push(clock.monotonicMs() - startMs)
  const watchdog = new CallWatchdog({ clock, maxBatchMs: 3_000, onStuck })
  const [lively, hanging] = [{}, {}]
  watchdog.began(lively)
  watchdog.began(hanging)
  await clock.advance(2_000)
  watchdog.cameForward(lively)
  await clock.advance(1_100)
  expect(stuck).toEqual([3_000])
  watchdog.stop()
})

test('PH-15 of a call that is over, nothing comes forward', async () => {
  const clock = new SimulatedClock()
  const watchdog = new CallWatchdog({ clock, maxBatchMs: 3_000, onStuck: () => {} })
  const call = {}
  watchdog.began(call)
  watchdog.ended(call)
  watchdog.cameForward(call)
  expect(watchdog.oldestMs).toBeUndefined()
})
