import { InvalidDocumentError, type BatchOperation, type DocumentBody } from '@tidemark/contracts'
import { MAX_TTL_SECONDS, isTtl } from '@tidemark/store'

/**
 * Checks the `ttl` that a write carries, in containers without a `defaultTtl` too. There the store takes any value as an
 * ordinary property (TTL-9); the service refuses it in every container.
 *
 * @throws ERR_INVALID_DOCUMENT
 */
export function checkTtl(operation: BatchOperation<DocumentBody>): void {
  switch (operation.kind) {
    case 'create':
    case 'upsert':
    case 'replace':
      if (Object.hasOwn(operation.document, 'ttl')) {
        check(operation.document.id, Reflect.get(operation.document, 'ttl'))
      }
      return
    case 'patch':
      for (const step of operation.operations) {
        if (step.path === '/ttl' && 'value' in step && step.op !== 'incr')
          check(operation.id, step.value)
      }
      return
    case 'read':
    case 'delete':
  }
}

function check(id: string, ttl: unknown): void {
  if (isTtl(ttl)) return
  throw new InvalidDocumentError(
    `document ${JSON.stringify(id)} has the invalid ttl ${JSON.stringify(ttl)}: ` +
      `give -1 (never expires) or a whole number of seconds from 1 to ${MAX_TTL_SECONDS}`,
  )
}
