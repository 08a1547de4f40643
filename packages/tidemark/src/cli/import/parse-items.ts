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
  return { kind: 'bad', line, reason: whyBad(value) }
}

function whyBad(value: unknown): string {
  if (value === null) return 'it is null, not a JSON object'
  if (Array.isArray(value)) return 'it is an array, not a JSON object'
  if (typeof value !== 'object') return `it is a ${typeof value}, not a JSON object`
  return 'its "id" is missing, or is not a string'
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
