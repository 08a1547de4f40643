import assert from 'node:assert/strict'
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
  while (deliveries.length < requests.length && given < MAX_BYTES) {
    const together = togetherFrom(requests, deliveries.length)
    const [{ mode, max, maxBytes }] = together
    const locks = mode === 'peekLock'
    const messages = yield* ask('take', {
      entity: record.number,
      session: hold?.session,
      afterNumber: 0,
      notExpiredAtMs: record.kind === 'deadLetter' ? undefined : work.time.storeMs,
      max: max * together.length,
      maxBytes: together.length > 1 ? MAX_BYTES - given : maxBytes,
      deletes: !locks,
      locks: locks ? together.map(({ lock }) => hold?.lock ?? lock) : [],
      dueMs: locks && hold === undefined ? lockedUntilMs : undefined,
    })
    for (const { bytes } of messages) {
      given += bytes
      if (!locks) work.addBytes(record, -bytes)
    }
    const taken = messages.map((message): Delivery => ({
      message,
      lockedUntilMs: locks ? lockedUntilMs : undefined,
    }))
    if (together.length > 1) deliveries.push(...taken.map((delivery) => [delivery]))
    else deliveries.push(taken)
    if (taken.length > 0) continue
    // Nothing is left for those who come later.
    while (deliveries.length < requests.length) deliveries.push([])
  }
  return { kind: 'received', deliveries }
}

type Requests = CommandOf<'receive'>['requests']

/** The next request; with those behind it if each wants one message: many callers with single calls cost one statement. */
function togetherFrom(requests: Requests, from: number): [Requests[number], ...Requests] {
  const [first, ...later] = requests.slice(from)
  assert(first !== undefined, 'a request is left')
  if (first.max > 1) return [first]
  const end = later.findIndex(({ mode, max }) => mode !== first.mode || max > 1)
  return [first, ...(end === -1 ? later : later.slice(0, end))]
}
