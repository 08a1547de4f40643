/** The public API shows instants as dates, as the official client does. Nothing else in this package makes one. */
export function utcDate(epochMs: number): Date {
  return new Date(epochMs)
}
