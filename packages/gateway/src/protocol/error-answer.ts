import { CodedError, errorCode, ThrottledError } from '@tidemark/contracts'
import { INTERNAL_ERROR, wireStatus, type WireStatus } from '@tidemark/contracts/internal'
import type { Answer } from './answer.ts'
import { HEADER } from './header-names.ts'
import { ownErrorHeaders } from './own-error-headers.ts'

/** An error as the wire has it, of a whole request or of one operation of a batch. */
export interface WireError extends WireStatus {
  readonly message: string
  readonly retryAfterMs: number | undefined
}

/** What a client learns of an error. Of an internal error it learns only that there was one. */
export function wireError(error: unknown): WireError {
  const code = errorCode(error)
  const status = code === undefined ? undefined : wireStatus(code)
  if (status === undefined || !(error instanceof CodedError)) {
    const message = 'The gateway failed to serve this request; its log has the cause.'
    return { ...INTERNAL_ERROR, message, retryAfterMs: undefined }
  }
  const retryAfterMs = error instanceof ThrottledError ? error.retryAfterMs : undefined
  // In the service's words at first: clients look for them.
  const isToken = code === 'ERR_INVALID_CONTINUATION'
  const message = isToken ? `Invalid Continuation Token: ${error.message}` : error.message
  return { ...status, message, retryAfterMs }
}

/** The answer to a request that failed: always a JSON object with `code` and `message`. */
export function errorAnswer(error: unknown, activityId: string): Answer {
  const { status, substatus, name, message, retryAfterMs } = wireError(error)
  return {
    status,
    headers: {
      ...ownErrorHeaders(error),
      ...(substatus !== undefined && { [HEADER.substatus]: String(substatus) }),
      ...(retryAfterMs !== undefined && { [HEADER.retryAfterMs]: String(retryAfterMs) }),
    },
    body: [JSON.stringify({ code: name, message: `${message}\r\nActivityId: ${activityId}` })],
  }
}
