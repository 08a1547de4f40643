import { expect, test } from 'vitest'
import { refusesReceive, refusesSend } from './entity-status.ts'
import { entityWith } from './rows.fixture.ts'

test.each([
  ['Active', undefined, undefined],
  ['Disabled', 'disabled', 'disabled'],
  ['SendDisabled', 'disabled', undefined],
  ['ReceiveDisabled', undefined, 'disabled'],
] as const)('an entity that is %s', (status, send, receive) => {
  expect(refusesSend(entityWith({ status }))).toBe(send)
  expect(refusesReceive(entityWith({ status }), 'noSession')).toBe(receive)
})

test('nobody sends to subscriptions and dead-letter queues, and nobody receives from topics', () => {
  expect(refusesSend(entityWith({}, { kind: 'subscription' }))).toBe('notAllowed')
  expect(refusesSend(entityWith({}, { kind: 'deadLetter' }))).toBe('notAllowed')
  expect(refusesSend(entityWith({}, { kind: 'topic' }))).toBeUndefined()
  expect(refusesReceive(entityWith({}, { kind: 'topic' }), 'noSession')).toBe('notAllowed')
})

test('SET-13 nobody receives from an entity that forwards', () => {
  expect(refusesReceive(entityWith({ forwardTo: 'other' }), 'noSession')).toBe('notAllowed')
})

test('SES-14 sessions are used where there are some, and only there', () => {
  const sessions = entityWith({ requiresSession: true })
  expect(refusesReceive(sessions, 'session')).toBeUndefined()
  expect(refusesReceive(sessions, 'noSession')).toBe('otherSessionUse')
  expect(refusesReceive(entityWith(), 'session')).toBe('otherSessionUse')
})
