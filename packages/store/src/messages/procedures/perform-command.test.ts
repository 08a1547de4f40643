import { expect, test } from 'vitest'
import type { RowRequest } from '../message-rows.ts'
import type { ClockPair } from '../message-time.ts'
import { entityWith } from '../rules/rows.fixture.ts'
import { performCommand } from './perform-command.ts'

/** What a command that only stamps does, with this stored pair, and the time that it answers. */
function stamped(
  clock: ClockPair,
  at: { readonly storeMs: number; readonly lockMs?: number | undefined },
): { readonly requests: readonly RowRequest['kind'][]; readonly time: ClockPair } {
  const requests: RowRequest['kind'][] = []
  const procedure = performCommand(
    { kind: 'touch', entity: 7, touch: true },
    { storeMs: at.storeMs, caller: { lockMs: at.lockMs } },
  )
  const place = { record: entityWith(), next: 1, clock, dueMs: undefined, expiresMs: undefined }
  let step = procedure.next()
  while (step.done !== true) {
    requests.push(step.value.kind)
    step = procedure.next(step.value.kind === 'readPlace' ? place : undefined)
  }
  return { requests, time: step.value.time }
}

const PAIR = { storeMs: 100_000, lockMs: 90_000 }

test('the pair of clocks is stored when it is more than a second behind', () => {
  expect(stamped(PAIR, { storeMs: 101_000, lockMs: 91_000 })).toEqual({
    requests: ['readPlace', 'touch'],
    time: { storeMs: 101_000, lockMs: 91_000 },
  })
  expect(stamped(PAIR, { storeMs: 101_001, lockMs: 91_000 }).requests).toContain('storeClock')
  expect(stamped(PAIR, { storeMs: 100_000, lockMs: 91_001 }).requests.at(-1)).toBe('storeClock')
})

test('it is stored when the clock of the store was set', () => {
  expect(stamped(PAIR, { storeMs: 50_000, lockMs: 90_000 })).toEqual({
    requests: ['readPlace', 'touch', 'storeClock'],
    time: { storeMs: 50_000, lockMs: 90_000 },
  })
})

test('the lock clock neither stands still nor jumps while brokers run', () => {
  // An hour forward: who has heard the lock clock goes on from there.
  expect(stamped(PAIR, { storeMs: 3_700_000, lockMs: 90_500 }).time.lockMs).toBe(90_500)
  // Nobody ran: the time that has passed is the store's.
  expect(stamped(PAIR, { storeMs: 103_000 }).time.lockMs).toBe(93_000)
  // Another broker is ahead.
  expect(stamped(PAIR, { storeMs: 100_000, lockMs: 80_000 }).time.lockMs).toBe(90_000)
  // Set back while nobody ran.
  expect(stamped(PAIR, { storeMs: 50_000 }).time.lockMs).toBe(90_000)
})
