import { StoreUnavailableError, UnauthorizedError, type CodedError } from '@tidemark/contracts'
import {
  errorOfWire,
  isJsonRecord,
  unknownOutcome,
  type RequestSubject,
} from '@tidemark/contracts/internal'
import { headerOf } from './cosmos-container.ts'

/** Names of errors with which credentials of `@azure/identity` fail. */
const CREDENTIAL_ERRORS: ReadonlySet<string> = new Set([
  'AggregateAuthenticationError',
  'AuthenticationError',
  'AuthenticationRequiredError',
  'CredentialUnavailableError',
])
/** `items.batch` wraps the error of its request. */
const MAX_CAUSES = 4

/**
 * Calls the client, and rejects with coded errors, or with `signal.reason` as soon as the signal aborts. What the client
 * repeats by itself is over by then. Most of its calls end a request that is aborted; the feed iterators do not, so that
 * one of theirs may run on for a moment, and nobody waits for it.
 */
export async function callClient<Result>(
  subject: RequestSubject,
  signal: AbortSignal | undefined,
  call: () => Promise<Result>,
): Promise<Result> {
  signal?.throwIfAborted()
  try {
    return await untilAborted(call(), signal)
  } catch (error) {
    signal?.throwIfAborted()
    throw codedError(error, subject)
  }
}

/** The coded error of what the client rejected with; the client's own is its `cause`. */
export function codedError(error: unknown, subject: RequestSubject): CodedError {
  const coded = answeredError(error, subject) ?? unansweredError(error, subject)
  coded.cause ??= error
  return coded
}

/** Of an answer with a status; undefined when there was none. */
function answeredError(error: unknown, subject: RequestSubject): CodedError | undefined {
  let failure = error
  for (let depth = 0; depth < MAX_CAUSES && isJsonRecord(failure); depth++) {
    const { code: status, headers, body, message } = failure
    if (typeof status === 'number') {
      const says = isJsonRecord(headers) ? headers : undefined
      const text = isJsonRecord(body) ? body['message'] : message
      return errorOfWire(
        {
          status,
          substatus: numberOf(failure['substatus']) ?? numberOf(headerOf(says, 'x-ms-substatus')),
          message: typeof text === 'string' ? text : 'the request failed',
          retryAfterMs: numberOf(headerOf(says, 'x-ms-retry-after-ms')),
        },
        subject,
      )
    }
    failure = failure['cause']
  }
  return undefined
}

function unansweredError(error: unknown, subject: RequestSubject): CodedError {
  const { name, message } = error instanceof Error ? error : { name: '', message: textOf(error) }
  if (CREDENTIAL_ERRORS.has(name)) return new UnauthorizedError(message)
  return new StoreUnavailableError(`${message}${unknownOutcome(subject)}`)
}

function textOf(error: unknown): string {
  const message = isJsonRecord(error) ? error['message'] : error
  return typeof message === 'string' ? message : 'the client failed without saying why'
}

function numberOf(value: unknown): number | undefined {
  const number = Number(value ?? Number.NaN)
  return Number.isFinite(number) ? number : undefined
}

async function untilAborted<Result>(
  promise: Promise<Result>,
  signal: AbortSignal | undefined,
): Promise<Result> {
  if (signal === undefined) return promise
  const aborted = Promise.withResolvers<never>()
  const abort = (): void => aborted.reject(signal.reason)
  signal.addEventListener('abort', abort, { once: true })
  try {
    return await Promise.race([promise, aborted.promise])
  } finally {
    signal.removeEventListener('abort', abort)
  }
}
