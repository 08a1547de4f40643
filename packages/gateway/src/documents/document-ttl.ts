import {
  InvalidDocumentError,
  type BatchOperation,
  type DocumentBody,
  type PatchOperation,
} from '@tidemark/contracts'
import { MAX_TTL_SECONDS } from '@tidemark/store'
import { isTtl } from '@tidemark/store/engine'

/** What may carry a `ttl`: a document, the steps of a patch, or an operation of a batch that has either. */
type TtlCarrier =
  | { readonly document: DocumentBody }
  | { readonly operations: readonly PatchOperation[] }
  | BatchOperation<DocumentBody>

/**
 * Checks the `ttl` that a write carries, in containers without a `defaultTtl` too. There the store takes any value as an
 * ordinary property (TTL-9); the service refuses it in every container.
 *
 * @throws ERR_INVALID_DOCUMENT
 */
export function checkTtl(write: TtlCarrier): void {
  if ('document' in write) {
    if (Object.hasOwn(write.document, 'ttl')) check(Reflect.get(write.document, 'ttl'))
  } else if ('operations' in write) {
    for (const step of write.operations) {
      if (step.path === '/ttl' && 'value' in step && step.op !== 'incr') check(step.value)
    }
  }
}

function check(ttl: unknown): void {
  if (isTtl(ttl)) return
  throw new InvalidDocumentError(
    `a document cannot have ttl ${JSON.stringify(ttl)}: ` +
      `give -1 (never expires) or a whole number of seconds from 1 to ${MAX_TTL_SECONDS}`,
  )
}
