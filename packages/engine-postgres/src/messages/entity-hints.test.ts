import { SimulatedClock } from '@tidemark/testing'
import type { EntityPlace } from '@tidemark/store/messages'
import { expect, test } from 'vitest'
import { EntityHints, LOOK_FOR_DUE } from './entity-hints.ts'
import { DEFINITION } from './messages-under-test.fixture.ts'

const QUEUE = 7

function place(version: number, lockMs: number): EntityPlace {
  return {
    record: {
      ...DEFINITION,
      number: QUEUE,
      kind: 'queue',
      path: 'orders',
      parent: undefined,
      version,
      createdMs: 0,
      updatedMs: 0,
      accessedMs: 0,
    },
    next: 1,
    clock: { storeMs: lockMs, lockMs },
    dueMs: undefined,
    expiresMs: undefined,
  }
}

/** A look from the beginning that found its first message there. */
function look(hints: EntityHints, from: number, tookMs = 1): void {
  hints.found({ entity: QUEUE, start: hints.startOf(QUEUE), from, tookMs })
}

test('a take begins where the last one found its first message', () => {
  const hints = new EntityHints(new SimulatedClock())
  expect(hints.startOf(QUEUE).from).toBe(0)
  look(hints, 5)
  const start = hints.startOf(QUEUE)
  expect(start.from).toBe(5)
  hints.found({ entity: QUEUE, start, from: 9, tookMs: undefined })
  expect(hints.startOf(QUEUE).from).toBe(9)
  expect(hints.startOf(8).from).toBe(0)
})

test('it begins at the beginning again after a while, and later the longer that takes', async () => {
  const clock = new SimulatedClock()
  const hints = new EntityHints(clock)
  look(hints, 5)
  await clock.advance(249)
  expect(hints.startOf(QUEUE).from).toBe(5)
  await clock.advance(1)
  expect(hints.startOf(QUEUE).from).toBe(0)
  look(hints, 5, 100)
  await clock.advance(999)
  expect(hints.startOf(QUEUE).from).toBe(5)
  expect(hints.mustLookAgain(QUEUE)).toBe(false)
  await clock.advance(1)
  expect(hints.startOf(QUEUE).from).toBe(0)
  expect(hints.mustLookAgain(QUEUE)).toBe(true)
})

test('a message that comes back is looked for, also if it came back during a take', () => {
  const hints = new EntityHints(new SimulatedClock())
  look(hints, 50)
  hints.returned(QUEUE, 20)
  expect(hints.startOf(QUEUE).from).toBe(20)
  const start = hints.startOf(QUEUE)
  hints.returned(QUEUE, 30)
  hints.found({ entity: QUEUE, start, from: 60, tookMs: undefined })
  expect(hints.startOf(QUEUE).from).toBe(20)
  hints.found({ entity: QUEUE, start: hints.startOf(QUEUE), from: 60, tookMs: undefined })
  expect(hints.startOf(QUEUE).from).toBe(60)
  hints.failed(QUEUE)
  expect(hints.startOf(QUEUE).from).toBe(0)
  look(hints, 5)
  hints.forget()
  expect(hints.startOf(QUEUE).from).toBe(0)
})

test('no lock ends before the first that was seen, nor before one that is taken now could', () => {
  const hints = new EntityHints(new SimulatedClock())
  expect(hints.dueOf(QUEUE, 0)).toEqual(LOOK_FOR_DUE)
  hints.sawDue(place(3, 100_000), { start: LOOK_FOR_DUE, firstMs: 110_000 })
  expect(hints.dueOf(QUEUE, 109_999)).toEqual({ fromMs: 110_000, version: 3, isKnown: true })
  expect(hints.dueOf(QUEUE, 110_000)).toEqual({ fromMs: 110_000, version: 3, isKnown: false })
  const start = hints.dueOf(QUEUE, 110_000)
  hints.sawDue(place(3, 110_000), { start, firstMs: undefined })
  expect(hints.dueOf(QUEUE, 0)).toEqual({ fromMs: 135_000, version: 3, isKnown: true })
  // What was known was used.
  hints.sawDue(place(3, 120_000), { start: hints.dueOf(QUEUE, 0), firstMs: 135_000 })
  expect(hints.dueOf(QUEUE, 0).fromMs).toBe(135_000)
  // Another version may lock for a shorter time.
  hints.sawDue(place(4, 120_000), { start: hints.dueOf(QUEUE, 0), firstMs: 121_000 })
  expect(hints.dueOf(QUEUE, 0)).toEqual({ fromMs: 121_000, version: 4, isKnown: true })
})

test('after a minute ends of locks are looked for from the beginning', async () => {
  const clock = new SimulatedClock()
  const hints = new EntityHints(clock)
  hints.sawDue(place(3, 100_000), { start: LOOK_FOR_DUE, firstMs: 110_000 })
  await clock.advance(59_999)
  hints.sawDue(place(3, 159_000), { start: hints.dueOf(QUEUE, 160_000), firstMs: 170_000 })
  expect(hints.dueOf(QUEUE, 0).fromMs).toBe(170_000)
  await clock.advance(1)
  expect(hints.dueOf(QUEUE, 0)).toEqual(LOOK_FOR_DUE)
})
