import type { DocumentBody } from '@tidemark/contracts'
import type { JsonItem } from './split-json.ts'

/** A parsed item of the input: a document, or the reason why it is not one. */
export type ParsedItem =
  | { readonly kind: 'document'; readonly line: number; readonly document: DocumentBody }
  | { readonly kind: 'bad'; readonly line: number; readonly reason: string }

/** Checks that an item is a JSON object with an id. The store judges everything else. */
export function parseItem({ text, line }: JsonItem): ParsedItem {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    return { kind: 'bad', line, reason: error instanceof Error ? error.message : String(error) }
  }
  if (isDocument(value)) return { kind: 'document', line, document: value }
  const found = value === null ? 'null' : Array.isArray(value) ? 'an array' : typeof value
  const reason =
    found === 'object' ? 'it has no "id" that is a text' : `it is ${found}, not a JSON object`
  return { kind: 'bad', line, reason }
}

function isDocument(value: unknown): value is DocumentBody {
  return (
    typeof value === 'object' &&
    value !== null &&
    !Array.isArray(value) &&
    'id' in value &&
    typeof value.id === 'string'
  )
}
