/** The public API shows instants as dates, as the official client does. Nothing else in this package makes one. */
export function utcDate(epochMs: number): Date {
  return new Date(epochMs)
}

/** Epoch ms of a date; undefined for everything else, and for a date that is none. */
export function epochMsOf(value: unknown): number | undefined {
  return value instanceof Date && Number.isFinite(value.getTime()) ? value.getTime() : undefined
}
