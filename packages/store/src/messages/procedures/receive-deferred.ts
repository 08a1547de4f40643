import type { CommandAnswers, CommandOf } from '../message-commands.ts'
import {
  ask,
  DEFERRED,
  type EntityPlace,
  type MessageRow,
  type Procedure,
} from '../message-rows.ts'
import { refusesReceive } from '../rules/entity-status.ts'
import { lockEndMs } from '../rules/lock-rules.ts'
import { heldSession } from './held-session.ts'
import { rowsAfterDue } from './rows-after-due.ts'
import type { Work } from './work.ts'

/**
 * Gives deferred messages by number, in the order asked for, each once, under a new lock; or none, if one of the numbers is
 * not that of a deferred message without a lock (SET-05), of this session in an entity with sessions, or if they are too
 * many bytes.
 */
export function* receiveDeferred(
  work: Work,
  place: EntityPlace,
  { hold, mode, lock, numbers, maxBytes }: CommandOf<'receiveDeferred'>,
): Procedure<CommandAnswers['receiveDeferred']> {
  const { record } = place
  const reason = refusesReceive(record, hold === undefined ? 'noSession' : 'session')
  if (reason !== undefined) return { kind: 'refused', reason }
  const session = hold && (yield* heldSession(work, place, hold, 'nobody'))
  if (session !== undefined && 'kind' in session) return session
  const wanted = [...new Set(numbers)]
  const read = (): Procedure<readonly MessageRow[]> => ask('rowsByNumber', record.number, wanted)
  const known = hold === undefined ? yield* rowsAfterDue(work, place, read) : yield* read()
  if (known === 'again') return { kind: 'again' }
  const found = new Map<number, MessageRow>()
  for (const row of known) found.set(row.number, row)
  const rows: MessageRow[] = []
  for (const number of wanted) {
    const row = found.get(number)
    if (row === undefined || !isFree(row) || row.session !== hold?.session) {
      return { kind: 'notFound', number }
    }
    rows.push(row)
  }
  const bytes = rows.reduce((sum, row) => sum + row.bytes, 0)
  if (rows.length > 1 && bytes > maxBytes) return { kind: 'tooMany', bytes }
  const messages = yield* ask(
    'messagesById',
    rows.map(({ id }) => id),
  )
  const bodies = new Map(messages.map((message) => [message.id, message]))
  const locks = mode === 'peekLock'
  const lockedUntilMs = session?.lockedUntilMs ?? lockEndMs(record, work.time)
  const taken = rows.map((row): MessageRow =>
    locks
      ? {
          ...row,
          lock: hold?.lock ?? lock,
          dueMs: hold === undefined ? lockedUntilMs : undefined,
        }
      : row,
  )
  if (locks) yield* ask('change', taken)
  else {
    yield* ask(
      'remove',
      rows.map(({ id }) => id),
    )
    for (const { bytes } of rows) work.addBytes(record, -bytes)
  }
  const deliveries = taken.flatMap((row) => {
    const message = bodies.get(row.id)
    return message === undefined
      ? []
      : [{ message: { ...message, ...row }, lockedUntilMs: locks ? lockedUntilMs : undefined }]
  })
  return { kind: 'received', deliveries }
}

function isFree({ state, lock }: MessageRow): boolean {
  return state === DEFERRED && lock === undefined
}
