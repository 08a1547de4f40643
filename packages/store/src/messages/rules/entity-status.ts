import type { EntityRecord } from '../entities.ts'
import type { RefusalReason } from '../message-commands.ts'

/** Why nobody can send to this entity now. A disabled topic refuses for its subscriptions, which still get copies. */
export function refusesSend({ kind, settings }: EntityRecord): RefusalReason | undefined {
  if (kind === 'deadLetter' || kind === 'subscription') return 'notAllowed'
  return settings.status === 'Disabled' || settings.status === 'SendDisabled'
    ? 'disabled'
    : undefined
}

/**
 * Why nobody can receive from this entity now (SET-13, SES-14). A dead-letter queue has no status of its own: what is in
 * it can be looked after while its owner is disabled.
 */
export function refusesReceive(
  { kind, settings }: EntityRecord,
  use: 'session' | 'noSession',
): RefusalReason | undefined {
  if (kind === 'topic' || settings.forwardTo !== undefined) return 'notAllowed'
  if (settings.status === 'Disabled' || settings.status === 'ReceiveDisabled') return 'disabled'
  return refusesUse(settings.requiresSession, use)
}

function refusesUse(
  requiresSession: boolean,
  use: 'session' | 'noSession',
): RefusalReason | undefined {
  return requiresSession === (use === 'session') ? undefined : 'otherSessionUse'
}
