import type { CommandAnswers, CommandOf } from '../message-commands.ts'
import { ask, type EntityPlace, type MessageRow, type Procedure } from '../message-rows.ts'
import { refusesReceive } from '../rules/entity-status.ts'
import { isWaiting } from '../rules/expiry-of-messages.ts'
import { carryOut } from './carry-out.ts'
import { heldSession } from './held-session.ts'
import { rowsAfterDue } from './rows-after-due.ts'
import type { Work } from './work.ts'

/** Bytes of messages that a command looks at. */
const MAX_BYTES = 8 * 1024 * 1024

/** Removes the first waiting messages that were enqueued before an instant. Nobody listens by it (EXP-04). */
export function* discard(
  work: Work,
  place: EntityPlace,
  { hold, max, beforeMs }: CommandOf<'discard'>,
): Procedure<CommandAnswers['discard']> {
  const { record } = place
  const reason = refusesReceive(record, hold === undefined ? 'noSession' : 'session')
  if (reason !== undefined) return { kind: 'refused', reason }
  const session = hold && (yield* heldSession(work, place, hold, 'nobody'))
  if (session !== undefined && 'kind' in session) return session
  const read = function* (): Procedure<readonly MessageRow[]> {
    const seen = yield* ask('take', {
      entity: record.number,
      session: hold?.session,
      afterNumber: 0,
      notExpiredAtMs: undefined,
      max,
      maxBytes: MAX_BYTES,
      deletes: false,
      locks: [],
      dueMs: undefined,
    })
    const old = seen.filter(({ enqueuedMs }) => enqueuedMs < beforeMs)
    const rows = yield* ask(
      'rowsById',
      old.map(({ id }) => id).toSorted((a, b) => a - b),
    )
    // Another transaction may have locked or moved one since it was seen.
    return rows.filter((row) => row.entity === record.number && isWaiting(row))
  }
  const rows = hold === undefined ? yield* rowsAfterDue(work, place, read) : yield* read()
  if (rows === 'again') return { kind: 'again' }
  yield* carryOut(
    work,
    record,
    rows.map((row) => ({ kind: 'goes', row })),
  )
  return { kind: 'discarded', count: rows.length }
}
