import { expect, test } from 'vitest'
import type { EntityPlace, Procedure, SessionRow } from '../message-rows.ts'
import { entityWith } from '../rules/rows.fixture.ts'
import { Work } from './work.ts'

const TIME = { storeMs: 5000, lockMs: 4000 }

/** Answers the requests of a procedure one after another, and gives them. */
function requestsOf<Result>(
  procedure: Procedure<Result>,
  ...answers: readonly unknown[]
): readonly (readonly unknown[])[] {
  const requests: (readonly unknown[])[] = []
  let step = procedure.next()
  while (step.done !== true) {
    requests.push([step.value.kind, ...step.value.values])
    step = procedure.next(answers[requests.length - 1])
  }
  return requests
}

function placeOf(number: number): EntityPlace {
  return {
    record: entityWith({}, { number }),
    next: 10,
    clock: TIME,
    dueMs: undefined,
    expiresMs: undefined,
  }
}

const BLANK: SessionRow = {
  entity: 7,
  session: 's',
  lock: undefined,
  lockedUntilMs: 0,
  state: undefined,
  expiredThrough: 0,
  updatedMs: 0,
}

test('counters are held once, in the order of numbers, and written if a number was given', () => {
  const work = new Work(TIME)
  expect(requestsOf(work.hold([9, 3, 9]), [placeOf(3), placeOf(9)])).toEqual([
    ['holdPlaces', [3, 9]],
  ])
  expect(requestsOf(work.hold([9, 4]), [])).toEqual([['holdPlaces', [4]]])
  expect(work.held(4)).toBeUndefined()
  expect([work.nextNumber(9), work.nextNumber(9)]).toEqual([10, 11])
  expect(() => work.nextNumber(4)).toThrow('not held')
  expect(requestsOf(work.finish())).toEqual([['setNext', 9, 12]])
})

test('a row that was made only to hold a session is taken back', () => {
  const work = new Work(TIME)
  expect(requestsOf(work.session(7, 's'), BLANK)).toEqual([['holdSession', 7, 's']])
  expect(requestsOf(work.session(7, 's'))).toEqual([])
  expect(requestsOf(work.finish())).toEqual([['changeSession', BLANK]])
})

test('a row of a session that says something stays as this command wrote it', () => {
  const work = new Work(TIME)
  requestsOf(work.session(7, 's'), BLANK)
  const held = { ...BLANK, lock: 'l' }
  expect(requestsOf(work.changeSession({ ...BLANK, lock: 'l' }))).toEqual([['changeSession', held]])
  expect(work.session(7, 's').next().value).toEqual(held)
  expect(requestsOf(work.finish())).toEqual([])
})

test('bytes of a subscription count for its topic, too, and sums of nothing are not written', () => {
  const work = new Work(TIME)
  const subscription = entityWith({}, { kind: 'subscription', number: 8, parent: 7 })
  const dead = entityWith({}, { kind: 'deadLetter', number: 9, parent: 8 })
  work.addBytes(subscription, 30)
  work.addBytes(subscription, -10)
  work.addBytes(dead, 5)
  work.addBytes(dead, -5)
  expect(work.addedBytes(7)).toBe(20)
  expect(requestsOf(work.finish())).toEqual([
    ['addBytes', 8, 20],
    ['addBytes', 7, 20],
  ])
})
