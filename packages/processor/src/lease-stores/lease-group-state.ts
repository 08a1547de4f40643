import assert from 'node:assert/strict'
import {
  parseFeedRangeId,
  type Checkpoint,
  type GroupFeed,
  type HostIdentity,
  type HostProfile,
  type Lease,
  type LeaseGroupSnapshot,
  type LeaseHint,
} from '@tidemark/contracts'

/** One host's session as it is stored. */
export interface SessionRecord extends HostIdentity {
  readonly profile: HostProfile
  /** Lease-clock ms. */
  readonly deadlineMs: number
  /** Store time of the last heartbeat, epoch ms. For people. */
  readonly beatMs: number
}

/** One lease as it is stored. Its target is part of the plan. */
export interface LeaseRecord {
  readonly id: string
  readonly owner: HostIdentity | undefined
  readonly epoch: number
  readonly checkpoint: Checkpoint
  /** Store time of the last change, epoch ms. For people. */
  readonly changedMs: number
  /** Rises with every change of the record. */
  readonly version: number
}

/** What the lease clock was moved to, and when by the store's clock. */
export interface ClockPoint {
  readonly clockMs: number
  readonly storeMs: number
}

/**
 * From where hosts count that have not told yet how much time has passed: of the last span of a cap or more, and of the one
 * before, the point from which the most has passed by now.
 */
export interface ClockAhead {
  readonly newer: ClockPoint
  readonly older: ClockPoint
  /** Store time at which the span of `newer` begins. */
  readonly sinceMs: number
}

/** All of a group but its leases and plan: what a heartbeat reads and writes. */
export interface GroupHead {
  /** The lease clock: a call of `sync` moves it by at most the cap, and never beyond the time that has passed. */
  readonly clockMs: number
  /** What others may know of the lease clock; undefined before the first `sync`, and after one of an older release. */
  readonly ahead: ClockAhead | undefined
  /** Store time of the last `sync`, epoch ms; undefined before the first. Hosts of an older release count on it. */
  readonly seenMs: number | undefined
  readonly membershipVersion: number
  readonly planVersion: number
  readonly generation: string
  /** No epoch given from now on is this or lower: the highest one that a discarded lease had. */
  readonly epochFloor: number
  readonly discardToken: string | undefined
  /** No plan names a host until the group is resumed. */
  readonly paused: boolean
  /** What the group follows; undefined = nobody has said so yet. */
  readonly feed: GroupFeed | undefined
  readonly sessions: ReadonlyMap<string, SessionRecord>
}

/** A group as plain data. */
export interface LeaseGroupState {
  readonly head: GroupHead
  readonly leases: ReadonlyMap<string, LeaseRecord>
  /** It was given leases, which were not given up since: if there are none, somebody took them away. */
  readonly wasGivenLeases: boolean
  /** The plan: lease id to host. */
  readonly targets: ReadonlyMap<string, string>
}

/** What an operation changes. What is absent stays as it is. */
export interface LeaseGroupChanges {
  readonly head?: GroupHead
  /** Records to write, by id. */
  readonly leases?: ReadonlyMap<string, LeaseRecord>
  /** All leases go, before `leases` are written. */
  readonly deleteLeases?: true
  /** These leases go, before `leases` are written. */
  readonly removeLeases?: readonly string[]
  /** The whole new plan. */
  readonly targets?: ReadonlyMap<string, string>
  readonly hints?: readonly LeaseHint[]
}

/** An operation's effect and answer. */
export interface LeaseGroupStep<Reply> {
  readonly changes: LeaseGroupChanges
  readonly reply: Reply
}

/** The head of a group that nobody has used yet. */
export function newGroupHead(generation: string): GroupHead {
  return {
    clockMs: 0,
    ahead: undefined,
    seenMs: undefined,
    membershipVersion: 0,
    planVersion: 0,
    generation,
    epochFloor: 0,
    discardToken: undefined,
    paused: false,
    feed: undefined,
    sessions: new Map(),
  }
}

export function newGroupState(generation: string): LeaseGroupState {
  const head = newGroupHead(generation)
  return { head, leases: new Map(), wasGivenLeases: false, targets: new Map() }
}

/** The state after the changes. Copies what changes and nothing else. */
export function applyChanges(
  state: LeaseGroupState,
  { head, leases, deleteLeases, removeLeases = [], targets }: LeaseGroupChanges,
): LeaseGroupState {
  let after = deleteLeases === true ? new Map<string, LeaseRecord>() : state.leases
  if (removeLeases.length > 0) {
    const removed = new Set(removeLeases)
    after = new Map([...after].filter(([id]) => !removed.has(id)))
  }
  if (leases !== undefined) after = new Map([...after, ...leases])
  const keptLeases = deleteLeases !== true && state.wasGivenLeases
  return {
    head: head ?? state.head,
    leases: after,
    wasGivenLeases: keptLeases || (leases !== undefined && leases.size > 0),
    targets: targets ?? state.targets,
  }
}

/** Whether this incarnation's session is the host's present one. Says nothing about its deadline. */
export function hasSession(head: GroupHead, { host, incarnation }: HostIdentity): boolean {
  return head.sessions.get(host)?.incarnation === incarnation
}

export function sameIdentity(a: HostIdentity | undefined, b: HostIdentity): boolean {
  return a?.host === b.host && a.incarnation === b.incarnation
}

/** A lease as callers see it. */
export function leaseView(state: LeaseGroupState, record: LeaseRecord): Lease {
  const range = parseFeedRangeId(record.id)
  assert(range !== undefined, `lease id ${record.id} is not a range`)
  const target = state.targets.get(record.id)
  const { owner } = record
  const beatMs =
    owner !== undefined && hasSession(state.head, owner)
      ? (state.head.sessions.get(owner.host)?.beatMs ?? 0)
      : 0
  return {
    id: record.id,
    range,
    owner: owner && { host: owner.host, incarnation: owner.incarnation },
    epoch: record.epoch,
    checkpoint: record.checkpoint,
    target,
    timestampMs: Math.max(record.changedMs, beatMs),
    etag: leaseEtag(record.version, target),
  }
}

/** A lease's etag changes with its record and with its target, which is kept apart from it. */
export function leaseEtag(version: number, target: string | undefined): string {
  return target === undefined ? `"${version}"` : `"${version}-${encodeURIComponent(target)}"`
}

/** All leases of a group, by id. */
export function leaseViews(state: LeaseGroupState): readonly Lease[] {
  return [...state.leases.values()]
    .sort((a, b) => (a.id < b.id ? -1 : 1))
    .map((record) => leaseView(state, record))
}

/** What `LeaseGroup.read` answers. */
export function readGroup(state: LeaseGroupState): LeaseGroupSnapshot {
  const { clockMs, membershipVersion, planVersion, generation, paused, feed, sessions } = state.head
  const hosts = [...sessions.values()]
    .sort((a, b) => (a.host < b.host ? -1 : 1))
    .map(({ host, incarnation, profile, deadlineMs }) => ({
      host,
      incarnation,
      profile,
      deadlineMs,
    }))
  const leases = leaseViews(state)
  const isEmptied = state.wasGivenLeases && leases.length === 0
  return {
    clockMs,
    membershipVersion,
    planVersion,
    generation,
    paused,
    ...(feed === undefined ? {} : { feed }),
    ...(isEmptied ? { isEmptied } : {}),
    hosts,
    leases,
  }
}
