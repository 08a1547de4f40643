/** The last millisecond of the year 9999: what protocols and dates can still show. */
export const LATEST_MS: number = 253_402_300_799_999

/** The shortest of them: a default is also a ceiling (EXP-10, EXP-13, EXP-14). Undefined: never. */
export function effectiveTtlMs(...ttls: readonly (number | undefined)[]): number | undefined {
  let shortest: number | undefined
  for (const ttl of ttls) {
    if (ttl !== undefined && (shortest === undefined || ttl < shortest)) shortest = ttl
  }
  return shortest
}

/** Does not move afterwards (EXP-01). A TTL that leads beyond `LATEST_MS` ends there; no TTL has no expiry. */
export function expiryMs(enqueuedMs: number, ttlMs: number | undefined): number | undefined {
  return ttlMs === undefined ? undefined : Math.min(enqueuedMs + ttlMs, LATEST_MS)
}
