import { errorCode } from '@tidemark/contracts'
import { hideCredentials } from '@tidemark/contracts/internal'
import { problemAnswer } from '../problem-answer.ts'
import type { Problem } from '../views.ts'

const STATUSES: ReadonlyMap<number, readonly string[]> = new Map([
  [
    400,
    [
      'ERR_ALL_VERSIONS_OFF',
      'ERR_BAD_REQUEST',
      'ERR_HORIZON_PASSED',
      'ERR_INVALID_CONTINUATION',
      'ERR_INVALID_DOCUMENT',
      'ERR_INVALID_OPTION',
      'ERR_INVALID_PARTITION_KEY',
      'ERR_MESSAGE_SIZE_EXCEEDED',
      'ERR_MESSAGING_NOT_ALLOWED',
      'ERR_PARTITION_KEY_MISMATCH',
    ],
  ],
  [404, ['ERR_MESSAGE_NOT_FOUND', 'ERR_MESSAGING_ENTITY_NOT_FOUND', 'ERR_NOT_FOUND']],
  [
    409,
    [
      'ERR_LEASES_CHANGED',
      'ERR_MESSAGING_ENTITY_DISABLED',
      'ERR_PRECONDITION_FAILED',
      'ERR_QUOTA_EXCEEDED',
      'ERR_RANGE_GONE',
      'ERR_WRITE_CONFLICT',
    ],
  ],
  [413, ['ERR_REQUEST_TOO_LARGE']],
  [
    503,
    [
      'ERR_LEASE_STORE_UNAVAILABLE',
      'ERR_PAGE_CLOSED',
      'ERR_STORE_CLOSED',
      'ERR_STORE_IN_USE',
      'ERR_STORE_UNAVAILABLE',
    ],
  ],
])
const STATUS_OF_CODE: ReadonlyMap<string, number> = new Map(
  [...STATUSES].flatMap(([status, codes]) => codes.map((code) => [code, status] as const)),
)

/** What failed, for people. Only errors that are thrown on purpose say more than that. */
export function problemOf(error: unknown): Problem {
  const code = errorCode(error)
  if (code === undefined || !code.startsWith('ERR_') || !(error instanceof Error)) {
    return { code: 'ERR_FAILED', message: 'The server failed at this; it reports why in its log.' }
  }
  const message = hideCredentials(error.message.replaceAll(/\s+/g, ' ')).slice(0, 1_000)
  return { code, message }
}

/** True: the request cannot be blamed for it. */
export function isFailure(error: unknown): boolean {
  return statusOf(error) === 500
}

export function errorAnswer(error: unknown): Response {
  return problemAnswer(statusOf(error), problemOf(error))
}

function statusOf(error: unknown): number {
  return STATUS_OF_CODE.get(errorCode(error) ?? '') ?? 500
}
