/** What a coded error is on the wire. */
export interface WireStatus {
  readonly status: number
  readonly substatus?: number | undefined
  /** `code` of the body, as the service writes it. */
  readonly name: string
}

const BAD_REQUEST: WireStatus = { status: 400, name: 'BadRequest' }
const UNAVAILABLE: WireStatus = { status: 503, name: 'ServiceUnavailable' }

/** Of everything that was not foreseen. */
export const INTERNAL_ERROR: WireStatus = { status: 500, name: 'InternalServerError' }
/** An operation of a batch that did not run because another one failed. */
export const FAILED_DEPENDENCY: WireStatus = { status: 424, name: 'FailedDependency' }

/**
 * The one table between codes of errors and statuses of HTTP. No other file knows both.
 *
 * ERR_HORIZON_PASSED is 400 because that is what the service answers when a position of all versions and deletes is
 * older than its retention.
 */
const STATUS_OF_CODE: ReadonlyMap<string, WireStatus> = new Map([
  ['ERR_BAD_REQUEST', BAD_REQUEST],
  ['ERR_BAD_QUERY', BAD_REQUEST],
  ['ERR_QUERY_TOO_COSTLY', BAD_REQUEST],
  ['ERR_UNSUPPORTED_REQUEST', BAD_REQUEST],
  ['ERR_INVALID_OPTION', BAD_REQUEST],
  ['ERR_INVALID_DOCUMENT', BAD_REQUEST],
  ['ERR_INVALID_PARTITION_KEY', BAD_REQUEST],
  ['ERR_INVALID_PATCH', BAD_REQUEST],
  ['ERR_INVALID_CONTINUATION', BAD_REQUEST],
  ['ERR_ALL_VERSIONS_OFF', BAD_REQUEST],
  ['ERR_HORIZON_PASSED', BAD_REQUEST],
  ['ERR_PARTITION_KEY_MISMATCH', { ...BAD_REQUEST, substatus: 1001 }],
  ['ERR_OTHER_CONTAINER', { ...BAD_REQUEST, substatus: 1024 }],
  ['ERR_UNAUTHORIZED', { status: 401, name: 'Unauthorized' }],
  ['ERR_FORBIDDEN', { status: 403, name: 'Forbidden' }],
  ['ERR_NOT_FOUND', { status: 404, name: 'NotFound' }],
  ['ERR_SESSION_AHEAD', { status: 404, substatus: 1002, name: 'NotFound' }],
  ['ERR_METHOD_NOT_ALLOWED', { status: 405, name: 'MethodNotAllowed' }],
  ['ERR_REQUEST_TIMEOUT', { status: 408, name: 'RequestTimeout' }],
  ['ERR_EXISTS', { status: 409, name: 'Conflict' }],
  ['ERR_UNIQUE_KEY', { status: 409, name: 'Conflict' }],
  ['ERR_RANGE_GONE', { status: 410, substatus: 1002, name: 'Gone' }],
  ['ERR_CONTAINER_REPLACED', { status: 410, substatus: 1000, name: 'Gone' }],
  ['ERR_PRECONDITION_FAILED', { status: 412, name: 'PreconditionFailed' }],
  ['ERR_DOCUMENT_TOO_LARGE', { status: 413, name: 'RequestEntityTooLarge' }],
  ['ERR_COMMIT_TOO_LARGE', { status: 413, name: 'RequestEntityTooLarge' }],
  ['ERR_REQUEST_TOO_LARGE', { status: 413, name: 'RequestEntityTooLarge' }],
  ['ERR_THROTTLED', { status: 429, substatus: 3200, name: 'TooManyRequests' }],
  ['ERR_WRITE_CONFLICT', { status: 449, name: 'RetryWith' }],
  ['ERR_CLIENT_GONE', { status: 499, name: 'ClientClosedRequest' }],
  ['ERR_GATEWAY_STOPPING', UNAVAILABLE],
  ['ERR_STORE_CLOSED', UNAVAILABLE],
  ['ERR_STORE_UNAVAILABLE', UNAVAILABLE],
  ['ERR_STORE_IN_USE', UNAVAILABLE],
])

/** The status of a coded error; undefined when the code is not one that a caller can have caused. */
export function wireStatus(code: string): WireStatus | undefined {
  return STATUS_OF_CODE.get(code)
}

/**
 * The code that an answer stands for when it does not say one itself: the first of the table with this substatus,
 * else with this status. For our client at servers that are not ours.
 */
export function codeOfStatus(status: number, substatus: number | undefined): string {
  const codes = [...STATUS_OF_CODE].filter(([, wire]) => wire.status === status)
  const [code] = codes.find(([, wire]) => wire.substatus === substatus) ??
    codes.find(([, wire]) => wire.substatus === undefined) ??
    codes[0] ?? [status >= 500 ? 'ERR_STORE_UNAVAILABLE' : 'ERR_BAD_REQUEST']
  return code
}
