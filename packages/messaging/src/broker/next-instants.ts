import type { EntityLook, SessionLook } from '@tidemark/store/messages'

/** What a listening watches, as it last looked. */
export interface Looks {
  readonly own: EntityLook
  /** Of the sessions that are held here. */
  readonly sessions: readonly SessionLook[]
  /** The topic of a subscription, and those that forward to the entity: what comes to it is in them first. */
  readonly sources: readonly EntityLook[]
  /** The owner of a dead-letter queue: the end of a lock may bring a message here. */
  readonly owner: EntityLook | undefined
}

/** When something happens by itself. */
export interface NextInstants {
  /** The end of a lock, by the lock clock. */
  readonly lockMs: number | undefined
  /** A schedule or an expiry, by the store's clock. */
  readonly storeMs: number | undefined
}

/** `everything`: whatever expires has to leave. Otherwise only messages of the sessions that are held here. */
export function nextInstants(
  { own, sessions, sources, owner }: Looks,
  listened: 'everything' | 'sessions',
): NextInstants {
  const expiring = listened === 'everything' ? [own] : sessions
  return {
    lockMs: earliest([own.lockEndMs, owner?.lockEndMs]),
    storeMs: earliest([
      ...[own, ...sources].map(({ scheduledMs }) => scheduledMs),
      ...expiring.map(({ expiresMs }) => expiresMs),
    ]),
  }
}

export function earliest(instants: readonly (number | undefined)[]): number | undefined {
  let first: number | undefined
  for (const instant of instants) {
    if (instant !== undefined && instant < (first ?? Infinity)) first = instant
  }
  return first
}
