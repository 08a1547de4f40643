import { expect, test } from 'vitest'
import { idleAtMs, isIdle } from './idle-entity.ts'
import { entityWith } from './rows.fixture.ts'

const PERIOD = 300_000
const entity = entityWith({ autoDeleteOnIdleMs: PERIOD }, { accessedMs: 1000 })
const now = { lockMs: 1000 + PERIOD, scheduledMs: undefined, isForwardedTo: false }

test('TMP-01 TMP-11 an entity is idle when its period has passed since its last activity', () => {
  expect(idleAtMs(entity)).toBe(1000 + PERIOD)
  expect(isIdle(entity, now)).toBe(true)
  expect(isIdle(entity, { ...now, lockMs: now.lockMs - 1 })).toBe(false)
})

test('TMP-04 without a period it never is', () => {
  expect(idleAtMs(entityWith())).toBeUndefined()
  expect(isIdle(entityWith(), { ...now, lockMs: Number.MAX_SAFE_INTEGER })).toBe(false)
})

test('TMP-05 a scheduled message holds the timer until it is enqueued', () => {
  const scheduledMs = 500_000
  expect(isIdle(entity, { ...now, scheduledMs })).toBe(false)
  expect(isIdle(entity, { ...now, lockMs: scheduledMs + PERIOD - 1, scheduledMs })).toBe(false)
  expect(isIdle(entity, { ...now, lockMs: scheduledMs + PERIOD, scheduledMs })).toBe(true)
  expect(isIdle(entity, { ...now, scheduledMs: 1 })).toBe(true)
})

test('TMP-08 neither source nor destination of forwarding is idle', () => {
  const source = entityWith({ autoDeleteOnIdleMs: PERIOD, forwardTo: 'other' })
  expect(isIdle(source, now)).toBe(false)
  expect(isIdle(entity, { ...now, isForwardedTo: true })).toBe(false)
})

test('TMP-12 a dead-letter queue goes with its owner only', () => {
  const queue = entityWith({ autoDeleteOnIdleMs: PERIOD }, { kind: 'deadLetter' })
  expect(isIdle(queue, now)).toBe(false)
})
