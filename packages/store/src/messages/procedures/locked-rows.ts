import { parseLockToken } from '../lock-token.ts'
import {
  ask,
  type EntityPlace,
  type MessageRow,
  type Procedure,
  type SessionRow,
} from '../message-rows.ts'
import { holdsMessage, holdsSession } from '../rules/lock-rules.ts'
import { rowsAfterDue } from './rows-after-due.ts'
import type { Work } from './work.ts'

type Lost = 'lockLost' | 'sessionLockLost'

/**
 * The rows under these lock tokens, for update, in the order of the tokens. A token whose lock has ended, or that is none,
 * gives why. `again`: a piece of what was due was applied first.
 */
export function* lockedRows(
  work: Work,
  place: EntityPlace,
  tokens: readonly string[],
): Procedure<readonly (MessageRow | Lost)[] | 'again'> {
  const { number, settings } = place.record
  const parsed = tokens.map(parseLockToken)
  const ids = [...new Set(parsed.flatMap((token) => (token === undefined ? [] : [token.id])))].sort(
    (a, b) => a - b,
  )
  const sessions = new Map<string, SessionRow>()
  for (const name of settings.requiresSession ? yield* ask('sessionsOf', ids) : []) {
    sessions.set(name, yield* work.session(number, name))
  }
  const held = yield* rowsAfterDue(work, place, () => ask('rowsById', ids))
  if (held === 'again') return 'again'
  for (const name of sessions.keys()) sessions.set(name, yield* work.session(number, name))
  // Another transaction was carrying out an expiry until now.
  for (const { expiredThrough } of sessions.values()) if (expiredThrough > 0) return 'again'
  const rows = new Map<number, MessageRow>()
  for (const row of held) if (row.entity === number) rows.set(row.id, row)
  return parsed.map((token) => {
    const row = token && rows.get(token.id)
    if (token === undefined || row === undefined) return 'lockLost'
    return settings.requiresSession
      ? inSession(work, row, token.lock, sessions)
      : outsideSessions(work, row, token.lock)
  })
}

function outsideSessions({ time }: Work, row: MessageRow, lock: string): MessageRow | Lost {
  return holdsMessage(row, lock, time.lockMs) ? row : 'lockLost'
}

/** The session's lock decides; a message that was given back while it is held has only lost its own. */
function inSession(
  { time }: Work,
  row: MessageRow,
  lock: string,
  sessions: ReadonlyMap<string, SessionRow>,
): MessageRow | Lost {
  const session = sessions.get(row.session ?? '')
  if (session === undefined || !holdsSession(session, lock, time.lockMs)) return 'sessionLockLost'
  return row.lock === lock ? row : 'lockLost'
}
