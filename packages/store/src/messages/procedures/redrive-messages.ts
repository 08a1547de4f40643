import type { EntityRecord } from '../entities.ts'
import type { CommandAnswers, CommandOf } from '../message-commands.ts'
import {
  ask,
  type EntityPlace,
  type NewMessageRow,
  type Procedure,
  type StoredMessage,
} from '../message-rows.ts'
import { effectiveTtlMs } from '../rules/effective-ttl.ts'
import { arrivedRow, type Passage } from '../rules/enqueued-rows.ts'
import { isWaiting } from '../rules/expiry-of-messages.ts'
import { changedRow } from '../rules/message-changes.ts'
import type { Fate } from '../rules/message-fate.ts'
import { carryOut } from './carry-out.ts'
import { rowsAfterDue } from './rows-after-due.ts'
import type { Work } from './work.ts'

const REASON = { removed: ['DeadLetterReason', 'DeadLetterErrorDescription'] }

/**
 * Moves messages of a dead-letter queue back to where they died, each exactly once: one that is not waiting here any more
 * is left out. There it is a new message: with a number, a TTL that counts anew, no deliveries and no reason. It is never
 * taken for a duplicate of itself. What has no room there, or no session where one is required, stays.
 */
export function* redrive(
  work: Work,
  place: EntityPlace,
  { messages }: CommandOf<'redrive'>,
): Procedure<CommandAnswers['redrive']> {
  const { record } = place
  if (record.kind !== 'deadLetter' || record.parent === undefined) {
    return { kind: 'refused', reason: 'notAllowed' }
  }
  const numbers = messages.map(({ number }) => number)
  const rows = yield* rowsAfterDue(work, place, () => ask('rowsByNumber', record.number, numbers))
  if (rows === 'again') return { kind: 'again' }
  const ids = rows.filter(isWaiting).map(({ id }) => id)
  if (ids.length === 0) return { kind: 'redriven', numbers: [] }
  const stored = yield* ask(
    'messagesById',
    ids.sort((a, b) => a - b),
  )
  yield* work.hold([record.parent])
  const owner = work.held(record.parent)
  if (owner === undefined) return { kind: 'refused', reason: 'gone' }
  const { status } = owner.settings
  if (status === 'Disabled' || status === 'SendDisabled') {
    return { kind: 'refused', reason: 'disabled' }
  }
  const sessions = new Map(messages.map(({ number, session }) => [number, session]))
  return yield* move(work, { queue: record, owner, stored, sessions })
}

function* move(
  work: Work,
  {
    queue,
    owner,
    stored,
    sessions,
  }: {
    readonly queue: EntityRecord
    readonly owner: EntityRecord
    readonly stored: readonly StoredMessage[]
    readonly sessions: ReadonlyMap<number, string | undefined>
  },
): Procedure<CommandAnswers['redrive']> {
  const heldBytes = yield* ask('readBytes', owner.number)
  const { maxBytes, requiresSession } = owner.settings
  const fates: Fate[] = []
  const inserted: NewMessageRow[] = []
  const numbers: number[] = []
  for (const message of [...stored].sort((a, b) => a.number - b.number)) {
    const session = sessions.get(message.number)
    if (requiresSession && session === undefined) continue
    if (heldBytes + work.addedBytes(owner.number) + message.bytes > maxBytes) continue
    const number = work.nextNumber(owner.number)
    const row = arrivedRow(passageOf(message, owner, work), owner, { number, session })
    inserted.push(row)
    fates.push({ kind: 'goes', row: message })
    numbers.push(message.number)
    work.addBytes(owner, row.bytes)
  }
  if (numbers.length === 0) return { kind: 'redriven', numbers }
  work.touches(owner.number)
  yield* carryOut(work, queue, fates)
  yield* ask('insert', inserted)
  return { kind: 'redriven', numbers }
}

function passageOf(message: StoredMessage, owner: EntityRecord, { time }: Work): Passage {
  return {
    ...changedRow(message, REASON),
    enqueuedMs: time.storeMs,
    ttlMs: effectiveTtlMs(message.ttlMs, owner.settings.defaultTtlMs),
    hops: 0,
    deadLetterSource: undefined,
  }
}
