import {
  LeaseStoreUnavailableError,
  type AnnouncedPresence,
  type Clock,
  type FeedRange,
  type HeldLease,
  type LeaseGroup,
  type NewLease,
  type Random,
} from '@tidemark/contracts'
import { assertNever } from '@tidemark/contracts/internal'
import { LeaseCore, type CoreStatus } from './lease-core.ts'
import type {
  LeaseCall,
  LeaseCoreOptions,
  LeaseEffect,
  LeaseEvent,
  LeaseNotice,
  LeaseReply,
} from './lease-protocol.ts'
import type { HeldView } from './held-record.ts'
import { PeerWatch } from './peer-watch.ts'
import type { KnownGroup } from './plan-follower.ts'
import { PumpSeat, type LeasePump, type SeatLinks } from './pump-seat.ts'

export interface LeaseCoordinatorOptions {
  readonly core: LeaseCoreOptions
  readonly group: LeaseGroup
  readonly clock: Clock
  readonly random: Random
  /** By which deaths of other hosts are seen. @default they are not */
  readonly presence?: AnnouncedPresence | undefined
  /** A call without answer counts as failed after this long. */
  readonly callTimeoutMs: number
  /** Begins to work on a lease. Must not throw. */
  readonly startPump: (seat: PumpSeat) => LeasePump
  /** What this host's leases cost, for its profile. Must not throw. @default nothing is told */
  readonly measureLoad?: (() => string) | undefined
  /** The session was begun or renewed. Must not throw. */
  readonly onBeat?: (() => void) | undefined
  /** Must not throw. */
  readonly onNotice: (notice: LeaseNotice) => void
}

interface SeatedPump {
  readonly seat: PumpSeat
  readonly pump: LeasePump
}

/** Longest delay that timers keep. */
const MAX_SLEEP_MS = 2 ** 31 - 1

/** Why the timer of a call ends that was answered: nobody looks at it, and an error for each call would cost. */
const ANSWERED = 'answered'

/** The thin loop around the core: performs its effects on the lease group, the pumps and the clock. */
export class LeaseCoordinator {
  readonly #options: LeaseCoordinatorOptions
  readonly #core: LeaseCore
  readonly #links: SeatLinks
  readonly #peers: PeerWatch | undefined
  readonly #pumps = new Map<string, SeatedPump>()
  readonly #queue: LeaseEvent[] = []
  readonly #calls = new Set<Promise<void>>()
  readonly #ended = new AbortController()
  readonly #stopped = Promise.withResolvers<{ readonly error: Error | undefined }>()
  #alarm = new AbortController()
  #wakeAtMs: number = Infinity
  #isHandling = false
  /** Wall minus monotonic time: grows when the machine slept, or when someone set the clock. */
  #wallAheadMs: number
  /** How much it has grown since the core was told. */
  #unseenMs = 0
  #loop: Promise<void> = Promise.resolve()
  #unsubscribe: () => void = () => {}

  constructor(options: LeaseCoordinatorOptions) {
    this.#options = options
    this.#core = new LeaseCore(options.core)
    this.#wallAheadMs = options.clock.wallMs() - options.clock.monotonicMs()
    this.#peers =
      options.presence &&
      new PeerWatch(options.presence, (peer) => this.#handle({ kind: 'gone', peer }))
    this.#links = {
      mayDispatch: () => this.#mayDispatch(),
      progress: (held, checkpoint) => this.#handle({ kind: 'progress', held, checkpoint }),
      closed: (held, end) => {
        this.#pumps.delete(pumpKey(held))
        this.#handle({ kind: 'pumpClosed', held, replacement: undefined, ...end })
      },
    }
  }

  get status(): CoreStatus {
    return this.#core.status
  }

  get storeAvailable(): boolean {
    return this.#core.storeAvailable
  }

  get unowned(): readonly string[] {
    return this.#core.unowned
  }

  get deadlineMs(): number | undefined {
    return this.#core.deadlineMs
  }

  /** The group as this host last saw it. */
  get group(): KnownGroup {
    return this.#core.group
  }

  held(): readonly HeldView[] {
    return this.#core.held()
  }

  /** Resolves when everything that this started has ended; `error` says why it ended by itself. */
  get stopped(): Promise<{ readonly error: Error | undefined }> {
    return this.#stopped.promise
  }

  start(): void {
    const { group, random } = this.#options
    this.#unsubscribe = group.subscribe((hint) => {
      this.#handle({ kind: 'hint', hint, jitter: random.fraction() })
    })
    this.#handle({ kind: 'start' })
    this.#loop = this.#run()
  }

  /**
   * Makes neighbouring leases one. Their pumps must be idle exactly at the position of `next` at this
   * moment. Does nothing if one of them is not worked on any more.
   */
  join(held: readonly HeldLease[], next: NewLease): void {
    this.#handle({ kind: 'join', held, next })
  }

  /** Cuts a lease at the position where it stands when its batch is done. Does nothing if it is not worked on any more. */
  cut(held: HeldLease, parts: readonly FeedRange[]): void {
    this.#handle({ kind: 'cut', held, parts })
  }

  /** A sink has seen this epoch of a newer owner: the next one is to be above it. */
  sinkHasSeen(held: HeldLease, epoch: number): void {
    this.#handle({ kind: 'sinkHasSeen', held, epoch })
  }

  /** Drains, releases, leaves. `stopped` tells when it is done. */
  leave(): void {
    this.#handle({ kind: 'leave' })
  }

  async #run(): Promise<void> {
    const { clock } = this.#options
    while (!this.#ended.signal.aborted) {
      const delayMs = Math.min(MAX_SLEEP_MS, Math.max(0, this.#wakeAtMs - clock.monotonicMs()))
      try {
        await clock.sleep(delayMs, this.#alarm.signal)
      } catch {
        // An earlier time was asked for, or this is the end.
        this.#alarm = new AbortController()
        continue
      }
      if (this.#wakeAtMs > clock.monotonicMs()) continue
      this.#noteWallJump()
      this.#handle({ kind: 'tick' })
    }
  }

  /** Events that come while one is handled wait for its effects: the core sees one world at a time. */
  #handle(event: LeaseEvent): void {
    this.#queue.push(event)
    if (this.#isHandling) return
    this.#isHandling = true
    try {
      for (let next = this.#queue.shift(); next !== undefined; next = this.#queue.shift()) {
        const effects = this.#core.handle(next, this.#options.clock.monotonicMs())
        for (const effect of effects) this.#perform(effect)
      }
    } finally {
      this.#isHandling = false
    }
  }

  #perform(effect: LeaseEffect): void {
    switch (effect.kind) {
      case 'call':
        this.#call(effect.callId, effect.call)
        return
      case 'wakeAt':
        this.#wakeAt(effect.atMs)
        return
      case 'startPump': {
        const { held, lease, generation } = effect
        const seat = new PumpSeat(held, { lease, generation, links: this.#links })
        this.#pumps.set(pumpKey(held), { seat, pump: this.#options.startPump(seat) })
        return
      }
      case 'drainPump':
        this.#pumps.get(pumpKey(effect.held))?.pump.drain(effect.reason)
        return
      case 'abortPump': {
        const seated = this.#pumps.get(pumpKey(effect.held))
        seated?.seat.over()
        seated?.pump.abort(effect.reason)
        return
      }
      case 'checkpointed':
        this.#pumps.get(pumpKey(effect.held))?.seat.stored(effect.checkpoint)
        return
      case 'emit':
        this.#options.onNotice(effect.notice)
        return
      case 'watch':
        this.#peers?.follow(effect.peers)
        return
      case 'stopped':
        this.#end(effect.error)
        return
    }
  }

  #call(callId: number, call: LeaseCall): void {
    const task = this.#performCall(callId, call).finally(() => this.#calls.delete(task))
    this.#calls.add(task)
  }

  async #performCall(callId: number, call: LeaseCall): Promise<void> {
    const { random, clock } = this.#options
    let event: LeaseEvent
    try {
      const answer = await this.#answerTo(this.#withLoad(call))
      event = { kind: 'replied', callId, answer, jitter: random.fraction() }
    } catch (error) {
      event = { kind: 'failed', callId, error, jitter: random.fraction() }
    }
    if (this.#ended.signal.aborted) return
    if (event.kind === 'replied' && call.op === 'sync') this.#options.onBeat?.()
    const couldDispatch = this.#core.mayDispatch(clock.monotonicMs())
    this.#handle(event)
    if (!couldDispatch && this.#mayDispatch()) {
      for (const { pump } of this.#pumps.values()) pump.wake()
    }
  }

  /** Each beat tells what the leases cost: a measurement, which the protocol need not know. */
  #withLoad(call: LeaseCall): LeaseCall {
    const { measureLoad } = this.#options
    if (measureLoad === undefined || call.op !== 'sync' || call.request.intent === 'leave')
      return call
    const profile = { ...call.request.profile, load: measureLoad() }
    return { ...call, request: { ...call.request, profile } }
  }

  /** A call without answer in time fails, also if the group ignores its signal. */
  async #answerTo(call: LeaseCall): Promise<LeaseReply> {
    const { group, clock, callTimeoutMs } = this.#options
    const over = new AbortController()
    let end: unknown = ANSWERED
    const signal = AbortSignal.any([this.#ended.signal, over.signal])
    const timedOut = clock.sleep(callTimeoutMs, signal).then(() => {
      end = new LeaseStoreUnavailableError(`${call.op} was given up`)
      throw new LeaseStoreUnavailableError(`${call.op} had no answer within ${callTimeoutMs} ms`)
    })
    try {
      return await Promise.race([invoke(call, group, signal), timedOut])
    } finally {
      // Ends the timer after an answer, and the call after a timeout.
      over.abort(end)
    }
  }

  #wakeAt(atMs: number): void {
    const isEarlier = atMs < this.#wakeAtMs
    this.#wakeAtMs = atMs
    // A later time needs no new alarm: the present one goes off, and sleeps on.
    if (isEarlier) this.#alarm.abort()
  }

  #mayDispatch(): boolean {
    this.#noteWallJump()
    return this.#core.mayDispatch(this.#options.clock.monotonicMs())
  }

  /**
   * The monotonic clock may stop while the machine sleeps; the wall clock does not. Short sleeps are added up: all that
   * goes unnoticed together is less than what the session's deadline is ahead of the store's.
   */
  #noteWallJump(): void {
    const { clock } = this.#options
    const aheadMs = clock.wallMs() - clock.monotonicMs()
    this.#unseenMs += Math.max(0, aheadMs - this.#wallAheadMs)
    this.#wallAheadMs = aheadMs
    if (this.#unseenMs <= this.#core.marginMs) return
    this.#unseenMs = 0
    this.#handle({ kind: 'clockJumped' })
  }

  #end(error: Error | undefined): void {
    this.#unsubscribe()
    this.#peers?.follow([])
    this.#ended.abort()
    this.#alarm.abort()
    this.#stopped.resolve(Promise.all([this.#loop, ...this.#calls]).then(() => ({ error })))
  }
}

function pumpKey({ leaseId, epoch }: HeldLease): string {
  return `${leaseId}@${epoch}`
}

async function invoke(
  call: LeaseCall,
  group: LeaseGroup,
  signal: AbortSignal,
): Promise<LeaseReply> {
  switch (call.op) {
    case 'sync':
      return { op: 'sync', reply: await group.sync(call.request, signal) }
    case 'read':
      return { op: 'read', reply: await group.read(signal) }
    case 'plan':
      return { op: 'plan', reply: await group.plan(call.request, signal) }
    case 'acquire':
      return { op: 'acquire', reply: await group.acquire(call.request, signal) }
    case 'checkpoint':
      return { op: 'checkpoint', reply: await group.checkpoint(call.request, signal) }
    case 'release':
      return { op: 'release', reply: await group.release(call.request, signal) }
    case 'replace':
      return { op: 'replace', reply: await group.replace(call.request, signal) }
    case 'reconcile':
      return { op: 'reconcile', reply: await group.reconcile(call.request, signal) }
    default:
      return assertNever(call)
  }
}
