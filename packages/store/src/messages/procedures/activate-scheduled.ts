import type { CommandAnswers, CommandOf } from '../message-commands.ts'
import {
  ask,
  SCHEDULED,
  type EntityPlace,
  type MessageRow,
  type Procedure,
} from '../message-rows.ts'
import { activated } from '../rules/enqueued-rows.ts'
import type { Fate } from '../rules/message-fate.ts'
import { carryOut } from './carry-out.ts'
import { copiesOf, holdSubscriptions } from './fan-out.ts'
import type { Work } from './work.ts'

/** Bytes of messages that `readDue` gives at most, unless its first message alone is larger. */
const MAX_BYTES = 4 * 1024 * 1024

/** Scheduled messages of a topic whose instant has come, in the order of (instant, number). */
export function* readDue(
  work: Work,
  { record, dueMs }: EntityPlace,
  { max }: CommandOf<'readDue'>,
): Procedure<CommandAnswers['readDue']> {
  if (record.kind !== 'topic') return { kind: 'refused', reason: 'notAllowed' }
  if (dueMs === undefined || dueMs > work.time.storeMs) return { kind: 'messages', messages: [] }
  const rows = yield* ask('dueRows', record.number, work.time, max)
  if (rows.length === 0) return { kind: 'messages', messages: [] }
  const messages = yield* ask(
    'messagesById',
    firstOf(rows)
      .map(({ id }) => id)
      .sort((a, b) => a - b),
  )
  return { kind: 'messages', messages: [...messages].sort(inOrder) }
}

function firstOf(rows: readonly MessageRow[]): readonly MessageRow[] {
  let held = 0
  const end = rows.findIndex(({ bytes }, at) => {
    held += bytes
    return at > 0 && held > MAX_BYTES
  })
  return end === -1 ? rows : rows.slice(0, end)
}

/**
 * Puts scheduled messages of a topic into its subscriptions, as if they were sent at their instants: each takes a new number
 * of the topic (SCH-05, SCH-09). What another broker has activated, or somebody has cancelled, is left out.
 */
export function* activate(
  work: Work,
  { record }: EntityPlace,
  { version, messages }: CommandOf<'activate'>,
): Procedure<CommandAnswers['activate']> {
  if (record.kind !== 'topic') return { kind: 'refused', reason: 'notAllowed' }
  if (record.version !== version) return { kind: 'refused', reason: 'stale' }
  const copies = new Map(messages.map((message) => [message.number, message.copies]))
  const rows = yield* ask('rowsByNumber', record.number, [...copies.keys()])
  const due = rows.filter((row) => isDue(row, work.time.storeMs))
  if (due.length === 0) return { kind: 'activated' }
  const needed = due.flatMap(({ number }) => copies.get(number) ?? [])
  if (!(yield* holdSubscriptions(work, record, needed))) return { kind: 'refused', reason: 'stale' }
  const stored = yield* ask(
    'messagesById',
    due.map(({ id }) => id).sort((a, b) => a - b),
  )
  const inserted = []
  const fates: Fate[] = []
  for (const message of [...stored].sort(inOrder)) {
    const firstNumber = work.nextNumber(record.number)
    const passage = { ...message, ...activated(message, record), firstNumber }
    inserted.push(...(yield* copiesOf(work, passage, copies.get(message.number) ?? [])))
    fates.push({ kind: 'goes', row: message })
    work.noteEnqueued(record, passage.enqueuedMs)
  }
  if (inserted.length > 0) yield* ask('insert', inserted)
  yield* carryOut(work, record, fates)
  return { kind: 'activated' }
}

function isDue({ state, dueMs }: MessageRow, storeMs: number): boolean {
  return state === SCHEDULED && dueMs !== undefined && dueMs <= storeMs
}

function inOrder(a: MessageRow, b: MessageRow): number {
  return (a.dueMs ?? 0) - (b.dueMs ?? 0) || a.number - b.number
}
