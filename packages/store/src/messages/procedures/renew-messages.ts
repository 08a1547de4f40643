import type { CommandAnswers, CommandOf } from '../message-commands.ts'
import { ask, type EntityPlace, type MessageRow, type Procedure } from '../message-rows.ts'
import { lockEndMs } from '../rules/lock-rules.ts'
import { lockedRows } from './locked-rows.ts'
import type { Work } from './work.ts'

/** Renews the locks of messages (SET-07), of expired ones too (EXP-08). In a session it is the session's lock. */
export function* renewMessages(
  work: Work,
  place: EntityPlace,
  { tokens }: CommandOf<'renew'>,
): Procedure<CommandAnswers['renew']> {
  const { record } = place
  if (record.kind === 'topic') return { kind: 'refused', reason: 'notAllowed' }
  const locked = yield* lockedRows(work, place, tokens)
  if (locked === 'again') return { kind: 'again' }
  const untilMs = lockEndMs(record, work.time)
  const renewed = new Map<number, MessageRow>()
  for (const row of locked) {
    if (typeof row === 'object') renewed.set(row.id, { ...row, dueMs: untilMs })
  }
  if (record.settings.requiresSession) {
    for (const name of new Set([...renewed.values()].map(({ session }) => session ?? ''))) {
      const session = yield* work.session(record.number, name)
      yield* work.changeSession({ ...session, lockedUntilMs: untilMs })
    }
  } else if (renewed.size > 0) yield* ask('change', [...renewed.values()])
  return {
    kind: 'renewed',
    lockedUntilMs: locked.map((row) => (typeof row === 'object' ? untilMs : row)),
  }
}
