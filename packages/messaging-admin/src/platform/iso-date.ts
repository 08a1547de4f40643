/** In UTC, with milliseconds. */
export function isoDate(ms: number): string {
  return new Date(ms).toISOString()
}

export function isDate(value: unknown): value is Date {
  return value instanceof Date
}

/** A date of ISO 8601; without a zone, as UTC. Undefined for what is none. */
export function parseIsoDate(text: string): Date | undefined {
  if (!/^\d{4}-\d\d-\d\dT/.test(text)) return undefined
  const date = new Date(/(?:Z|[+-]\d\d:\d\d)$/i.test(text) ? text : `${text}Z`)
  return Number.isNaN(date.getTime()) ? undefined : date
}
