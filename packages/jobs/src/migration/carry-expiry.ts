import type { DocumentBody, Stored } from '@tidemark/contracts'
import { expirySecond } from '@tidemark/store/engine'
import { MAX_TTL_SECONDS } from '@tidemark/store'

/** `defaultTtl` of both sides while a migration carries expiry: both have TTL on. */
export interface ExpiryCarrier {
  readonly sourceTtl: number
  readonly targetTtl: number
}

/** What a copy is written as. */
export interface CarriedDocument {
  readonly document: DocumentBody
  /** Epoch ms; undefined = never. */
  readonly expiresAtMs: number | undefined
}

/**
 * A mapped document with its source's expiry, whatever `ttl` it was given: at the same instant, or never,
 * also where the target's default says otherwise (JB-2).
 */
export function carryExpiry(
  document: DocumentBody,
  expiresAtMs: number | undefined,
  { targetTtl }: ExpiryCarrier,
): CarriedDocument {
  if (expiresAtMs !== undefined) return { document, expiresAtMs }
  const ttl: unknown = Reflect.get(document, 'ttl')
  const wouldExpire = ttl === undefined ? targetTtl !== -1 : ttl !== -1
  return { document: wouldExpire ? neverExpiring(document) : document, expiresAtMs: undefined }
}

/** When a stored document expires, in epoch ms; undefined = never. */
export function storedExpiry(
  document: Stored<DocumentBody>,
  defaultTtl: number | null,
): number | undefined {
  const ttl: unknown = Reflect.get(document, 'ttl')
  const second = expirySecond({ ts: document._ts, ttl: isTtl(ttl) ? ttl : 0 }, defaultTtl)
  return second === 0 ? undefined : second * 1000
}

function neverExpiring(document: DocumentBody): DocumentBody {
  const withoutExpiry: DocumentBody & { readonly ttl: number } = { ...document, ttl: -1 }
  return withoutExpiry
}

/** An invalid value that was stored while TTL was off counts as none (TTL-9). */
function isTtl(value: unknown): value is number {
  return (
    typeof value === 'number' &&
    Number.isInteger(value) &&
    (value === -1 || (value >= 1 && value <= MAX_TTL_SECONDS))
  )
}
