/** A parsed JSON value; `undefined` is SQL's undefined: no such property, or an operation without a result. */
export type Json =
  | undefined
  | null
  | boolean
  | number
  | string
  | readonly Json[]
  | { readonly [name: string]: Json }

export interface JsonObject {
  readonly [name: string]: Json
}

/** True for a JSON object, not for an array or null. */
export function isJsonObject(value: Json): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** True for a JSON array. */
export function isJsonArray(value: Json): value is readonly Json[] {
  return Array.isArray(value)
}
