/** What a front for AMQP answers to an error it knows nothing more about. */
const INTERNAL_ERROR = 'amqp:internal-error'

/**
 * The AMQP condition for each code that a call of the broker rejects with. Only conditions that the official client takes
 * for retryable stand beside codes that are: a client repeats after 30 seconds what it should not have repeated at all.
 */
const CONDITIONS: Readonly<Record<string, string>> = {
  ERR_INVALID_OPTION: 'com.microsoft:argument-error',
  ERR_INVALID_RULE: 'com.microsoft:argument-error',
  ERR_LINK_CLOSED: 'amqp:link:detach-forced',
  ERR_MESSAGE_LOCK_LOST: 'com.microsoft:message-lock-lost',
  ERR_MESSAGE_NOT_FOUND: 'com.microsoft:message-not-found',
  ERR_MESSAGE_SIZE_EXCEEDED: 'amqp:link:message-size-exceeded',
  ERR_MESSAGING_ENTITY_DISABLED: 'com.microsoft:entity-disabled',
  ERR_MESSAGING_ENTITY_EXISTS: 'com.microsoft:entity-already-exists',
  ERR_MESSAGING_ENTITY_NOT_FOUND: 'amqp:not-found',
  ERR_MESSAGING_NOT_ALLOWED: 'amqp:not-allowed',
  ERR_QUOTA_EXCEEDED: 'amqp:resource-limit-exceeded',
  ERR_SERVICE_TIMEOUT: 'com.microsoft:timeout',
  ERR_SESSION_CANNOT_BE_LOCKED: 'com.microsoft:session-cannot-be-locked',
  ERR_SESSION_LOCK_LOST: 'com.microsoft:session-lock-lost',
  ERR_STORE_CLOSED: 'com.microsoft:server-busy',
  ERR_STORE_UNAVAILABLE: 'com.microsoft:server-busy',
  ERR_UNAUTHORIZED_ACCESS: 'amqp:unauthorized-access',
}

/** The condition for a code (section 11 of the rules); `amqp:internal-error` for a code that is not in the table. */
export function amqpCondition(code: string | undefined): string {
  return code !== undefined && Object.hasOwn(CONDITIONS, code) ? CONDITIONS[code]! : INTERNAL_ERROR
}
