import { errorCode } from '@tidemark/contracts'
import { assertNever } from '@tidemark/contracts/internal'
import type { SettledCall } from './call-slots.ts'
import { CoreState } from './core-state.ts'
import { beginDueCalls } from './due-calls.ts'
import type { HeldView } from './held-record.ts'
import type { LeaseCoreOptions, LeaseEffect, LeaseEvent, LeaseOp } from './lease-protocol.ts'
import type { KnownGroup } from './plan-follower.ts'
import { takeAnswer } from './take-answer.ts'

/** What the host is doing, for `health()`. */
export type CoreStatus = 'new' | 'joining' | 'joined' | 'suspect' | 'fenced' | 'draining' | 'ended'

/**
 * The lease protocol of one host: told what happened and when, it says what to do. Nothing in here
 * waits, asks for the time or draws lots, so that a simulation runs this very code.
 *
 * Every event first changes what is known; then the calls that are due follow from it. States,
 * events and invariants: docs/spec/lease-protocol.md.
 */
export class LeaseCore {
  readonly #core: CoreState
  #wakeAtMs: number = Infinity

  constructor(options: LeaseCoreOptions) {
    this.#core = new CoreState(options)
  }

  get status(): CoreStatus {
    const { session, leaving, storeAvailable } = this.#core
    if (session.status !== 'joined') return session.status
    if (leaving) return 'draining'
    return storeAvailable && !session.isHeld ? 'joined' : 'suspect'
  }

  get storeAvailable(): boolean {
    return this.#core.storeAvailable
  }

  /** Leases that no host may take. */
  get unowned(): readonly string[] {
    return this.#core.plan.unowned
  }

  /** Until when the session may be relied on; undefined without one. */
  get deadlineMs(): number | undefined {
    const { session } = this.#core
    return session.status === 'joined' ? session.deadlineMs : undefined
  }

  /** How much earlier than the store's this host's deadline is. */
  get marginMs(): number {
    return this.#core.session.marginMs
  }

  /** The group as this host last saw it. */
  get group(): KnownGroup {
    return this.#core.plan.group
  }

  held(): readonly HeldView[] {
    return this.#core.table.views()
  }

  /**
   * Whether an observer may be called now (I6): the session is valid, and no tick is so late that
   * time may have passed unnoticed.
   */
  mayDispatch(nowMs: number): boolean {
    const { session } = this.#core
    return session.isValid(nowMs) && !session.isHeld && !this.#isStalled(nowMs)
  }

  handle(event: LeaseEvent, nowMs: number): readonly LeaseEffect[] {
    const { session, table, effects, end } = this.#core
    if (session.status === 'joined' && this.#isStalled(nowMs)) session.hold(nowMs)
    if (end === undefined || event.kind === 'pumpClosed') this.#take(event, nowMs)
    if (session.status === 'joined' && nowMs >= session.deadlineMs) {
      this.#core.fence('deadlinePassed')
    }
    if (this.#core.leaving && (session.status === 'joining' || session.status === 'fenced')) {
      // Without a session there is nothing to release and nothing to leave.
      this.#core.stop(undefined)
    }
    table.endDue(nowMs)
    const refusedUntilMs = this.#core.endRefusals(nowMs)
    const dueMs = Math.min(beginDueCalls(this.#core, nowMs), table.nextDueMs())
    this.#wakeBy(Math.min(dueMs, refusedUntilMs))
    this.#tellEnd()
    return effects.splice(0)
  }

  #isStalled(nowMs: number): boolean {
    return nowMs > this.#wakeAtMs + this.#core.session.marginMs
  }

  #take(event: LeaseEvent, nowMs: number): void {
    const { session, slots, plan, table } = this.#core
    switch (event.kind) {
      case 'start':
        if (session.status === 'new') session.status = 'joining'
        return
      case 'tick':
        return
      case 'clockJumped':
        if (session.status === 'joined') session.hold(nowMs)
        return
      case 'replied': {
        const { callId, answer, jitter } = event
        const settled = slots.succeed(callId)
        if (settled === undefined) return
        this.#storeAnswered(answer.op)
        takeAnswer(this.#core, settled, answer, { nowMs, jitter })
        return
      }
      case 'failed': {
        const settled = slots.fail(event.callId, nowMs, event.jitter)
        if (settled !== undefined) this.#callFailed(settled, event.error)
        return
      }
      case 'hint':
        if (event.hint === 'released') this.#core.acquireDueMs = nowMs
        else if (event.hint === 'plan') plan.needsRead = true
        else plan.planSoon(nowMs, event.jitter)
        return
      case 'gone':
        this.#core.gone.push(event.peer)
        return
      case 'progress':
        table.progress(event.held, event.checkpoint)
        return
      case 'sinkHasSeen':
        table.sinkHasSeen(event.held, event.epoch)
        return
      case 'pumpClosed':
        table.pumpClosed(event.held, event, session.generation ?? '')
        if (event.reason === 'observerStuck') this.#core.refuse(event.held.leaseId, nowMs)
        if (event.reason === 'fenced') this.#core.standStill(event.held, nowMs)
        return
      case 'join':
        if (session.status === 'joined' && !this.#core.leaving) table.join(event.held, event.next)
        return
      case 'cut':
        if (session.status === 'joined' && !this.#core.leaving) {
          const deadlineMs = nowMs + this.#core.options.handoffTimeoutMs
          table.cut(event.held, event.parts, deadlineMs)
        }
        return
      case 'leave':
        this.#leave(nowMs)
        return
      default:
        assertNever(event)
    }
  }

  #leave(nowMs: number): void {
    if (this.#core.leaving) return
    this.#core.leaving = true
    this.#core.table.drainAll('shutdown', nowMs + this.#core.options.shutdownTimeoutMs)
    if (this.#core.session.status === 'new') this.#core.stop(undefined)
  }

  #storeAnswered(op: LeaseOp): void {
    if (this.#core.storeAvailable) return
    this.#core.storeAvailable = true
    this.#core.effects.push({ kind: 'emit', notice: { kind: 'storeRecovered', op } })
  }

  #callFailed({ call }: SettledCall, error: unknown): void {
    if (call.op === 'read') this.#core.plan.needsRead = true
    if (call.op === 'plan') {
      this.#core.proposal = undefined
      this.#core.plan.needsRead = true
    }
    if (call.op === 'acquire') this.#core.acquireDueMs = 0
    // What an acquire may have got is asked for again only while the plan says so.
    if (call.op === 'acquire' || call.op === 'reconcile') this.#core.needsReconcile = true
    if (errorCode(error) === 'ERR_STORE_CLOSED' && error instanceof Error) this.#core.stop(error)
    if (!this.#core.storeAvailable) return
    this.#core.storeAvailable = false
    const { effects } = this.#core
    effects.push({ kind: 'emit', notice: { kind: 'storeUnavailable', op: call.op, error } })
  }

  #wakeBy(atMs: number): void {
    if (atMs === this.#wakeAtMs) return
    this.#wakeAtMs = atMs
    this.#core.effects.push({ kind: 'wakeAt', atMs })
  }

  #tellEnd(): void {
    const { end, table, effects } = this.#core
    if (end === undefined || end.told || table.openPumps > 0) return
    end.told = true
    effects.push({ kind: 'stopped', error: end.error })
  }
}
