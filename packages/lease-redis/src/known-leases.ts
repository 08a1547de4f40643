import type { HostSession, Lease, LeaseGroupSnapshot } from '@tidemark/contracts'
import {
  leaseOf,
  parseCheckpoint,
  parseOwner,
  replyList,
  replyNumber,
  replyText,
  storedProfile,
  textMap,
  unexpected,
  type StoredCheckpoint,
  type StoredOwner,
} from './lease-replies.ts'

const FREE: StoredOwner = { epoch: 0, owner: undefined }

/** A lease as it was read last. */
interface KnownLease {
  readonly id: string
  readonly checkpointText: string
  /** Undefined: something else was written over it. It is no lease, and a count of the keys shows that it is missing. */
  readonly stored: StoredCheckpoint | undefined
  ownerText: string | undefined
  owner: StoredOwner
  target: string | undefined
  /** Undefined: to be made of the above. */
  lease: Lease | undefined
}

/**
 * The leases of a group as this process read them last, with the names that the server has for them. The server sends again only
 * what has another name by now; and of that, only texts that differ are parsed.
 */
export class KnownLeases {
  #leasesName = ''
  #targetsName = ''
  /** In the order of the ids. */
  #leases: ReadonlyMap<string, KnownLease> = new Map()

  /** As read.lua takes it. */
  get names(): readonly [string, string, string] {
    return [this.#leasesName, String(this.#leases.size), this.#targetsName]
  }

  /** The next read brings everything: what is there may have been changed by somebody who gives no names. */
  forget(): void {
    this.#leasesName = ''
    this.#targetsName = ''
  }

  /** Takes in a reply of `group_data` in prelude.lua. Undefined: it leaves out what is not known any more; read again. */
  take(reply: unknown): LeaseGroupSnapshot | undefined {
    const [generation, clock, membershipVersion, planVersion, paused, ...rest] = replyList(reply)
    const [deadlines, incarnations, profiles, beats, ...named] = rest
    const [leasesName = '', targetsName = '', owners, checkpoints, targets] = named.map(replyText)
    const isKnown =
      (checkpoints !== '' || leasesName === this.#leasesName) &&
      (targets !== '' || targetsName === this.#targetsName)
    if (!isKnown) return undefined
    if (checkpoints !== '') this.#setLeases(jsonList(checkpoints), jsonList(owners), leasesName)
    // New leases come with targets of before, which are known if they are not sent.
    if (targets !== '') this.#setTargets(jsonList(targets), targetsName)
    const hosts = sessionsOf(textMap(incarnations), textMap(deadlines), textMap(profiles))
    return {
      clockMs: replyNumber(clock),
      membershipVersion: replyNumber(membershipVersion),
      planVersion: replyNumber(planVersion),
      generation: replyText(generation),
      paused: replyNumber(paused) === 1,
      hosts,
      leases: this.#view(hosts, textMap(beats)),
    }
  }

  /** As `take`, of a reply of create.lua to these leases: a flat list of id, LSN, position and last epoch. */
  takeCreated(reply: unknown, given: readonly string[]): readonly Lease[] | undefined {
    const [changedMs, version, ...rest] = replyList(reply)
    if (version !== '') {
      const checkpoints: string[] = []
      const owners: string[] = []
      for (let at = 0; at + 3 < given.length; at += 4) {
        const [id = '', position, text, epoch] = given.slice(at, at + 4)
        checkpoints.push(id, `${position}|${replyText(changedMs)}|${replyText(version)}|${text}`)
        if (epoch !== '0') owners.push(id, `${epoch}||`)
      }
      this.#setLeases(checkpoints, owners, replyText(rest[NAME_AT]))
    }
    return this.take(rest)?.leases
  }

  #setLeases(checkpoints: readonly string[], owners: readonly string[], name: string): void {
    const before = this.#leases
    const ids: string[] = []
    const textOf = new Map<string, string>()
    for (let at = 0; at + 1 < checkpoints.length; at += 2) {
      const [id = '', text = ''] = [checkpoints[at], checkpoints[at + 1]]
      ids.push(id)
      textOf.set(id, text)
    }
    const isSameSet = ids.length === before.size && ids.every((id) => before.has(id))
    const ownerOf = new Map<string, string>()
    for (let at = 0; at + 1 < owners.length; at += 2)
      ownerOf.set(owners[at] ?? '', owners[at + 1] ?? '')
    const leases = new Map<string, KnownLease>()
    for (const id of isSameSet ? before.keys() : ids.sort()) {
      const known = before.get(id)
      const checkpointText = textOf.get(id) ?? ''
      const ownerText = ownerOf.get(id)
      if (known?.checkpointText === checkpointText && known.ownerText === ownerText) {
        leases.set(id, known)
        continue
      }
      leases.set(id, {
        id,
        checkpointText,
        stored: parseCheckpoint(id, checkpointText),
        ownerText,
        owner: ownerText === undefined ? FREE : parseOwner(ownerText),
        target: known?.target,
        lease: undefined,
      })
    }
    this.#leases = leases
    this.#leasesName = name
  }

  #setTargets(targets: readonly string[], name: string): void {
    const targetOf = new Map<string, string>()
    for (let at = 0; at + 1 < targets.length; at += 2)
      targetOf.set(targets[at] ?? '', targets[at + 1] ?? '')
    for (const known of this.#leases.values()) {
      const target = targetOf.get(known.id)
      if (known.target === target) continue
      known.target = target
      known.lease = undefined
    }
    this.#targetsName = name
  }

  #view(hosts: readonly HostSession[], beats: ReadonlyMap<string, string>): readonly Lease[] {
    const present = new Map(hosts.map(({ host, incarnation }) => [host, incarnation]))
    const beatOf = new Map([...present.keys()].map((host) => [host, replyNumber(beats.get(host))]))
    const leases: Lease[] = []
    for (const known of this.#leases.values()) {
      const { id, stored, owner, target } = known
      if (stored === undefined) continue
      const { host = '', incarnation } = owner.owner ?? {}
      const isLive = owner.owner !== undefined && present.get(host) === incarnation
      const beatMs = isLive ? (beatOf.get(host) ?? 0) : 0
      if (known.lease?.timestampMs !== Math.max(stored.changedMs, beatMs)) {
        known.lease = leaseOf(id, stored, { ...owner, target, beatMs })
      }
      leases.push(known.lease)
    }
    return leases
  }
}

/** Where the name of the leases stands in a reply of `group_data`. */
const NAME_AT = 9

function sessionsOf(
  incarnations: ReadonlyMap<string, string>,
  deadlines: ReadonlyMap<string, string>,
  profiles: ReadonlyMap<string, string>,
): readonly HostSession[] {
  return [...incarnations]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([host, incarnation]) => ({
      host,
      incarnation: decodeURIComponent(incarnation),
      profile: storedProfile(profiles.get(host)),
      deadlineMs: replyNumber(deadlines.get(host)),
    }))
}

/** A list of texts; an empty one Lua writes as an object. */
function jsonList(json = ''): readonly string[] {
  const parsed: unknown = JSON.parse(json)
  if (!Array.isArray(parsed)) return []
  if (typeof (parsed[0] ?? '') !== 'string') throw unexpected(parsed)
  return parsed as readonly string[]
}
