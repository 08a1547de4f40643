import { isJsonRecord, type JsonRecord } from '@tidemark/contracts/internal'
import type { ComputedProperty } from '../query/query-options.ts'

/** The computed properties of a container's definition; what cannot be read is none. */
export function computedPropertiesOf(definition: JsonRecord): readonly ComputedProperty[] {
  const { computedProperties: list } = definition
  if (!Array.isArray(list)) return []
  return list.flatMap((property: unknown) => {
    if (!isJsonRecord(property)) return []
    const { name, query } = property
    return typeof name === 'string' && typeof query === 'string' ? [{ name, query }] : []
  })
}
