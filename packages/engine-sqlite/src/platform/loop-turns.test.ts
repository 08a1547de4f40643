import { expect, test } from 'vitest'
import { LoopTurns } from './loop-turns.ts'

test('somebody who only awaits reads lets timers run', async () => {
  const turns = new LoopTurns({ maxMs: 2 })
  let timers = 0
  const timer = setInterval(() => timers++, 1)
  // Without turns of the loop the limit of the test would not end this either.
  const endMs = performance.now() + 30_000
  while (timers <= 3 && performance.now() < endMs) {
    // As the engine does before a read; the read itself waits for nothing.
    await turns.due()
  }
  clearInterval(timer)
  expect(timers).toBeGreaterThan(3)
})

test('the first read of a turn waits for nothing', () => {
  expect(new LoopTurns({ maxMs: 2 }).due()).toBeUndefined()
})
