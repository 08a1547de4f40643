import type { HeldLease, HostIdentity } from '@tidemark/contracts'
import { CallSlots } from './call-slots.ts'
import { FencePauses } from './fence-pauses.ts'
import { HostSessionState } from './host-session.ts'
import { LeaseTable } from './lease-table.ts'
import type { LeaseCoreOptions, LeaseEffect } from './lease-protocol.ts'
import { PlanFollower, type PlanProposal } from './plan-follower.ts'

/** All that one host knows, and the effects of the event that is being handled. */
export class CoreState {
  readonly options: LeaseCoreOptions
  readonly effects: LeaseEffect[] = []
  readonly session: HostSessionState
  readonly slots: CallSlots
  readonly table: LeaseTable
  readonly plan: PlanFollower
  readonly #fencePauses: FencePauses
  proposal: PlanProposal | undefined
  /** A graceful stop was asked for. */
  leaving = false
  /** The store knows of it, so that others can plan while this host drains. */
  leavingAnnounced = false
  /** When to try again for leases that could not be had. */
  acquireDueMs: number = Infinity
  needsReconcile = false
  /** Leases whose observer hangs here, and until when they are refused. */
  readonly refused: Map<string, number> = new Map()
  /** Hosts that are certainly dead, until the store was told. */
  gone: HostIdentity[] = []
  storeAvailable = true
  /** Since when the group has had no leases at all. */
  vanishedSinceMs: number | undefined
  end: { readonly error: Error | undefined; told: boolean } | undefined

  constructor(options: LeaseCoreOptions) {
    this.options = options
    this.session = new HostSessionState(options)
    this.slots = new CallSlots(options.heartbeatMs)
    this.table = new LeaseTable(this.effects)
    this.plan = new PlanFollower(options.host, this.effects)
    this.#fencePauses = new FencePauses(options.ttlMs)
  }

  /** Nothing is under way that would make host and store differ without a fault. */
  get ownershipIsQuiet(): boolean {
    return (
      this.slots.isFree('acquire') &&
      this.slots.isFree('release') &&
      this.slots.isFree('replace') &&
      this.table.releasesDue().length === 0 &&
      this.table.replacementDue() === undefined
    )
  }

  /** Others are to have it, for a while: the observer hangs here, or did not get through in time. */
  refuse(leaseId: string, nowMs: number): void {
    this.refused.set(leaseId, nowMs + this.options.refusalMs)
    this.session.hurry(nowMs)
  }

  /**
   * A sink knows a newer owner than this one. If there is one, the store says so at once, and the lease is its; else the store
   * has forgotten it, and the lease is given back after a while, so that whoever is to have it gets it at an epoch above all.
   */
  standStill(held: HeldLease, nowMs: number): void {
    this.table.standStill(held, () => this.#fencePauses.begin(held.leaseId, nowMs))
    this.plan.needsRead = true
  }

  /** Returns when the next refusal ends. */
  endRefusals(nowMs: number): number {
    let nextMs = Infinity
    for (const [leaseId, untilMs] of this.refused) {
      if (untilMs <= nowMs) {
        this.refused.delete(leaseId)
        this.session.hurry(nowMs)
      } else {
        nextMs = Math.min(nextMs, untilMs)
      }
    }
    return nextMs
  }

  /** The session can not be relied on: others may own the leases by now (I6). */
  fence(cause: 'deadlinePassed' | 'sessionGone'): void {
    this.session.status = 'fenced'
    this.slots.abandon()
    this.proposal = undefined
    this.plan.forget()
    this.needsReconcile = false
    this.acquireDueMs = Infinity
    this.effects.push({ kind: 'emit', notice: { kind: 'fenced', cause } })
    this.table.loseAll('fenced')
  }

  /** For good. `stopped` follows when the last pump has closed. */
  stop(error: Error | undefined): void {
    this.session.status = 'ended'
    this.slots.abandon()
    this.end ??= { error, told: false }
    this.table.loseAll('stopped')
  }
}
