import { AllVersionsOffError } from '../errors/all-versions-off-error.ts'
import { BadRequestError } from '../errors/bad-request-error.ts'
import type { CodedError } from '../errors/coded-error.ts'
import { CommitTooLargeError } from '../errors/commit-too-large-error.ts'
import { DocumentTooLargeError } from '../errors/document-too-large-error.ts'
import { ForbiddenError } from '../errors/forbidden-error.ts'
import { HorizonPassedError } from '../errors/horizon-passed-error.ts'
import { InvalidContinuationError } from '../errors/invalid-continuation-error.ts'
import { InvalidDocumentError } from '../errors/invalid-document-error.ts'
import { InvalidOptionError } from '../errors/invalid-option-error.ts'
import { InvalidPartitionKeyError } from '../errors/invalid-partition-key-error.ts'
import { InvalidPatchError } from '../errors/invalid-patch-error.ts'
import { PartitionKeyMismatchError } from '../errors/partition-key-mismatch-error.ts'
import { PreconditionFailedError } from '../errors/precondition-failed-error.ts'
import { RangeGoneError } from '../errors/range-gone-error.ts'
import {
  ResourceExistsError,
  ResourceNotFoundError,
  type ResourceKind,
} from '../errors/resource-errors.ts'
import { SessionAheadError } from '../errors/session-ahead-error.ts'
import { StoreUnavailableError } from '../errors/store-unavailable-error.ts'
import { ThrottledError } from '../errors/throttled-error.ts'
import { UnauthorizedError } from '../errors/unauthorized-error.ts'
import { UniqueKeyError } from '../errors/unique-key-error.ts'
import { feedRangeId, type FeedRange } from '../ranges/feed-range.ts'
import { codeOfStatus } from './status-codes.ts'

/** Whether a request changes anything. One that does is repeated only if it was certainly not done. */
export type RequestEffect = 'none' | 'write'

/** What a request was about: errors name it. */
export interface RequestSubject {
  readonly resource: ResourceKind
  readonly id: string
  readonly effect: RequestEffect
  readonly range?: FeedRange | undefined
}

/** What an answer says of an error, of a whole request or of one operation of a batch. */
export interface WireFailure {
  readonly status: number
  readonly substatus: number | undefined
  readonly message: string
  readonly retryAfterMs?: number | undefined
  /** From our own gateway. */
  readonly code?: string | undefined
  readonly detail?: string | undefined
}

/** Of a 404: it is the container that is missing. Seen at the service. */
const CONTAINER_MISSING = 1003
/** The account is still making the container. */
const CONTAINER_CREATING = 1013

/** Statuses below 500 of what is over in a moment. */
const PASSING: ReadonlySet<number> = new Set([408, 410, 449])

/** Errors that say everything in their message. */
const PLAIN: ReadonlyMap<string, (message: string) => CodedError> = new Map<
  string,
  (message: string) => CodedError
>([
  ['ERR_INVALID_CONTINUATION', (message) => new InvalidContinuationError(message)],
  ['ERR_INVALID_DOCUMENT', (message) => new InvalidDocumentError(message)],
  ['ERR_INVALID_OPTION', (message) => new InvalidOptionError(message)],
  ['ERR_INVALID_PARTITION_KEY', (message) => new InvalidPartitionKeyError(message)],
  ['ERR_INVALID_PATCH', (message) => new InvalidPatchError(message)],
  ['ERR_PARTITION_KEY_MISMATCH', (message) => new PartitionKeyMismatchError(message)],
  ['ERR_DOCUMENT_TOO_LARGE', (message) => new DocumentTooLargeError(message)],
  ['ERR_COMMIT_TOO_LARGE', (message) => new CommitTooLargeError(message)],
  ['ERR_REQUEST_TOO_LARGE', (message) => new DocumentTooLargeError(message)],
  ['ERR_UNAUTHORIZED', (message) => new UnauthorizedError(message)],
  ['ERR_FORBIDDEN', (message) => new ForbiddenError(message)],
  ['ERR_SESSION_AHEAD', (message) => new SessionAheadError(message)],
])

/** The coded error of an answer: the same class as in process where there is one. */
export function errorOfWire(failure: WireFailure, subject: RequestSubject): CodedError {
  const { status, substatus, message } = failure
  const code = failure.code ?? codeOfStatus(status, substatus)
  const { resource, id } = subject
  switch (code) {
    case 'ERR_NOT_FOUND':
      if (substatus === CONTAINER_CREATING) break
      return new ResourceNotFoundError(missingKind(failure, resource), id)
    case 'ERR_OTHER_CONTAINER':
    case 'ERR_CONTAINER_REPLACED':
      return new ResourceNotFoundError('collection', id)
    case 'ERR_EXISTS':
      return new ResourceExistsError(resource, id)
    case 'ERR_UNIQUE_KEY':
      return new UniqueKeyError(id, uniqueKeyPaths(failure))
    case 'ERR_PRECONDITION_FAILED':
      return new PreconditionFailedError(id, message)
    case 'ERR_RANGE_GONE':
      // A request by key names no range: the server splits or moves one, and serves the key again in a moment.
      if (subject.range === undefined && failure.code === undefined) break
      return new RangeGoneError(subject.range === undefined ? id : feedRangeId(subject.range), [])
    case 'ERR_THROTTLED':
      return new ThrottledError(failure.retryAfterMs ?? 0, message)
    case 'ERR_ALL_VERSIONS_OFF':
      return new AllVersionsOffError(id)
    case 'ERR_HORIZON_PASSED': {
      const horizon = horizonOf(failure, subject)
      if (horizon !== undefined) return horizon
      break
    }
    default:
  }
  const plain = PLAIN.get(code)
  if (plain !== undefined) return plain(message)
  return status >= 500 || PASSING.has(status) || substatus === CONTAINER_CREATING
    ? new StoreUnavailableError(`${message} (status ${status}${unknownOutcome(subject)})`)
    : new BadRequestError(`${message} (status ${status})`)
}

/** For messages of requests that may have been done all the same. */
export function unknownOutcome({ effect }: Pick<RequestSubject, 'effect'>): string {
  return effect === 'write' ? '; its outcome is unknown' : ''
}

function missingKind({ substatus, detail }: WireFailure, resource: ResourceKind): ResourceKind {
  if (substatus === CONTAINER_MISSING) return 'collection'
  switch (detail) {
    case 'database':
    case 'collection':
    case 'range':
    case 'document':
    case 'offer':
      return detail
    default:
      return resource
  }
}

function uniqueKeyPaths({ detail }: WireFailure): readonly string[] {
  try {
    return detail === undefined ? [] : detail.split(',').map(decodeURIComponent)
  } catch {
    // Somebody between has changed it.
    return []
  }
}

function horizonOf(
  { detail = '' }: WireFailure,
  { range }: RequestSubject,
): HorizonPassedError | undefined {
  const [lsn = Number.NaN, horizon = Number.NaN] = detail.split(',').map(Number)
  if (range === undefined || Number.isNaN(lsn + horizon)) return undefined
  return new HorizonPassedError({ range, lsn, horizon })
}
