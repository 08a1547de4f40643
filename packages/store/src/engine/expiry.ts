import type { TtlEra } from './catalog.ts'

/** The largest time to live in seconds, of collections and documents (TTL-9). */
export const MAX_TTL_SECONDS = 2_147_483_647

/** What determines expiry in one collection, in one snapshot. */
export interface TtlPolicy {
  /** Null = off, -1 = on without a default, else seconds. */
  readonly defaultTtl: number | null
  /** Past values under which there may still be expired documents. */
  readonly eras: readonly TtlEra[]
}

/** The fields of a document that determine its expiry; `ttl` is 0 when it has none of its own. */
export interface ExpiringRow {
  /** Epoch seconds of its last change. */
  readonly ts: number
  readonly ttl: number
}

/** The policy of a collection that has never had TTL, so nothing needs to be checked. */
export function neverExpires({ defaultTtl, eras }: TtlPolicy): boolean {
  return defaultTtl === null && eras.length === 0
}

/** The epoch second at which a document expires under one value of `defaultTtl`; 0 = never (TTL-3). */
export function expirySecond({ ts, ttl }: ExpiringRow, defaultTtl: number | null): number {
  if (defaultTtl === null) return 0
  const inForce = ttl === 0 ? defaultTtl : ttl
  return inForce === -1 ? 0 : ts + inForce
}

/**
 * The epoch second at which a document expired, if it has by `nowMs`; 0 while it lives (TTL-4). A document that expired
 * under a past policy stays expired (TTL-18). Of several policies, the earliest counts.
 */
export function expiredSecond(row: ExpiringRow, policy: TtlPolicy, nowMs: number): number {
  let expired = expiredUnder(row, policy.defaultTtl, nowMs)
  for (const { defaultTtl, untilMs } of policy.eras) {
    const second = expiredUnder(row, defaultTtl, untilMs)
    if (second !== 0 && (expired === 0 || second < expired)) expired = second
  }
  return expired
}

function expiredUnder(row: ExpiringRow, defaultTtl: number | null, nowMs: number): number {
  const second = expirySecond(row, defaultTtl)
  return second !== 0 && second * 1000 <= nowMs ? second : 0
}

/** `ttl` of a document that is to expire at a given second: whole seconds from its `_ts`, as near as a `ttl` can say. */
export function ttlUntil(expirySecond: number, ts: number): number {
  return Math.min(MAX_TTL_SECONDS, Math.max(1, expirySecond - ts))
}
