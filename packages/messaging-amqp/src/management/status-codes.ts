/** The number that a client gets beside a condition. Clients that ignore conditions go by it. */
const STATUS_CODES: ReadonlyMap<string, number> = new Map([
  ['amqp:decode-error', 400],
  ['amqp:not-allowed', 400],
  ['amqp:transaction:unknown-id', 400],
  ['com.microsoft:argument-error', 400],
  ['amqp:unauthorized-access', 401],
  ['amqp:link:message-size-exceeded', 403],
  ['amqp:resource-limit-exceeded', 403],
  ['com.microsoft:entity-disabled', 403],
  ['amqp:not-found', 404],
  ['com.microsoft:message-not-found', 404],
  ['amqp:transaction:timeout', 408],
  ['com.microsoft:timeout', 408],
  ['com.microsoft:entity-already-exists', 409],
  ['com.microsoft:session-cannot-be-locked', 409],
  ['com.microsoft:message-lock-lost', 410],
  ['com.microsoft:session-lock-lost', 410],
  ['amqp:not-implemented', 501],
  ['com.microsoft:server-busy', 503],
])

/** Of an answer that is an error. */
export function statusCode(condition: string): number {
  return STATUS_CODES.get(condition) ?? 500
}
