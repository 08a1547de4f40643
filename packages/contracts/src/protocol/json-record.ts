/** A JSON object of which nothing is known. */
export interface JsonRecord {
  readonly [name: string]: unknown
}

/** True for a JSON object, not for an array or null. */
export function isJsonRecord(value: unknown): value is JsonRecord {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
