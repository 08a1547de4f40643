export function dateOf(epochMs: number): Date {
  return new Date(epochMs)
}

/** Epoch ms of a `Date` header. Undefined when there is none. */
export function serverDateMs(header: unknown): number | undefined {
  const ms = typeof header === 'string' ? Date.parse(header) : Number.NaN
  return Number.isNaN(ms) ? undefined : ms
}
