import { storedState, type ListedSession, type SessionLink } from '@tidemark/messaging/front'
import { NEVER_MS } from '../messages/message-fields.ts'
import type { ManagementCall } from './management-call.ts'
import { binary, int, MAX_INT, strings, timestamp } from './wire-values.ts'

/** Names of sessions in one answer, and those that are passed over at a time. */
const MAX_NAMES = 1_000

export async function renewSessionLock(call: ManagementCall): Promise<object> {
  const { untilUtcMs } = await sessionOf(call).held.renew()
  return { expiration: timestamp(untilUtcMs) }
}

/** Null clears the state, as do no bytes, which Go writes for it. The client for JavaScript writes its null as the text `null`. */
export async function setSessionState(call: ManagementCall): Promise<object> {
  const { transaction, context, fields } = call
  const { held } = sessionOf(call)
  const state = fields.optionalBinary('session-state')
  if (transaction === undefined) await held.setState(state)
  else {
    held.assertHeld()
    const { hold } = held
    transaction.add({
      kind: 'setSessionState',
      path: context.path,
      hold,
      state: storedState(state),
    })
  }
  return {}
}

export async function getSessionState(call: ManagementCall): Promise<object> {
  const state = await sessionOf(call).held.readState()
  return { 'session-state': state === undefined ? null : binary(state) }
}

/**
 * Sessions that have messages or a state, in the order of their names; with `last-updated-time`, those whose state was set
 * after it. Clients write the last time that there is for none.
 */
export async function listSessions({
  fields,
  context: { front, path },
}: ManagementCall): Promise<object | undefined> {
  const skip = fields.number('skip', { min: 0, max: MAX_INT })
  const top = fields.number('top', { min: 1, max: MAX_NAMES })
  const since = fields.optionalTime('last-updated-time') ?? NEVER_MS
  const names: string[] = []
  let left = skip
  for (let after: string | undefined = ''; after !== undefined && names.length < top;) {
    const max = since < NEVER_MS ? MAX_NAMES : Math.min(left + top - names.length, MAX_NAMES)
    const page: readonly ListedSession[] = await front.listSessions(path, after, max)
    after = page.at(-1)?.session
    const found =
      since < NEVER_MS ? page.filter(({ stateMs = -Infinity }) => stateMs > since) : page
    names.push(...found.slice(left, left + top - names.length).map(({ session }) => session))
    left = Math.max(0, left - found.length)
  }
  return names.length === 0 ? undefined : { skip: int(skip), 'sessions-ids': strings(names) }
}

function sessionOf({ fields, linkName, context }: ManagementCall): SessionLink {
  return context.heldSession(fields.text('session-id'), linkName)
}
