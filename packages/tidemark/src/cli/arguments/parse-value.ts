import { InvalidArgumentError } from 'commander'
import {
  errorCode,
  partitionKeyText,
  type PartitionKeyComponent,
  type PatchOperation,
} from '@tidemark/contracts'
import { parsePartitionKeyText } from '@tidemark/contracts/internal'

/** Under the help of each command that takes values. */
export const VALUE_HELP = `
A value is JSON where it parses as JSON, and the text itself where it does not:
7 is a number, seven a text, '"7"' the text 7.
`

/**
 * A value of the command line, by the rule of `VALUE_HELP`.
 *
 * @throws InvalidArgumentError for a number that would be rounded: it may be meant as a text
 */
export function jsonOrText(text: string): unknown {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return text
  }
  if (typeof value !== 'number' || isKept(text.trim(), value)) return value
  throw new InvalidArgumentError(
    `As a number it would be rounded to ${value}; write a text as '${JSON.stringify(text)}'.`,
  )
}

/** Whole numbers are often ids: none of their digits may be lost. */
function isKept(text: string, value: number): boolean {
  return /^-?\d+$/.test(text) ? Number.isSafeInteger(value) : Number.isFinite(value)
}

/** Collects the components of a partition key value for commander: a value, or a JSON array of them. */
export function partitionKeyValue(
  text: string,
  before: readonly PartitionKeyComponent[] = [],
): readonly PartitionKeyComponent[] {
  const value = jsonOrText(text)
  const list = typeof value === 'string' ? JSON.stringify([value]) : text
  try {
    const components = parsePartitionKeyText(list.trim().startsWith('[') ? list : `[${list}]`)
    return [...before, ...components]
  } catch (error) {
    if (errorCode(error) !== 'ERR_INVALID_PARTITION_KEY') throw error
    throw new InvalidArgumentError(
      'It must be a text, a number, true, false, null, {} for a missing property, or a list of these.',
    )
  }
}

/** A partition key value so that `partitionKeyValue` reads it back. */
export function shownPartitionKey(components: readonly PartitionKeyComponent[]): string {
  const [only] = components
  if (components.length === 1 && typeof only === 'string' && isPlainText(only)) return only
  const text = partitionKeyText(components)
  return components.length === 1 ? text.slice(1, -1) : text
}

function isPlainText(text: string): boolean {
  try {
    JSON.parse(text)
    return false
  } catch {
    return text !== ''
  }
}

/** Collects the steps of a patch for commander: `/path=value`, or `/path+=number`. */
export function patchStep(
  text: string,
  before: readonly PatchOperation[] = [],
): readonly PatchOperation[] {
  const [, path = '', plus, given = ''] = /^(\/[^=]*?)(\+?)=(.*)$/s.exec(text) ?? []
  if (path === '') throw new InvalidArgumentError('It must look like /path=value or /path+=number.')
  const value = jsonOrText(given)
  if (plus !== '+') return [...before, { op: 'set', path, value }]
  if (typeof value === 'number') return [...before, { op: 'incr', path, value }]
  throw new InvalidArgumentError('What += adds must be a number.')
}
