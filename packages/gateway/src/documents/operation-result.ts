import { readCharge, writeCharge } from '../protocol/request-charge.ts'
import { wireError } from '../protocol/error-answer.ts'
import { type BatchOperation } from '@tidemark/contracts'
import { FAILED_DEPENDENCY } from '@tidemark/contracts/internal'
import { documentText } from './document-text.ts'
import { storedHead } from './stored-head.ts'

/** The outcome of one operation of a batch or bulk request. */
export interface OperationResult {
  readonly status: number
  readonly substatus?: number | undefined
  readonly charge: number
  readonly etag?: string | undefined
  /** JSON text of the document. */
  readonly body?: string | undefined
  readonly message?: string | undefined
  readonly retryAfterMs?: number | undefined
}

/** An operation that succeeded. */
export function succeeded(
  kind: BatchOperation['kind'],
  { text, created }: { readonly text: string | undefined; readonly created: boolean },
): OperationResult {
  const chars = text?.length ?? 0
  const isRead = kind === 'read'
  return {
    status: statusOf(kind, { text, created }),
    charge: isRead ? readCharge(chars) : writeCharge(chars),
    etag: text === undefined ? undefined : storedHead(text)?.etag,
    body: text === undefined ? undefined : documentText(text),
  }
}

/** An operation that failed; `charge` is that of looking. */
export function failed(error: unknown): OperationResult {
  const { status, substatus, message, retryAfterMs } = wireError(error)
  return { status, substatus, message, retryAfterMs, charge: readCharge(0) }
}

/** An operation that did not run, or was undone, because another one failed. */
export const NOT_RUN: OperationResult = { status: FAILED_DEPENDENCY.status, charge: 0 }

/** JSON text of a result. Written by hand, because the document in it is text already. */
export function resultText(
  { status, substatus, charge, etag, body, message, retryAfterMs }: OperationResult,
  { withBody }: { readonly withBody: boolean },
): string {
  const parts = [`"statusCode":${status}`, `"requestCharge":${charge}`]
  if (substatus !== undefined) parts.push(`"subStatusCode":${substatus}`)
  if (etag !== undefined) parts.push(`"eTag":${JSON.stringify(etag)}`)
  if (message !== undefined) parts.push(`"message":${JSON.stringify(message)}`)
  if (retryAfterMs !== undefined) parts.push(`"retryAfterMilliseconds":${retryAfterMs}`)
  if (body !== undefined && withBody) parts.push(`"resourceBody":${body}`)
  return `{${parts.join(',')}}`
}

function statusOf(
  kind: BatchOperation['kind'],
  { text, created }: { readonly text: string | undefined; readonly created: boolean },
): number {
  if (kind === 'delete') return 204
  if (kind === 'read' && text === undefined) return 304
  return created ? 201 : 200
}
