import type { MessageChanges } from '../message-commands.ts'
import type { MessageRow } from '../message-rows.ts'

/** SET-04: longer reasons and descriptions are cut. */
const MAX_REASON_CHARACTERS = 4096

const LONE_HIGH_SURROGATE = /[\uD800-\uDBFF]$/

/** Lays further changes over those of a row. All of them count towards its size. */
export function changedRow<Row extends Pick<MessageRow, 'changes' | 'bytes'>>(
  row: Row,
  ...more: readonly (MessageChanges | undefined)[]
): Row {
  const changes = addChanges(row.changes, ...more)
  if (changes === row.changes) return row
  return { ...row, changes, bytes: row.bytes + sizeOf(changes) - sizeOf(row.changes) }
}

function sizeOf(changes: string | undefined): number {
  return changes === undefined ? 0 : Buffer.byteLength(changes)
}

/** What changes of a message without any take, of the size of a message. */
export function changesSize(changes: MessageChanges): number {
  return sizeOf(addChanges(undefined, changes))
}

/** Lays further changes over the stored ones. Undefined when there are none. */
export function addChanges(
  stored: string | undefined,
  ...more: readonly (MessageChanges | undefined)[]
): string | undefined {
  const given = more.filter((changes) => changes !== undefined && !isEmpty(changes))
  if (given.length === 0) return stored
  let all = readableChanges(stored)
  for (const changes of given) if (changes !== undefined) all = merge(all, changes)
  return JSON.stringify(all)
}

/** A text that is damaged becomes a property: a message can be dead-lettered whatever became of it. */
function readableChanges(stored: string | undefined): MessageChanges {
  try {
    return readChanges(stored)
  } catch {
    return { properties: { DamagedChanges: stored ?? '' } }
  }
}

/** Reads what `MessageRow.changes` holds. */
export function readChanges(stored: string | undefined): MessageChanges {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- Only `addChanges` writes this text.
  return stored === undefined ? {} : (JSON.parse(stored) as MessageChanges)
}

/** Reason and description are application properties (SET-04). Each has at most 4096 characters: a longer one is cut. */
export function reasonChanges(
  reason: string | undefined,
  description: string | undefined,
): MessageChanges {
  const properties: Record<string, string> = {}
  if (reason !== undefined) properties['DeadLetterReason'] = cut(reason)
  if (description !== undefined) properties['DeadLetterErrorDescription'] = cut(description)
  return { properties }
}

function cut(text: string): string {
  return text.length <= MAX_REASON_CHARACTERS
    ? text
    : text.slice(0, MAX_REASON_CHARACTERS).replace(LONE_HIGH_SURROGATE, '')
}

function isEmpty({ properties = {}, removed = [], system = {}, diedMs }: MessageChanges): boolean {
  const count = Object.keys(properties).length + Object.keys(system).length + removed.length
  return count === 0 && diedMs === undefined
}

function merge(below: MessageChanges, above: MessageChanges): MessageChanges {
  const taken = new Set(above.removed)
  const set = new Set(Object.keys(above.properties ?? {}))
  const kept = Object.entries(below.properties ?? {}).filter(([name]) => !taken.has(name))
  // A name that one change both sets and removes is set.
  const removed = [...new Set([...(below.removed ?? []), ...taken])].filter(
    (name) => !set.has(name),
  )
  const properties = { ...Object.fromEntries(kept), ...above.properties }
  const system = { ...below.system, ...above.system }
  const diedMs = above.diedMs ?? below.diedMs
  return {
    ...(Object.keys(properties).length > 0 ? { properties } : {}),
    ...(removed.length > 0 ? { removed } : {}),
    ...(Object.keys(system).length > 0 ? { system } : {}),
    ...(diedMs === undefined ? {} : { diedMs }),
  }
}
