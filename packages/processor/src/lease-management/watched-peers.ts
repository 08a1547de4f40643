import type { HostIdentity, HostSession } from '@tidemark/contracts'

/** A host whose death this host would see. */
export interface WatchedPeer extends HostIdentity {
  readonly presence: string
}

/** So that each host is watched by as many others, and watching costs each the same in a group of any size. */
const WATCHED = 3

/**
 * The hosts that this one watches: those that follow it in a ring, by name, of all that can see one another. When they are dropped,
 * the next ones follow, so that any number of deaths at once is found as long as one of the ring lives.
 */
export function watchedPeers(
  hosts: readonly HostSession[],
  own: { readonly host: string; readonly presence: string },
): readonly WatchedPeer[] {
  const place = placeOf(own.presence)
  const ring = hosts
    .flatMap(({ host, incarnation, profile: { presence } }): readonly WatchedPeer[] => {
      const isPeer = host !== own.host && presence !== undefined && placeOf(presence) === place
      return isPeer ? [{ host, incarnation, presence }] : []
    })
    .sort((a, b) => (a.host < b.host ? -1 : 1))
  const after = ring.filter(({ host }) => host > own.host)
  const before = ring.filter(({ host }) => host < own.host)
  return [...after, ...before].slice(0, WATCHED)
}

/** See `AnnouncedPresence.id`. */
function placeOf(presence: string): string {
  return presence.slice(0, presence.indexOf('/') + 1)
}
