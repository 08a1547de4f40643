import {
  type BatchAttempts,
  type Change,
  type Checkpoint,
  type DeadLetter,
  type DocumentBody,
  type FeedPage,
  type ObserverContext,
} from '@tidemark/contracts'
import { assertNever, observedCall } from '@tidemark/contracts/internal'
import { deadLetterId } from '../dead-letters/dead-letter-of.ts'
import type { BatchObserver } from './batch-observer.ts'
import { Acceptance } from './acceptance.ts'
import type { Piece } from './bisection.ts'
import type { DeadLetterOffice } from './dead-letter-office.ts'
import {
  DeliveryCore,
  type BatchSource,
  type DeliveryBatch,
  type DeliveryEvent,
  type DeliveryNote,
  type DeliveryStep,
} from './delivery-core.ts'
import type { CallOutcome, ObserverCalls } from './observer-calls.ts'
import type { PositionKeeper } from './position-keeper.ts'
import type { PumpParts } from './pump-parts.ts'

export interface DeliveryParts<T extends DocumentBody> extends PumpParts<T> {
  readonly observer: BatchObserver<T>
  readonly keeper: PositionKeeper
  readonly calls: ObserverCalls
  readonly office: DeadLetterOffice<T>
  /** What the observer is told with a piece of a batch. */
  readonly contextOf: (
    piece: readonly Change<T>[],
    attempt: number,
    batch: Batch<T>,
    accepted: ObserverContext['accepted'],
  ) => ObserverContext
}

/** Room for one call at a time, which is given back between two of them. */
export interface Lane {
  enter(): Promise<void>
  leave(): void
}

/** Changes for the observer, in order: of a page, of one key, or of a letter that was sent back. */
export interface Batch<T extends DocumentBody> {
  readonly changes: readonly Change<T>[]
  readonly page?: FeedPage<T> | undefined
  readonly letter?: DeadLetter<T> | undefined
  readonly lane?: Lane | undefined
}

/** A batch on its way, with the state that the core keeps of it. */
interface BatchInHand<T extends DocumentBody> extends Batch<T> {
  readonly state: DeliveryBatch
  /** So many of its changes, from the first one on, are accepted, and so many has the position passed. */
  accepted: number
  reached: number
  /** Where the changes begin whose tries are stored. */
  triedFrom: number | undefined
}

type StepOf<Kind extends DeliveryStep['kind']> = Extract<DeliveryStep, { kind: Kind }>
type ObserverCall = (given: ObserverContext) => Promise<void> | void
type Tries = Pick<StepOf<'store'>, 'from' | 'tries'>

/**
 * Hands batches to an observer until each of their changes is accepted, or out of the way (PH-7): the thin loop around
 * `DeliveryCore`, which decides.
 */
export class Delivery<T extends DocumentBody> {
  readonly #parts: DeliveryParts<T>
  readonly #core: DeliveryCore
  /**
   * Where the batch in hand may end, asked for when the pump is to end. Undefined where the feed tells no position in the middle of a page, as after a split.
   */
  #cut: { readonly index: number; readonly position: Checkpoint } | undefined
  #inHand: BatchInHand<T> | undefined

  constructor(parts: DeliveryParts<T>) {
    const { feed, options, seat } = parts
    const { attempts } = seat.lease.checkpoint
    const { group, failurePolicy: policy, maxConcurrentKeys } = options
    const hasLanes = maxConcurrentKeys > 1
    this.#parts = parts
    this.#core = new DeliveryCore({ policy, hasLanes, group, feed: feed.identity, attempts })
    const { endedSignal } = parts.ending
    endedSignal.addEventListener('abort', () => void this.#askForCut(), { once: true })
  }

  /** `dealt`: the page is to be given to the lanes. `ended`: the end came first. Never rejects. */
  async deliver(given: Batch<T>): Promise<StepOf<'over'>['outcome']> {
    const { calls, ending, keeper } = this.#parts
    const { page } = given
    const state = this.#core.batch(sourceOf(given), given.changes)
    const { triedFrom } = state
    const batch: BatchInHand<T> = { ...given, state, accepted: 0, reached: 0, triedFrom }
    this.#inHand = batch
    let event: DeliveryEvent = { kind: 'begin' }
    for (;;) {
      const { notes, next } = this.#core.handle(state, event, ending.stage)
      for (const note of notes) this.#note(batch, note)
      if (next.kind === 'over') {
        const { outcome } = next
        calls.succeeded(batch)
        if (page !== undefined && outcome === 'done') {
          keeper.done(page, page.changes.length - batch.reached)
        }
        return outcome
      }
      event = await this.#perform(batch, next)
    }
  }

  /** What was announced, and is not done, was not tried: a sink refused all of it, or it is read again. */
  withdraw(): void {
    if (this.#core.isAnnounced) this.#parts.keeper.unmark(undefined)
  }

  #note(batch: Batch<T>, note: DeliveryNote): void {
    const { calls, keeper, onNotice } = this.#parts
    switch (note.kind) {
      case 'emit':
        onNotice(note.notice)
        return
      case 'failed': {
        const { error, attempt, retryInMs } = note
        calls.failedNow(batch, { phase: 'processChanges', error, attempt, retryInMs })
        return
      }
      case 'withdraw': {
        const { from, tries } = note
        keeper.unmark(tries && this.#attemptsOf(batch.page!, { from, tries }))
        return
      }
      default:
        assertNever(note)
    }
  }

  async #perform(
    batch: BatchInHand<T>,
    step: Exclude<DeliveryStep, { kind: 'over' }>,
  ): Promise<DeliveryEvent> {
    const { calls, office } = this.#parts
    switch (step.kind) {
      case 'call':
        return this.#call(batch, step)
      case 'store':
        return { kind: 'stored', isStored: await this.#store(batch, step) }
      case 'pause': {
        const { error, attempt } = step
        await calls.failed(batch, { phase: 'processChanges', error, attempt })
        return { kind: 'rested' }
      }
      case 'setAside':
        return { kind: 'put', isPut: await this.#setAside(batch, step) }
      case 'settle':
        return { kind: 'put', isPut: await office.settle(batch.letter!) }
      case 'halt': {
        const { seat, bell, ending, onNotice } = this.#parts
        const { range } = seat.lease
        const { lsn, attempt: attempts, error } = step
        onNotice({ kind: 'rangeHalted', range, lsn, attempts, error })
        // What another lane found damaged is read again, and this change with it.
        while (!ending.isAsked && calls.damagedLsn === undefined) await bell.next
        return { kind: 'put', isPut: false }
      }
      default:
        return assertNever(step)
    }
  }

  async #call(
    batch: BatchInHand<T>,
    { piece, tries, isSuspect }: StepOf<'call'>,
  ): Promise<DeliveryEvent> {
    const { turns, ending } = this.#parts
    const { from } = piece
    const store = tries && ((): Promise<boolean> => this.#store(batch, { from, tries }))
    if (!isSuspect) return this.#callOnce(batch, piece, store)
    // No other change that may have ended a process is in hand meanwhile.
    const turn = turns.take()
    try {
      await ending.untilSettled(turn.come, () => ending.endsCalls)
      return await this.#callOnce(batch, piece, async () => {
        turn.begin()
        return (await store?.()) ?? true
      })
    } finally {
      turn.end()
    }
  }

  async #callOnce(
    batch: BatchInHand<T>,
    { from, to, attempt }: Piece,
    prepare: (() => Promise<boolean>) | undefined,
  ): Promise<DeliveryEvent> {
    const { calls, observer, contextOf } = this.#parts
    const { changes, lane } = batch
    // The observer's own: what it does to the list changes nothing here.
    const piece = changes.slice(from, to)
    // Made for observers that say how far they have come.
    let over: AbortController | undefined
    let isFollowed = false
    const follow = async (): Promise<void> => {
      isFollowed = true
      over ??= new AbortController()
      await this.#follow(batch, over.signal)
      isFollowed = false
    }
    const acceptance = new Acceptance({
      changes,
      from,
      to,
      onAccepted: (count) => {
        calls.cameForward(context)
        batch.accepted = from + count
        if (!isFollowed) void follow()
        return this.#goesOn(batch)
      },
    })
    const context = contextOf(piece, attempt, batch, (change) => acceptance.accept(change))
    if (lane !== undefined) await lane.enter()
    try {
      const call = this.#observed(piece, (its) => observer.processChanges(its, piece))
      const outcome = await calls.once(context, call, { changes: piece, prepare })
      // What is accepted from now on, or told of a position, is too late.
      acceptance.end()
      over?.abort()
      const isWhole = outcome.kind === 'done' && !acceptance.isStopped
      const accepted = isWhole ? to - from : acceptance.count
      batch.accepted = Math.max(batch.accepted, from + accepted)
      if (outcome.kind === 'done') calls.succeeded(batch)
      else this.#tellOfAbort(outcome, changes.slice(from + accepted, to))
      // Before a pause, or the end: neither repeats what is accepted.
      if (!isWhole) await this.#reach(batch)
      return { kind: 'called', outcome, accepted, isFirst: observer.isOneByOne === true }
    } finally {
      lane?.leave()
    }
  }

  /** Whether the observer is to go on behind what it has accepted. */
  #goesOn({ page, changes, accepted }: BatchInHand<T>): boolean {
    const { ending, seat } = this.#parts
    // As before each call: the lease may have run out while the observer was at work, or its machine slept.
    if (!seat.mayDispatch()) return false
    if (!ending.endsCalls) return true
    const isCut = cutBefore(changes, accepted) === accepted
    // Nobody can store where it stops: then it ends what it has begun.
    return !ending.isAbort && page !== undefined && !(isCut && this.#cut !== undefined)
  }

  #tellOfAbort(outcome: CallOutcome, rest: readonly Change<T>[]): void {
    const { ending, onNotice } = this.#parts
    const { kind, durationMs: inFlightMs } = outcome
    const last = rest.at(-1)
    if (!ending.isAbort || last === undefined) return
    if (kind === 'fenced' || (kind === 'ended' && !outcome.begun)) return
    const { reason } = ending
    // The other reasons are events of their own.
    if (reason !== 'shutdown' && reason !== 'leaseHandedOver') return
    onNotice({ kind: 'batchAborted', changes: rest.length, lsn: last.lsn, reason, inFlightMs })
  }

  /** Before the observer is told to stop in the middle of a page. */
  async #askForCut(): Promise<void> {
    const { page, accepted = 0 } = this.#inHand ?? {}
    if (page === undefined || this.#parts.ending.isAbort) return
    const { changes } = page
    // Behind the change in hand, so that a split before it is done costs nothing.
    const isNext = (_: unknown, at: number): boolean =>
      at > accepted && cutBefore(changes, at) === at
    const index = changes.findIndex(isNext)
    const position = index < 0 ? undefined : await this.#positionBefore(page, index)
    if (position !== undefined) this.#cut = { index, position }
  }

  /** Moves the position behind what the observer accepts, as long as its call is in hand. */
  async #follow(batch: BatchInHand<T>, over: AbortSignal): Promise<void> {
    const { clock, keeper } = this.#parts
    if (batch.page === undefined) return
    try {
      while (batch.accepted > batch.reached) {
        await clock.sleep(keeper.followMs, over)
        if (!(await this.#reach(batch, over))) return
      }
    } catch {
      // The call is over.
    }
  }

  /** Moves the position behind what is accepted of a page. False where none can be told, or too late: then one further on is told. */
  async #reach(batch: BatchInHand<T>, over?: AbortSignal): Promise<boolean> {
    const { keeper, ending } = this.#parts
    const { page } = batch
    if (page === undefined || !keeper.isAutomatic) return false
    const accepted = cutBefore(page.changes, batch.accepted)
    if (accepted <= batch.reached) return false
    let position = this.#cut?.index === accepted ? this.#cut.position : undefined
    const asked = (async () => {
      position ??= await this.#positionBefore(page, accepted)
    })()
    await ending.untilSettled(asked, () => ending.graceIsOver)
    if (position === undefined || over?.aborted === true) return false
    const keepsTries = batch.triedFrom !== undefined && batch.triedFrom >= accepted
    keeper.done(position, accepted - batch.reached, keepsTries)
    batch.reached = accepted
    return true
  }

  /** The same call, in a span if somebody wants one. */
  #observed(piece: readonly Change<T>[], call: ObserverCall): ObserverCall {
    const { telemetry, feed, seat, options } = this.#parts
    if (telemetry === undefined) return call
    const about = {
      type: 'process',
      name: 'process',
      destination: feed.description,
      group: options.group,
      client: options.hostName,
      partition: seat.lease.id,
      count: piece.length,
      items: piece,
    } as const
    return (given) => observedCall(telemetry, about, async () => call(given))
  }

  /** Stores with the lease which changes are being tried, so that its next owner knows of a process that died. */
  async #store(batch: BatchInHand<T>, { from, tries }: Tries): Promise<boolean> {
    const { page } = batch
    if (page === undefined) return true
    const { keeper } = this.#parts
    batch.triedFrom = from
    const exact = from === 0 ? keeper.front : await this.#positionBefore(page, from)
    try {
      await keeper.mark(exact, this.#attemptsOf(page, { from, tries }))
      return true
    } catch {
      return false
    }
  }

  #attemptsOf({ changes }: FeedPage<T>, { from, tries }: Tries): BatchAttempts {
    const { feed, options } = this.#parts
    const change = changes[from]!
    const first = deadLetterId({ group: options.group, feed: feed.identity, change })
    return { count: tries.count, size: tries.size, first }
  }

  /** In the middle of a transaction, before it. Undefined where the page begins, and where the feed makes no positions of LSNs. */
  async #positionBefore(
    { changes, continuation }: FeedPage<T>,
    index: number,
  ): Promise<Checkpoint | undefined> {
    const { feed, seat, options } = this.#parts
    const { range } = seat.lease
    const done = changes[cutBefore(changes, index) - 1]?.lsn
    if (done === undefined) return undefined
    const { mode } = options
    try {
      return await feed.positionAt?.({ range, lsn: done, mode, page: continuation })
    } catch {
      // Then the next owner finds it by its name.
      return undefined
    }
  }

  async #setAside(
    { changes, letter }: Batch<T>,
    { from, error, attempt: attempts }: StepOf<'setAside'>,
  ): Promise<boolean> {
    const { office } = this.#parts
    const failure = { error, attempts }
    return letter === undefined
      ? office.take(changes[from]!, failure)
      : office.putBack(letter, failure)
  }
}

/** Where the last transaction ends at or before `index`. */
function cutBefore(changes: readonly Change[], index: number): number {
  let cut = index
  while (cut > 0 && changes[cut - 1]?.lsn === changes[cut]?.lsn) cut -= 1
  return cut
}

function sourceOf<T extends DocumentBody>({ page, letter }: Batch<T>): BatchSource {
  if (page !== undefined) return 'page'
  return letter === undefined ? 'lane' : 'letter'
}
