import type { HostIdentity, HostSession, Lease, LeaseGroupSnapshot } from '@tidemark/contracts'
import {
  leaseOf,
  parseCheckpoint,
  parseFeed,
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

/** A lease as it was read last. Changed in place, since there may be many thousands. */
class KnownLease {
  readonly id: string
  /** The number of the answer that had it last; and that had an owner of it. */
  answer = 0
  ownerAnswer = 0
  #checkpointText = ''
  #ownerText = ''
  #target: string | undefined
  /** Undefined: something else was written over it. It is no lease, and a count of the keys shows that it is missing. */
  #stored: StoredCheckpoint | undefined
  #owner: StoredOwner = FREE
  #lease: Lease | undefined

  constructor(id: string) {
    this.id = id
  }

  setCheckpoint(text: string): void {
    if (text === this.#checkpointText) return
    this.#checkpointText = text
    this.#stored = parseCheckpoint(this.id, text)
    this.#lease = undefined
  }

  /** '' = it never had one. */
  setOwner(text: string): void {
    if (text === this.#ownerText) return
    this.#ownerText = text
    this.#owner = text === '' ? FREE : parseOwner(text)
    this.#lease = undefined
  }

  setTarget(target: string | undefined): void {
    if (target === this.#target) return
    this.#target = target
    this.#lease = undefined
  }

  lease(beatMsOf: (owner: HostIdentity) => number): Lease | undefined {
    if (this.#stored === undefined) return undefined
    const { owner } = this.#owner
    const beatMs = owner === undefined ? 0 : beatMsOf(owner)
    if (this.#lease?.timestampMs !== Math.max(this.#stored.changedMs, beatMs)) {
      const known = { ...this.#owner, target: this.#target, beatMs }
      this.#lease = leaseOf(this.id, this.#stored, known)
    }
    return this.#lease
  }
}

/**
 * The leases of a group as this process read them last, with the names that the server has for them. The server sends again only
 * what has another name by now; and of that, only texts that differ are parsed.
 */
export class KnownLeases {
  #leasesName = ''
  #targetsName = ''
  /** In the order of the ids. */
  #leases = new Map<string, KnownLease>()
  #answers = 0

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
    const [leasesName = '', targetsName = '', ...texts] = named.map(replyText)
    const [owners, checkpoints, targets, feedText, given] = texts
    const isKnown =
      (checkpoints !== '' || leasesName === this.#leasesName) &&
      (targets !== '' || targetsName === this.#targetsName)
    if (!isKnown) return undefined
    if (checkpoints !== '') {
      const areOthers = this.#setLeases(jsonList(checkpoints), jsonList(owners), leasesName)
      // Targets that are known are of the leases that were.
      if (areOthers && targets === '') return undefined
    }
    if (targets !== '') this.#setTargets(jsonList(targets), targetsName)
    const hosts = sessionsOf(textMap(incarnations), textMap(deadlines), textMap(profiles))
    const leases = this.#view(hosts, textMap(beats))
    const feed = parseFeed(feedText)
    return {
      clockMs: replyNumber(clock),
      membershipVersion: replyNumber(membershipVersion),
      planVersion: replyNumber(planVersion),
      generation: replyText(generation),
      paused: replyNumber(paused) === 1,
      ...(feed === undefined ? {} : { feed }),
      ...(given === '1' && leases.length === 0 ? { isEmptied: true } : {}),
      hosts,
      leases,
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

  /** Returns whether they are others than before, by their ids. */
  #setLeases(checkpoints: readonly string[], owners: readonly string[], name: string): boolean {
    this.#answers += 1
    let areKnown = this.#leases.size * 2 === checkpoints.length
    for (let at = 0; at + 1 < checkpoints.length; at += 2) {
      const known = this.#leases.get(checkpoints[at] ?? '')
      const lease = known ?? new KnownLease(checkpoints[at] ?? '')
      if (known === undefined) {
        areKnown = false
        this.#leases.set(lease.id, lease)
      }
      lease.setCheckpoint(checkpoints[at + 1] ?? '')
      lease.answer = this.#answers
    }
    for (let at = 0; at + 1 < owners.length; at += 2) {
      const lease = this.#leases.get(owners[at] ?? '')
      if (lease === undefined) continue
      lease.setOwner(owners[at + 1] ?? '')
      lease.ownerAnswer = this.#answers
    }
    for (const lease of this.#leases.values()) {
      if (lease.ownerAnswer !== this.#answers) lease.setOwner('')
    }
    if (!areKnown) {
      const present = [...this.#leases].filter(([, { answer }]) => answer === this.#answers)
      this.#leases = new Map(present.sort(([a], [b]) => (a < b ? -1 : 1)))
    }
    this.#leasesName = name
    return !areKnown
  }

  #setTargets(targets: readonly string[], name: string): void {
    const targetOf = new Map<string, string>()
    for (let at = 0; at + 1 < targets.length; at += 2) {
      targetOf.set(targets[at] ?? '', targets[at + 1] ?? '')
    }
    for (const lease of this.#leases.values()) lease.setTarget(targetOf.get(lease.id))
    this.#targetsName = name
  }

  #view(hosts: readonly HostSession[], beats: ReadonlyMap<string, string>): readonly Lease[] {
    const sessions = new Map(
      hosts.map(({ host, incarnation }) => {
        return [host, { incarnation, beatMs: replyNumber(beats.get(host)) }]
      }),
    )
    const beatMsOf = ({ host, incarnation }: HostIdentity): number => {
      const session = sessions.get(host)
      return session?.incarnation === incarnation ? session.beatMs : 0
    }
    return [...this.#leases.values()].flatMap((lease) => lease.lease(beatMsOf) ?? [])
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
