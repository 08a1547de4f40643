import { expect, test } from 'vitest'
import fc from 'fast-check'
import type { AnnouncedPresence, HostSession } from '@tidemark/contracts'
import { PeerWatch } from './peer-watch.ts'
import { watchedPeers } from './watched-peers.ts'

function session(host: string, presence?: string): HostSession {
  const profile = { weight: 1, minLeases: 0, maxLeases: 100, leaving: false, presence }
  return { host, incarnation: `${host}1`, profile, deadlineMs: 0 }
}

function names(hosts: readonly HostSession[], host: string, presence = `here/${host}`): string[] {
  return watchedPeers(hosts, { host, presence }).map((peer) => peer.host)
}

test('LE-16 a host watches the next three that it can see, in a ring', () => {
  const hosts = ['e', 'a', 'c', 'b', 'd'].map((host) => session(host, `here/${host}`))
  expect(names(hosts, 'a')).toEqual(['b', 'c', 'd'])
  expect(names(hosts, 'd')).toEqual(['e', 'a', 'b'])
  expect(names([session('a', 'here/a')], 'a')).toEqual([])
})

test('LE-16 hosts without a presence, of another place and of the own name are not watched', () => {
  const hosts = [
    session('a', 'here/old'),
    session('b'),
    session('c', 'elsewhere/c'),
    session('d', 'here'),
    session('e', 'here/e'),
  ]
  expect(names(hosts, 'a')).toEqual(['e'])
})

test('LE-16 whichever of a group die at once, those that live find all of them', () => {
  fc.assert(
    fc.property(
      fc.uniqueArray(fc.tuple(fc.string({ maxLength: 3 }), fc.boolean()), {
        selector: ([host]) => host,
        maxLength: 12,
      }),
      (group) => {
        let known = group.map(([host]) => session(host, `here/${host}`))
        const living = group.filter(([, lives]) => lives).map(([host]) => host)
        for (;;) {
          const seen = new Set(living.flatMap((host) => names(known, host)))
          const left = known.filter(({ host }) => living.includes(host) || !seen.has(host))
          if (left.length === known.length) break
          known = left
        }
        if (living.length > 0) expect(known.map(({ host }) => host)).toEqual(living)
      },
    ),
    { seed: 16, numRuns: 300 },
  )
})

class SeenPresence implements AnnouncedPresence {
  readonly id = 'here/a'
  readonly watches = new Map<string, () => void>()
  begun = 0

  watch(id: string, onGone: () => void): () => void {
    this.begun += 1
    this.watches.set(id, onGone)
    return () => this.watches.delete(id)
  }

  close(): Promise<void> {
    return Promise.resolve()
  }
}

test('LE-16 each host is watched once as long as it is named, and anew in another session', () => {
  const presence = new SeenPresence()
  const gone: object[] = []
  const watch = new PeerWatch(presence, (peer) => gone.push(peer))
  const b = { host: 'b', incarnation: 'b1', presence: 'here/b' }
  const c = { host: 'c', incarnation: 'c1', presence: 'here/c' }
  watch.follow([b, c])
  watch.follow([c, b])
  expect(presence.begun).toBe(2)
  watch.follow([b])
  expect([...presence.watches.keys()]).toEqual(['here/b'])
  presence.watches.get('here/b')?.()
  expect(gone).toEqual([{ host: 'b', incarnation: 'b1' }])
  watch.follow([{ ...b, incarnation: 'b1.1' }])
  presence.watches.get('here/b')?.()
  expect(gone[1]).toEqual({ host: 'b', incarnation: 'b1.1' })
  watch.follow([])
  expect(presence.watches.size).toBe(0)
})
