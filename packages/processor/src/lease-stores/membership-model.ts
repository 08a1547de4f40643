import { DIGEST_MODULUS, type HeldDigest, type HostIdentity } from '@tidemark/contracts'
import type { HostProfile, PlanRequest, SyncReply, SyncRequest } from '@tidemark/contracts'
import {
  sameIdentity,
  type ClockAhead,
  type ClockPoint,
  type GroupHead,
  type LeaseGroupState,
  type LeaseGroupStep,
  type LeaseRecord,
  type SessionRecord,
} from './lease-group-state.ts'
import { leaseSetDamage, rangesOf } from './lease-set-damage.ts'

/** A `sync`, and what its store knows of itself. */
export type SyncOfStore = SyncRequest & {
  /** Its time may be so much behind the true one, ms. @default 0 */
  readonly storeErrorMs?: number | undefined
}

/**
 * `LeaseGroup.sync`: moves the lease clock on, drops sessions that expired or whose process is gone, then joins, renews or leaves.
 *
 * `leases` is needed only when the request carries a digest.
 */
export function syncGroup(
  { head, leases }: Pick<LeaseGroupState, 'head' | 'leases'>,
  request: SyncOfStore,
  storeTimeUs: number,
): LeaseGroupStep<SyncReply> {
  const nowMs = Math.floor(storeTimeUs / 1000)
  const { clockMs, latestMs, ahead } = passTime(head, request, nowMs)
  const sessions = new Map<string, SessionRecord>()
  for (const [host, session] of head.sessions) {
    const isGone = request.gone?.some((one) => sameIdentity(one, session)) ?? false
    if (session.deadlineMs > clockMs && !isGone) sessions.set(host, session)
  }
  const dropped = sessions.size < head.sessions.size
  const renewed = renew(sessions, request, { latestMs, nowMs })
  const changed = dropped || renewed === 'changed'
  const after: GroupHead = {
    ...head,
    clockMs,
    ahead,
    seenMs: nowMs,
    membershipVersion: head.membershipVersion + (changed ? 1 : 0),
    sessions,
  }
  const changes = { head: after, hints: changed ? (['membership'] as const) : [] }
  if (renewed === 'fenced') {
    return { changes, reply: { kind: 'fenced', generation: head.generation } }
  }
  return {
    changes,
    reply: {
      kind: 'ok',
      clockMs,
      storeMs: nowMs,
      membershipVersion: after.membershipVersion,
      planVersion: after.planVersion,
      generation: after.generation,
      nextDeadlineInMs: nextDeadlineInMs(after, request.host),
      heldMatches:
        request.held === undefined ||
        (digestsEqual(request.held, digestOf(leases, request)) && coversKeys(leases, request)),
    },
  }
}

/**
 * `LeaseGroup.plan`. The versions make it a compare-and-set: of the hosts that plan for one
 * membership, the first wins.
 */
export function planGroup(
  { head, leases }: Pick<LeaseGroupState, 'head' | 'leases'>,
  request: PlanRequest,
): LeaseGroupStep<boolean> {
  const { membershipVersion } = head
  const isCurrent = head.planVersion >= membershipVersion
  if (request.membershipVersion !== membershipVersion || (isCurrent && !request.rebalances)) {
    return { changes: {}, reply: false }
  }
  // A plan for the present membership is followed: a newer one is for a newer membership.
  const planVersion = membershipVersion + (isCurrent ? 1 : 0)
  const wanted = head.paused ? [] : [...request.targets]
  const targets = new Map(wanted.filter(([leaseId]) => leases.has(leaseId)))
  return {
    changes: {
      head: { ...head, membershipVersion: planVersion, planVersion },
      targets,
      hints: ['plan'],
    },
    reply: true,
  }
}

/** `LeaseGroup.setPaused`. Everybody has to plan again. */
export function setGroupPaused(
  { head }: Pick<LeaseGroupState, 'head'>,
  paused: boolean,
): LeaseGroupStep<boolean> {
  if (head.paused === paused) return { changes: {}, reply: false }
  const after = { ...head, paused, membershipVersion: head.membershipVersion + 1 }
  return { changes: { head: after, hints: ['membership'] }, reply: true }
}

/** The sums over what the store attributes to a host, as its own digest has them. */
export function digestOf(
  leases: ReadonlyMap<string, LeaseRecord>,
  identity: HostIdentity,
): HeldDigest {
  let count = 0
  let epochSum = 0
  let lsnSum = 0
  for (const { owner, epoch, checkpoint } of leases.values()) {
    if (!sameIdentity(owner, identity)) continue
    count += 1
    epochSum = (epochSum + (epoch % DIGEST_MODULUS)) % DIGEST_MODULUS
    lsnSum = (lsnSum + (checkpoint.lsn % DIGEST_MODULUS)) % DIGEST_MODULUS
  }
  return { count, epochSum, lsnSum }
}

/** A time of the store and one of a host are cut to whole ms each. */
const ROUNDING_MS = 2

interface LeaseTime {
  /** The lease clock: what has passed at least. */
  readonly clockMs: number
  /** What some host may prove to have passed: sessions last from here. */
  readonly latestMs: number
  readonly ahead: ClockAhead
}

/**
 * The lease clock moves by what the caller saw pass on its own clock, and by nothing else: no clock that is set, or stands
 * still, ends a session too early or never. A store that was down or paused expires nobody, for what a host saw counts up to
 * the cap.
 *
 * Other hosts may have seen more than has been told yet, by a cap at most. How much, the store's clock says, as long as no host has
 * seen more time pass than it has; to whoever can compare it with a clock of his own.
 */
function passTime(
  { clockMs: beforeMs, ahead, seenMs, sessions }: GroupHead,
  { host, incarnation, observed, clockCapMs, storeErrorMs = 0 }: SyncOfStore,
  nowMs: number,
): LeaseTime {
  // Of a heartbeat that the store has lost, its points tell nothing: sessions would end too early by what it proves.
  const last = sessions.get(host)
  const isKept = last?.incarnation === incarnation && last.beatMs === observed?.storeMs
  const seen = isKept ? observed : undefined
  const provenMs = seen === undefined ? 0 : seen.clockMs + Math.min(seen.elapsedMs, clockCapMs)
  const clockMs = Math.max(beforeMs, provenMs)
  const here: ClockPoint = { clockMs, storeMs: nowMs }
  if (seenMs === undefined) {
    return { clockMs, latestMs: clockMs, ahead: { newer: here, older: here, sinceMs: nowMs } }
  }
  // For the time since its own last answer. Who joins knows nothing of the points of before, so they start over with it.
  const slackMs = ROUNDING_MS + storeErrorMs
  const vouches = seen !== undefined && nowMs - seen.storeMs >= seen.elapsedMs - slackMs
  const unknownMs = clockMs + clockCapMs
  if (ahead === undefined || nowMs < ahead.newer.storeMs || !vouches) {
    const older = { clockMs: unknownMs, storeMs: nowMs }
    return { clockMs, latestMs: unknownMs, ahead: { newer: here, older, sinceMs: nowMs } }
  }
  const reached = ({ clockMs: fromMs, storeMs }: ClockPoint): number => fromMs + nowMs - storeMs
  const { newer, older, sinceMs } = ahead
  const reachedMs = Math.max(clockMs, reached(newer), reached(older))
  const latestMs = Math.min(reachedMs, unknownMs)
  if (clockMs === beforeMs) return { clockMs, latestMs, ahead }
  if (nowMs - sinceMs >= clockCapMs) {
    return { clockMs, latestMs, ahead: { newer: here, older: newer, sinceMs: nowMs } }
  }
  const isFarther = clockMs >= reached(newer)
  return { clockMs, latestMs, ahead: isFarther ? { ...ahead, newer: here } : ahead }
}

/** Applies the intent to the sessions that are left. */
function renew(
  sessions: Map<string, SessionRecord>,
  { host, incarnation, intent, profile, ttlMs, storeErrorMs = 0 }: SyncOfStore,
  { latestMs, nowMs }: { latestMs: number; nowMs: number },
): 'unchanged' | 'changed' | 'fenced' {
  const present = sessions.get(host)
  const mine = present?.incarnation === incarnation
  if (intent === 'leave') {
    // Without any session of this name the host has left already: leaving may be repeated.
    if (present === undefined) return 'unchanged'
    if (!mine) return 'fenced'
    sessions.delete(host)
    return 'changed'
  }
  if (intent === 'beat' && !mine) return 'fenced'
  // A session that looks older than it is must not end before its host's own deadline.
  const deadlineMs = latestMs + ttlMs + storeErrorMs
  sessions.set(host, { host, incarnation, profile, deadlineMs, beatMs: nowMs })
  return mine && profilesEqual(present.profile, profile) ? 'unchanged' : 'changed'
}

function nextDeadlineInMs({ sessions, clockMs }: GroupHead, host: string): number | undefined {
  let earliest: number | undefined
  for (const session of sessions.values()) {
    if (session.host === host) continue
    earliest = Math.min(earliest ?? Infinity, session.deadlineMs - clockMs)
  }
  return earliest
}

/** Loads change all the time: they are for the next plan, and no reason for one. */
function profilesEqual(a: HostProfile, b: HostProfile): boolean {
  return (
    a.weight === b.weight &&
    a.minLeases === b.minLeases &&
    a.maxLeases === b.maxLeases &&
    a.leaving === b.leaving &&
    (a.standby ?? false) === (b.standby ?? false) &&
    (a.refuses ?? []).join() === (b.refuses ?? []).join() &&
    (a.leasesPerRange ?? 1) === (b.leasesPerRange ?? 1) &&
    a.presence === b.presence &&
    (a.balanceBy ?? 'count') === (b.balanceBy ?? 'count')
  )
}

function coversKeys(
  leases: ReadonlyMap<string, LeaseRecord>,
  { keys }: Pick<SyncRequest, 'keys'>,
): boolean {
  return keys === undefined || leaseSetDamage(rangesOf(leases.keys()), keys) === undefined
}

function digestsEqual(a: HeldDigest, b: HeldDigest): boolean {
  return a.count === b.count && a.epochSum === b.epochSum && a.lsnSum === b.lsnSum
}
