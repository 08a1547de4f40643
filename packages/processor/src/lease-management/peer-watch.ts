import type { AnnouncedPresence, HostIdentity } from '@tidemark/contracts'
import type { WatchedPeer } from './watched-peers.ts'

/** Watches hosts for their death, each from when it is named first until it is not named any more. */
export class PeerWatch {
  readonly #presence: AnnouncedPresence
  readonly #onGone: (peer: HostIdentity) => void
  /** How to stop, by incarnation and presence: a host that began another session is watched anew. */
  readonly #stops = new Map<string, () => void>()

  constructor(presence: AnnouncedPresence, onGone: (peer: HostIdentity) => void) {
    this.#presence = presence
    this.#onGone = onGone
  }

  follow(peers: readonly WatchedPeer[]): void {
    const named = new Map(peers.map((peer) => [`${peer.incarnation} ${peer.presence}`, peer]))
    for (const [key, stop] of this.#stops) {
      if (named.has(key)) continue
      stop()
      this.#stops.delete(key)
    }
    for (const [key, { host, incarnation, presence }] of named) {
      if (this.#stops.has(key)) continue
      const stop = this.#presence.watch(presence, () => this.#onGone({ host, incarnation }))
      this.#stops.set(key, stop)
    }
  }
}
