import type { CommandAnswers, CommandOf, Delivery } from '../message-commands.ts'
import { ask, type EntityPlace, type Procedure } from '../message-rows.ts'
import { refusesReceive } from '../rules/entity-status.ts'
import { lockEndMs } from '../rules/lock-rules.ts'
import { applyDue } from './apply-due.ts'
import { heldSession } from './held-session.ts'
import type { Work } from './work.ts'

/** Bytes of messages after which a command answers no further request. */
const MAX_BYTES = 8 * 1024 * 1024

/**
 * Gives each request up to its number of waiting messages, in the order of numbers, and locks or removes them. It listens:
 * what has expired leaves first (EXP-04, SES-06), and is not given even if another transaction has it (EXP-02).
 */
export function* receive(
  work: Work,
  place: EntityPlace,
  { hold, requests }: CommandOf<'receive'>,
): Procedure<CommandAnswers['receive']> {
  const { record } = place
  const reason = refusesReceive(record, hold === undefined ? 'noSession' : 'session')
  if (reason !== undefined) return { kind: 'refused', reason }
  const session = hold && (yield* heldSession(work, place, hold, { session: hold.session }))
  if (session !== undefined && 'kind' in session) return session
  if (hold === undefined && (yield* applyDue(work, place, 'everything')) === 'again') {
    return { kind: 'again' }
  }
  const lockedUntilMs = session?.lockedUntilMs ?? lockEndMs(record, work.time)
  const deliveries: (readonly Delivery[])[] = []
  let given = 0
  for (const request of requests) {
    if (given >= MAX_BYTES) break
    // Nothing is left for those who come later.
    if (deliveries.at(-1)?.length === 0) {
      deliveries.push([])
      continue
    }
    const locks = request.mode === 'peekLock'
    const messages = yield* ask('take', {
      entity: record.number,
      session: hold?.session,
      afterNumber: 0,
      notExpiredAtMs: record.kind === 'deadLetter' ? undefined : work.time.storeMs,
      max: request.max,
      maxBytes: request.maxBytes,
      deletes: !locks,
      lock: locks ? (hold?.lock ?? request.lock) : undefined,
      dueMs: locks && hold === undefined ? lockedUntilMs : undefined,
    })
    for (const { bytes } of messages) {
      given += bytes
      if (!locks) work.addBytes(record, -bytes)
    }
    deliveries.push(
      messages.map((message) => ({ message, lockedUntilMs: locks ? lockedUntilMs : undefined })),
    )
  }
  return { kind: 'received', deliveries }
}
