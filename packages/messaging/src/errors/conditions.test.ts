import { expect, test } from 'vitest'
import { amqpCondition } from './conditions.ts'

test.each([
  ['ERR_MESSAGING_ENTITY_NOT_FOUND', 'amqp:not-found'],
  ['ERR_MESSAGING_ENTITY_EXISTS', 'com.microsoft:entity-already-exists'],
  ['ERR_MESSAGING_ENTITY_DISABLED', 'com.microsoft:entity-disabled'],
  ['ERR_MESSAGE_LOCK_LOST', 'com.microsoft:message-lock-lost'],
  ['ERR_SESSION_LOCK_LOST', 'com.microsoft:session-lock-lost'],
  ['ERR_SESSION_CANNOT_BE_LOCKED', 'com.microsoft:session-cannot-be-locked'],
  ['ERR_SERVICE_TIMEOUT', 'com.microsoft:timeout'],
  ['ERR_MESSAGE_NOT_FOUND', 'com.microsoft:message-not-found'],
  ['ERR_MESSAGING_NOT_ALLOWED', 'amqp:not-allowed'],
  ['ERR_MESSAGE_SIZE_EXCEEDED', 'amqp:link:message-size-exceeded'],
  ['ERR_QUOTA_EXCEEDED', 'amqp:resource-limit-exceeded'],
  ['ERR_STORE_UNAVAILABLE', 'com.microsoft:server-busy'],
  ['ERR_INVALID_OPTION', 'com.microsoft:argument-error'],
  ['ERR_UNAUTHORIZED_ACCESS', 'amqp:unauthorized-access'],
])('%s is told as %s', (code, condition) => {
  expect(amqpCondition(code)).toBe(condition)
})

test.each([undefined, 'ERR_SOMETHING_NEW', 'toString'])(
  'what is not in the table is an internal error: %s',
  (code) => {
    expect(amqpCondition(code)).toBe('amqp:internal-error')
  },
)
