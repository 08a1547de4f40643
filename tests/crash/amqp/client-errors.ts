/** Of a lock that ended meanwhile, and of a server that went away, which does not say whether a call happened. */
const SERVICE_CODES = new Set([
  'MessageLockLost',
  'SessionLockLost',
  'ServiceTimeout',
  'SessionCannotBeLocked',
  'ServiceCommunicationProblem',
  // On a machine that has much else to do.
  'OperationTimeoutError',
  // It was enqueued, or taken, meanwhile.
  'MessageNotFound',
])
/** The last is what it makes of a connection that ended while a link was being opened. */
const SOCKET_ENDS =
  /ECONNREFUSED|ECONNRESET|EPIPE|connection|disconnect|not open|closed|Unknown error encountered/i

/** Whether the official client may fail so although nothing is wrong with what it was asked. */
export function isOutage(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  // Of all attempts at a call.
  if (error instanceof AggregateError && error.errors.length > 0)
    return error.errors.every(isOutage)
  const code: unknown = Reflect.get(error, 'code')
  return SERVICE_CODES.has(String(code)) || SOCKET_ENDS.test(`${String(code)} ${error.message}`)
}
