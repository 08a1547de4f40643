import { expect, test } from 'vitest'
import type { EntityPlace, SessionRow } from '../message-rows.ts'
import { entityWith, LOCK } from '../rules/rows.fixture.ts'
import { heldSession } from './held-session.ts'
import { Work } from './work.ts'

const TIME = { storeMs: 5000, lockMs: 4000 }
const PLACE: EntityPlace = {
  record: entityWith({ requiresSession: true }),
  next: 10,
  clock: TIME,
  // Nothing was due when the place was read.
  dueMs: undefined,
  expiresMs: undefined,
}
const HELD: SessionRow = {
  entity: 7,
  session: 's',
  lock: LOCK,
  lockedUntilMs: 4001,
  state: undefined,
  expiredThrough: 0,
  updatedMs: 0,
}

/** What the procedure answers when this is the session's row. */
function answerFor(row: SessionRow): unknown {
  const hold = { session: 's', lock: LOCK }
  const procedure = heldSession(new Work(TIME), PLACE, hold, 'nobody')
  let step = procedure.next()
  while (step.done !== true) step = procedure.next(row)
  return step.value
}

test('SES-11 the row of a session is for its holder only', () => {
  expect(answerFor(HELD)).toEqual(HELD)
  const lost = { kind: 'refused', reason: 'sessionLockLost' }
  expect(answerFor({ ...HELD, lockedUntilMs: 4000 })).toEqual(lost)
  expect(answerFor({ ...HELD, lock: 'f'.repeat(20) })).toEqual(lost)
  expect(answerFor({ ...HELD, lock: undefined, lockedUntilMs: 0 })).toEqual(lost)
})

test('SES-01 an expiry that another transaction was carrying out until now is carried out first', () => {
  expect(answerFor({ ...HELD, expiredThrough: 9 })).toEqual({ kind: 'again' })
})

test('SES-03 one whose hold has ended does not listen', () => {
  const place = { ...PLACE, expiresMs: 5000 }
  const hold = { session: 's', lock: LOCK }
  const procedure = heldSession(new Work(TIME), place, hold, { session: 's' })
  const kinds: string[] = []
  let step = procedure.next()
  while (step.done !== true) {
    kinds.push(step.value.kind)
    step = procedure.next({ ...HELD, lockedUntilMs: 4000 })
  }
  expect(kinds).not.toContain('expiredRows')
  expect(step.value).toEqual({ kind: 'refused', reason: 'sessionLockLost' })
})
