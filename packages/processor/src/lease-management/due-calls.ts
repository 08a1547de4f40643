import type { CoreState } from './core-state.ts'
import type { LeaseCall, LeaseOp } from './lease-protocol.ts'

/** Leases taken by one call, so that no store works on one for long (decision 0023). */
const MAX_ACQUIRE = 500

/**
 * Begins every call that is due at `nowMs` and whose slot is free. A call of which the outcome is
 * unknown is simply still due. Returns when to look again.
 */
export function beginDueCalls(core: CoreState, nowMs: number): number {
  const calls = new DueCalls(core, nowMs)
  switch (core.session.status) {
    case 'joining':
      calls.begin('sync', 0, () => syncCall(core, 'join', nowMs))
      break
    case 'fenced':
      calls.begin('read', 0, () => ({ op: 'read' }))
      break
    case 'joined':
      sessionCalls(core, calls)
      planCalls(core, calls)
      leaseCalls(core, calls)
      break
    case 'new':
    case 'ended':
      break
  }
  return calls.nextWakeMs
}

class DueCalls {
  readonly #core: CoreState
  readonly nowMs: number
  nextWakeMs: number = Infinity

  constructor(core: CoreState, nowMs: number) {
    this.#core = core
    this.nowMs = nowMs
  }

  /** Calls now if it is due and the slot is free; else sees to it that the time is not missed. */
  begin(op: LeaseOp, dueMs: number, makeCall: () => LeaseCall): void {
    const { slots, effects } = this.#core
    const readyAtMs = slots.readyAtMs(op)
    if (readyAtMs === undefined) return
    const atMs = Math.max(readyAtMs, dueMs)
    if (this.nowMs < atMs) {
      this.wakeBy(atMs)
      return
    }
    const call = makeCall()
    effects.push({ kind: 'call', callId: slots.begin(call, this.nowMs), call })
  }

  wakeBy(atMs: number): void {
    this.nextWakeMs = Math.min(this.nextWakeMs, atMs)
  }
}

function sessionCalls(core: CoreState, calls: DueCalls): void {
  const { session, table } = core
  calls.wakeBy(session.deadlineMs)
  if (core.leaving && table.size === 0 && table.openPumps === 0) {
    calls.begin('sync', 0, () => syncCall(core, 'leave', calls.nowMs))
    return
  }
  const mustTell = (core.leaving && !core.leavingAnnounced) || core.gone.length > 0
  calls.begin('sync', mustTell ? 0 : session.nextBeatMs, () => syncCall(core, 'beat', calls.nowMs))
}

function planCalls(core: CoreState, calls: DueCalls): void {
  const { plan, proposal } = core
  if (core.vanishedSinceMs !== undefined) {
    const giveUpMs = core.vanishedSinceMs + core.options.ttlMs
    if (calls.nowMs >= giveUpMs) plan.needsRead = true
    else calls.wakeBy(giveUpMs)
  }
  if (proposal !== undefined) {
    const { snapshot, rebalances } = proposal
    const { membershipVersion } = snapshot
    const { targets } = proposal.plan
    const request = { membershipVersion, targets, ...(rebalances ? { rebalances } : {}) }
    calls.begin('plan', 0, () => ({ op: 'plan', request }))
    return
  }
  const readDueMs = plan.needsRead ? 0 : Math.min(plan.planDueMs, plan.roundDueMs)
  if (readDueMs === Infinity) return
  calls.begin('read', readDueMs, () => {
    plan.needsRead = false
    return { op: 'read' }
  })
}

function leaseCalls(core: CoreState, calls: DueCalls): void {
  const { table, session } = core
  const { identity } = session
  const outstanding = core.leaving
    ? []
    : [...core.plan.mine].filter((leaseId) => !table.has(leaseId) && !core.refused.has(leaseId))
  if (outstanding.length > 0) {
    calls.begin('acquire', core.acquireDueMs, () => {
      const isAll = outstanding.length <= MAX_ACQUIRE
      core.acquireDueMs = isAll ? calls.nowMs + core.options.acquireRetryMs : calls.nowMs
      const leaseIds = outstanding.slice(0, MAX_ACQUIRE)
      return { op: 'acquire', request: { ...identity, leaseIds } }
    })
  }
  if (table.hasCheckpointsDue) {
    calls.begin('checkpoint', 0, () => ({
      op: 'checkpoint',
      request: { ...identity, checkpoints: table.checkpointsDue() },
    }))
  }
  const releases = table.releasesDue()
  if (releases.length > 0) {
    calls.begin('release', 0, () => ({ op: 'release', request: { ...identity, releases } }))
  }
  const replacement = table.replacementDue()
  if (replacement !== undefined) {
    const { old, next } = replacement
    calls.begin('replace', 0, () => ({ op: 'replace', request: { ...identity, old, next } }))
  }
  if (core.needsReconcile && core.ownershipIsQuiet) {
    calls.begin('reconcile', 0, () => {
      core.needsReconcile = false
      return { op: 'reconcile', request: { ...identity, held: table.held() } }
    })
  }
}

function syncCall(core: CoreState, intent: 'join' | 'beat' | 'leave', nowMs: number): LeaseCall {
  const { session, table, leaving } = core
  const refuses = [...core.refused.keys()].sort()
  const { profile, ttlMs, heartbeatMs, keys } = core.options
  const withDigest = intent === 'beat' && session.digestIsDue && core.ownershipIsQuiet
  // Whether the leases cover the keys is looked at in all of them: one host does it for all (decision 0015).
  const judged = core.plan.isFirst ? keys : undefined
  const observed = session.observedAt(nowMs)
  if (intent === 'beat') session.beatSent({ withDigest })
  return {
    op: 'sync',
    request: {
      ...session.identity,
      intent,
      profile: { ...profile, leaving, ...(refuses.length > 0 ? { refuses } : {}) },
      ttlMs,
      clockCapMs: heartbeatMs,
      ...(observed === undefined ? {} : { observed }),
      ...(core.gone.length > 0 ? { gone: [...core.gone] } : {}),
      ...(withDigest ? { held: table.digest(), ...(judged && { keys: judged }) } : {}),
    },
  }
}
