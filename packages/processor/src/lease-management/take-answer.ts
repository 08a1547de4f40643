import {
  GroupOfOtherFeedError,
  HostReplacedError,
  LeasesVanishedError,
  type AcquiredLease,
  type HeldLease,
  type LeaseGroupSnapshot,
  type SyncReply,
} from '@tidemark/contracts'
import { assertNever } from '@tidemark/contracts/internal'
import { damageText, leaseSetDamage } from '../lease-stores/lease-set-damage.ts'
import { planSnapshot } from '../load-balancing/plan-snapshot.ts'
import type { SettledCall } from './call-slots.ts'
import type { CoreState } from './core-state.ts'
import type { LeaseReply } from './lease-protocol.ts'
import { watchedPeers } from './watched-peers.ts'

interface AnswerTime {
  readonly nowMs: number
  /** Random number in [0, 1). */
  readonly jitter: number
}

/** Takes in what the lease store answered to a call. */
export function takeAnswer(
  core: CoreState,
  settled: SettledCall,
  answer: LeaseReply,
  at: AnswerTime,
): void {
  const { call, callId } = settled
  switch (answer.op) {
    case 'sync':
      synced(core, settled, answer.reply, at)
      return
    case 'read':
      readDone(core, settled, answer.reply, at)
      return
    case 'plan':
      planned(core, answer.reply, at.nowMs)
      return
    case 'acquire':
      for (const acquired of answer.reply) adopt(core, acquired, callId)
      return
    case 'checkpoint':
      if (call.op === 'checkpoint') {
        core.table.checkpointed(call.request.checkpoints, answer.reply)
        // Somebody else has it, or it is no more.
        if (answer.reply.includes('lost')) core.plan.needsRead = true
      }
      return
    case 'replace':
      if (call.op === 'replace')
        replaced(core, { settled, old: call.request.old }, answer.reply, at)
      return
    case 'release':
      if (call.op === 'release') core.table.released(call.request.releases, answer.reply)
      // What was given back may be this host's again meanwhile.
      core.acquireDueMs = Math.min(core.acquireDueMs, at.nowMs)
      return
    case 'reconcile':
      // Leases of a lost answer to `acquire`: nobody else can have them, so they are used or given back (I7).
      for (const lease of answer.reply.unknownToHost) {
        adopt(core, { leaseId: lease.id, epoch: lease.epoch, lease }, callId)
      }
      if (call.op === 'reconcile') {
        const lost = new Set(answer.reply.lost)
        for (const held of call.request.held) {
          if (lost.has(held.leaseId)) core.table.loseAt(held, 'takenOver')
        }
      }
      for (const leaseId of answer.reply.behind) core.table.reassert(leaseId)
      return
    default:
      assertNever(answer)
  }
}

function adopt(core: CoreState, acquired: AcquiredLease, answerTo: number): void {
  core.table.add(acquired, {
    keep:
      !core.leaving && core.plan.mine.has(acquired.leaseId) && !core.refused.has(acquired.leaseId),
    generation: core.session.generation ?? '',
    sinceCallId: core.slots.lastCallId,
    answerTo,
  })
}

/**
 * Leases replaced others (LE-10). They are worked on at once, unless they are to go to
 * another host as the old ones were; the next plan shares them out again.
 */
function replaced(
  core: CoreState,
  { settled, old }: { readonly settled: SettledCall; readonly old: readonly HeldLease[] },
  reply: readonly AcquiredLease[] | 'lost',
  { nowMs, jitter }: AnswerTime,
): void {
  const { table, plan, slots, session } = core
  const oldIds = old.map(({ leaseId }) => leaseId)
  if (reply === 'lost') {
    table.replacementRefused(old)
    // Of several leases one may be lost, and the others still attributed to this host.
    core.needsReconcile = true
    plan.needsRead = true
    return
  }
  const next = reply.map(({ lease }) => lease)
  table.replaced(old, { next, lastCallId: slots.lastCallId })
  plan.replaced(oldIds, next)
  for (const acquired of reply) {
    const { target } = acquired.lease
    table.add(acquired, {
      keep: !core.leaving && (target === undefined || target === core.options.host),
      generation: session.generation ?? '',
      sinceCallId: slots.lastCallId,
      answerTo: settled.callId,
    })
  }
  plan.planSoon(nowMs, jitter)
}

function synced(
  core: CoreState,
  { call, sentMs }: SettledCall,
  reply: SyncReply,
  { nowMs, jitter }: AnswerTime,
): void {
  if (call.op !== 'sync') return
  const { session } = core
  const { intent, profile, gone = [] } = call.request
  core.gone = core.gone.filter((peer) => !gone.includes(peer))
  if (intent === 'leave') {
    core.stop(undefined)
    return
  }
  if (generationChanged(core, reply.generation, nowMs)) return
  if (reply.kind === 'fenced') {
    core.fence('sessionGone')
    return
  }
  session.generation = reply.generation
  session.renewed(reply, { sentMs, nowMs })
  core.table.forgetLost()
  if (session.status === 'joining') {
    // An answer that came too late to be of use: the next join begins a session that can be kept.
    if (nowMs >= session.deadlineMs) return
    session.status = 'joined'
    core.plan.needsRead = true
    const { incarnation } = session.identity
    core.effects.push({ kind: 'emit', notice: { kind: 'joined', incarnation } })
  }
  if (profile.leaving) core.leavingAnnounced = true
  core.plan.versionsSeen(reply, { nowMs, jitter })
  if (!reply.heldMatches) {
    core.needsReconcile = true
    // It may be that somebody deleted a lease: nothing else tells, while nothing happens in its range.
    core.plan.needsRead = true
  }
  core.acquireDueMs = Math.min(core.acquireDueMs, nowMs)
}

function readDone(
  core: CoreState,
  { callId }: SettledCall,
  snapshot: LeaseGroupSnapshot,
  { nowMs, jitter }: AnswerTime,
): void {
  if (generationChanged(core, snapshot.generation, nowMs)) return
  if (followsOther(core, snapshot)) return
  if (core.session.status === 'fenced') {
    rejoinOrYield(core, snapshot)
    return
  }
  if (core.session.status !== 'joined') return
  const { host, incarnation } = core.session.identity
  if (!snapshot.hosts.some((one) => one.host === host && one.incarnation === incarnation)) {
    // Sooner known than by the next beat: a newcomer of this name has the leases already.
    core.fence('sessionGone')
    rejoinOrYield(core, snapshot)
    return
  }
  if (leasesVanished(core, snapshot, nowMs)) return
  if (leasesDamaged(core, snapshot, nowMs)) return
  const owned = new Map(
    snapshot.leases.map(({ id, owner, epoch }) => [
      id,
      { epoch, mine: owner?.host === host && owner.incarnation === incarnation },
    ]),
  )
  core.table.loseThoseNotIn(owned, callId)
  const planWasDue = nowMs >= core.plan.planDueMs
  const roundWasDue = nowMs >= core.plan.roundDueMs
  const isStale = snapshot.planVersion < snapshot.membershipVersion
  const { presence } = core.options.profile
  if (presence !== undefined) {
    const peers = watchedPeers(snapshot.hosts, { host, presence })
    core.effects.push({ kind: 'watch', peers })
  }
  core.plan.applySnapshot(snapshot, nowMs)
  followPlan(core, snapshot, { nowMs, isStale })
  if (!isStale && roundWasDue) proposeRound(core, snapshot)
  if (!isStale) return
  // Alone there is nobody to be first before. Who joins meanwhile raises the version, and this plan is not stored.
  const isAlone = snapshot.hosts.length === 1
  if (planWasDue || isAlone) propose(core, snapshot)
  else core.plan.planSoon(nowMs, jitter)
}

/** After a fence: start over, unless another process has taken the name. */
function rejoinOrYield(core: CoreState, snapshot: LeaseGroupSnapshot): void {
  const { host } = core.session.identity
  const present = snapshot.hosts.find((one) => one.host === host)
  // A store that went back in time may know an earlier life of this process: that is nobody else.
  if (present === undefined || core.session.isOwn(present.incarnation)) {
    core.session.rejoin()
    return
  }
  // Fighting for the name would fence the newcomer, and it us, for ever.
  core.stop(new HostReplacedError(`another process joined as host ${host}; this one stopped`))
}

/** Makes a plan for what was read. Of the hosts that do, the first one wins. */
function propose(core: CoreState, snapshot: LeaseGroupSnapshot): void {
  core.plan.planDueMs = Infinity
  core.proposal = { plan: planSnapshot(snapshot), snapshot, rebalances: false }
}

/** Proposes a plan in the place of a current one, if loads have come to differ. */
function proposeRound(core: CoreState, snapshot: LeaseGroupSnapshot): void {
  const plan = planSnapshot(snapshot)
  if (plan.by === 'load' && plan.moves > 0) core.proposal = { plan, snapshot, rebalances: true }
}

function planned(core: CoreState, isFirst: boolean, nowMs: number): void {
  const { proposal } = core
  core.proposal = undefined
  if (!isFirst || proposal === undefined) {
    core.plan.needsRead = true
    return
  }
  core.plan.applyOwn(proposal)
  followPlan(core, proposal.snapshot, { nowMs, isStale: false })
}

/** Gives up what others are to have, and tries to get what is this host's. */
function followPlan(
  core: CoreState,
  { leases }: LeaseGroupSnapshot,
  { nowMs, isStale }: { readonly nowMs: number; readonly isStale: boolean },
): void {
  core.acquireDueMs = nowMs
  const known = new Set(leases.map(({ id }) => id))
  for (const { held } of core.table.views()) {
    if (core.plan.mine.has(held.leaseId)) continue
    // It replaced others after this was read.
    if (!known.has(held.leaseId)) continue
    // A plan for a membership that has changed says nothing of leases that it does not name.
    if (isStale && core.plan.targetOf(held.leaseId) === undefined) continue
    core.table.drain(held.leaseId, 'leaseHandedOver', nowMs + core.options.handoffTimeoutMs)
  }
}

/** A store with other data knows nothing of our positions: starting from "now" would skip changes. */
function generationChanged(core: CoreState, generation: string, nowMs: number): boolean {
  const known = core.session.generation
  if (known === undefined || known === generation) return false
  // Before the leases are lost: whoever owned one to the last knows best where it stood.
  const stood = core.session.isValid(nowMs) ? core.table.stood() : []
  core.effects.push({ kind: 'emit', notice: { kind: 'storeLost', known, generation, stood } })
  core.stop(
    new LeasesVanishedError(
      `the lease store lost its data (generation ${known} became ${generation}); refusing to start from "now"`,
    ),
  )
  return true
}

/** Somebody moved the group to another feed on purpose: its positions are not of this host's. */
function followsOther(core: CoreState, { feed: follows }: LeaseGroupSnapshot): boolean {
  const { followed } = core.options
  if (followed === undefined || follows === undefined) return false
  if (follows.rid === followed.feed.rid) return false
  core.stop(new GroupOfOtherFeedError({ ...followed, follows }))
  return true
}

/** No host leaves a set that does not cover all keys exactly once, not for a moment. */
function leasesDamaged(
  core: CoreState,
  { leases, generation }: LeaseGroupSnapshot,
  nowMs: number,
): boolean {
  const { keys } = core.options
  if (keys === undefined) return false
  const damage = leaseSetDamage(
    leases.map(({ range }) => range),
    keys,
  )
  if (damage === undefined) return false
  const stood = core.session.isValid(nowMs) ? core.table.stood() : []
  core.effects.push({ kind: 'emit', notice: { kind: 'setDamaged', generation, damage, stood } })
  core.stop(new LeasesVanishedError(`leases of the group are damaged: ${damageText(damage)}`))
  return true
}

/** An empty set may be a moment between discard and create of another host; one that stays is not. */
function leasesVanished(core: CoreState, { leases }: LeaseGroupSnapshot, nowMs: number): boolean {
  if (leases.length > 0) {
    core.vanishedSinceMs = undefined
    return false
  }
  core.vanishedSinceMs ??= nowMs
  if (nowMs < core.vanishedSinceMs + core.options.ttlMs) {
    core.table.loseAll('takenOver')
    // There is nothing to plan. Each beat looks again, and so does the hint of whoever makes leases.
    core.plan.planDueMs = Infinity
    core.plan.roundDueMs = Infinity
    return true
  }
  core.stop(
    new LeasesVanishedError('the leases of the group were deleted; refusing to start from "now"'),
  )
  return true
}
