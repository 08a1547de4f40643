import type { SessionLink } from '@tidemark/messaging/front'
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
  await sessionOf(call).held.setState(call.fields.optionalBinary('session-state'))
  return {}
}

export async function getSessionState(call: ManagementCall): Promise<object> {
  const state = await sessionOf(call).held.readState()
  return { 'session-state': state === undefined ? null : binary(state) }
}

/**
 * Sessions that have messages or a state, in the order of their names, whatever `last-updated-time` says: the broker does not
 * keep when messages came to a session.
 */
export async function listSessions({
  fields,
  context,
}: ManagementCall): Promise<object | undefined> {
  const skip = fields.number('skip', { min: 0, max: MAX_INT })
  const top = fields.number('top', { min: 1, max: MAX_NAMES })
  const { front, path } = context
  let after = ''
  for (let left = skip; left > 0;) {
    const passed = await front.listSessions(path, after, Math.min(left, MAX_NAMES))
    const last = passed.at(-1)
    if (last === undefined) return undefined
    after = last
    left -= passed.length
  }
  const names = await front.listSessions(path, after, top)
  return names.length === 0 ? undefined : { skip: int(skip), 'sessions-ids': strings(names) }
}

function sessionOf({ fields, linkName, context }: ManagementCall): SessionLink {
  return context.heldSession(fields.text('session-id'), linkName)
}
