import { type BatchAttempts, type Change, type Lsn } from '@tidemark/contracts'
import { assertNever } from '@tidemark/contracts/internal'
import { deadLetterId, lsnOfDeadLetterId } from '../dead-letters/dead-letter-of.ts'
import { Bisection, type Piece, type TriedBefore, type TriesOfPiece } from './bisection.ts'
import type { CallOutcome } from './observer-calls.ts'
import type { EndStage } from './pump-ending.ts'
import type { PumpNotice } from './pump-events.ts'
import type { FailurePolicy } from './pump-options.ts'

export interface DeliveryCoreOptions {
  readonly policy: FailurePolicy
  /** Pages are dealt out to lanes, unless they have to come in order. */
  readonly hasLanes: boolean
  readonly group: string
  /** `ChangeFeedSource.identity`. */
  readonly feed: string
  /** Stored with the lease by its earlier owners. */
  readonly attempts: BatchAttempts | undefined
}

/**
 * Where the changes of a batch come from: the next page of the range, one key in a lane, or a dead letter that was
 * sent back. Tries are kept with the lease for those of a page.
 */
export type BatchSource = 'page' | 'lane' | 'letter'

/** What the core is told of a batch: what came of the last step, except `begin`. */
export type DeliveryEvent =
  | { readonly kind: 'begin' }
  | {
      readonly kind: 'called'
      readonly outcome: CallOutcome
      /** Changes of the piece, from its first one on; undefined = all that the call is the end of. */
      readonly accepted?: number | undefined
      /** What failed is the first change that was not accepted. */
      readonly isFirst?: boolean | undefined
    }
  /** False: the lease is lost. */
  | { readonly kind: 'stored'; readonly isStored: boolean }
  /** A letter was kept, or settled. False: the end came first. */
  | { readonly kind: 'put'; readonly isPut: boolean }
  /** A pause is over, or the end has come. */
  | { readonly kind: 'rested' }

interface Failure {
  readonly error: unknown
  /** Number of the try that failed. */
  readonly attempt: number
}

/** What is to be done before the next step. */
export type DeliveryNote =
  | { readonly kind: 'emit'; readonly notice: PumpNotice }
  /** To be told, and seen in the health of the host until the batch goes on. */
  | ({ readonly kind: 'failed'; readonly retryInMs: number | undefined } & Failure)
  /** The try that was stored last was not made: forget all tries, or store these with the release. */
  | { readonly kind: 'withdraw'; readonly from: number; readonly tries: TriesOfPiece | undefined }

/** What is next for a batch. */
export type DeliveryStep =
  /** Call the observer. As late as can be, store `tries`; if that fails, do not call it. */
  | {
      readonly kind: 'call'
      readonly piece: Piece
      readonly tries: TriesOfPiece | undefined
      /** It may be what ended a process: no other such piece of this host is to be called at the same time. */
      readonly isSuspect: boolean
    }
  /** Store that changes are being tried, from this one on. */
  | { readonly kind: 'store'; readonly from: number; readonly tries: TriesOfPiece }
  /** Tell of the failure, as `failed` does, and wait until it is time for the next try. */
  | ({ readonly kind: 'pause' } & Failure)
  /** Put the change away as a dead letter, or back if it was one. */
  | ({ readonly kind: 'setAside'; readonly from: number } & Failure)
  /** A dead letter that was sent back was accepted. */
  | { readonly kind: 'settle' }
  /** The range halts here: tell so, and wait for the end, which is told as `put`: false. */
  | ({ readonly kind: 'halt'; readonly lsn: Lsn } & Failure)
  /** The last step. `dealt`: the lanes take the page on. `ended`: the end came first. */
  | { readonly kind: 'over'; readonly outcome: 'done' | 'dealt' | 'ended' }

const DONE = { kind: 'over', outcome: 'done' } as const
const DEALT = { kind: 'over', outcome: 'dealt' } as const
const ENDED = { kind: 'over', outcome: 'ended' } as const

/** What follows from an event. */
export interface DeliveryEffects {
  readonly notes: readonly DeliveryNote[]
  readonly next: DeliveryStep
}

/** One batch on its way. */
export interface DeliveryBatch {
  readonly source: BatchSource
  readonly changes: readonly Change[]
  readonly bisection: Bisection
  /** Where the changes begin that an earlier owner tried. */
  readonly triedFrom: number | undefined
  readonly goesToLanes: boolean
  /** Once a try is stored, all are: what is stored must not speak of a change that is done. */
  storesTries: boolean
  /** What follows when something is stored. */
  afterStore: DeliveryStep
  wasSetAside: boolean
}

/**
 * Decides over the tries of one lease's changes: told what came of the last step of a batch, it says what is next.
 * Nothing in here waits, asks for the time or draws lots. States, events and invariants: docs/spec/delivery.md.
 */
export class DeliveryCore {
  readonly #options: DeliveryCoreOptions
  readonly #notes: DeliveryNote[] = []
  /** Tries of earlier owners, until the change is met that they begin with. */
  #resumed: BatchAttempts | undefined
  readonly #resumedLsn: number
  /** Nothing was done yet: the earlier owner may have died of what comes now. */
  #isFirst: boolean
  /**
   * A page was announced that went to the lanes. If a sink refuses what the pump writes, it refuses all of it: what was
   * announced, and is not done, was not tried.
   */
  isAnnounced = false
  /** Dead letters since the last success, and on their way. */
  #consecutive = 0
  #isSuspended = false

  constructor(options: DeliveryCoreOptions) {
    const { attempts, policy } = options
    this.#options = options
    this.#resumedLsn = attempts === undefined ? Number.NaN : lsnOfDeadLetterId(attempts.first ?? '')
    this.#resumed = Number.isNaN(this.#resumedLsn) ? undefined : attempts
    this.#isFirst = policy.mode !== 'retryForever'
  }

  /** A batch, to be told `begin`. */
  batch(source: BatchSource, changes: readonly Change[]): DeliveryBatch {
    const isPage = source === 'page'
    const before = isPage ? this.#triedBefore(changes) : undefined
    const isInOrder = before !== undefined || this.#resumed !== undefined
    const { policy, hasLanes } = this.#options
    // Nothing waits for a letter that was sent back longer than for its tries.
    const own: FailurePolicy = source === 'letter' ? { ...policy, mode: 'deadLetter' } : policy
    return {
      source,
      changes,
      bisection: new Bisection(changes.length, own, before),
      triedFrom: before?.index,
      goesToLanes: isPage && hasLanes && !isInOrder,
      storesTries: isPage && this.#isFirst,
      afterStore: DEALT,
      wasSetAside: false,
    }
  }

  handle(batch: DeliveryBatch, event: DeliveryEvent, end: EndStage): DeliveryEffects {
    const next = this.#take(batch, event, end)
    return { notes: this.#notes.splice(0), next }
  }

  #take(batch: DeliveryBatch, event: DeliveryEvent, end: EndStage): DeliveryStep {
    switch (event.kind) {
      case 'begin':
        return batch.goesToLanes ? this.#announce() : this.#tryNext(batch, end)
      case 'called':
        return this.#called(batch, event, end)
      case 'stored':
        return event.isStored ? batch.afterStore : ENDED
      case 'put':
        return event.isPut ? this.#put(batch, end) : ENDED
      case 'rested':
        return end === 'no' ? this.#tryNext(batch, end) : ENDED
      default:
        return assertNever(event)
    }
  }

  /** A process that dies with the first page in its lanes leaves word of it, whichever of its changes are in hand. */
  #announce(): DeliveryStep {
    if (!this.#isFirst) return DEALT
    this.#isFirst = false
    this.isAnnounced = true
    return { kind: 'store', from: 0, tries: { count: 1, size: 0 } }
  }

  #tryNext(batch: DeliveryBatch, end: EndStage): DeliveryStep {
    const { bisection, source } = batch
    const { piece } = bisection
    if (piece === undefined) return this.#allPassed(batch)
    if (end === 'now') return ENDED
    const given = bisection.isSpent ? this.#giveUpSpent(batch, piece) : undefined
    if (given !== undefined) return given
    batch.storesTries ||= source === 'page' && bisection.isTroubled
    const tries = batch.storesTries ? bisection.nextAttempt : undefined
    return { kind: 'call', piece, tries, isSuspect: bisection.isSuspect }
  }

  #allPassed({ source, wasSetAside }: DeliveryBatch): DeliveryStep {
    if (source === 'page') this.#isFirst = false
    return source === 'letter' && !wasSetAside ? { kind: 'settle' } : DONE
  }

  /** What was tried often enough, and nobody saw how it ended, is not tried once more. Undefined if it has to be. */
  #giveUpSpent(batch: DeliveryBatch, piece: Piece): DeliveryStep | undefined {
    const attempt = piece.attempt - 1
    const failure = { error: processEnded(attempt), attempt }
    if (this.#options.policy.mode === 'haltRange') return halted(batch, piece, failure)
    if (!this.#mayTake(batch, piece)) return undefined
    return { kind: 'setAside', from: piece.from, ...failure }
  }

  #called(
    batch: DeliveryBatch,
    { outcome, accepted, isFirst = false }: DeliveryEvent & { readonly kind: 'called' },
    end: EndStage,
  ): DeliveryStep {
    const piece = batch.bisection.piece!
    const all = piece.to - piece.from
    const count = accepted ?? (outcome.kind === 'done' ? all : 0)
    if (count > 0) this.#accepted(batch, piece, { count, durationMs: outcome.durationMs })
    const rest = batch.bisection.piece
    switch (outcome.kind) {
      case 'done':
        return this.#tryNext(batch, end)
      case 'failed': {
        const { error } = outcome
        if (count < all) {
          return this.#failed(batch, rest!, { error, attempt: rest!.attempt }, { isFirst, end })
        }
        // Nothing is left that could be tried again.
        this.#notes.push({ kind: 'failed', error, attempt: piece.attempt, retryInMs: undefined })
        return this.#tryNext(batch, end)
      }
      case 'fenced':
        // Nothing was written: the changes are innocent.
        return this.#innocent(batch, rest)
      case 'ended':
        return outcome.begun ? ENDED : this.#innocent(batch, rest)
      default:
        return assertNever(outcome)
    }
  }

  #accepted(
    { changes, bisection }: DeliveryBatch,
    { from, to, attempt }: Piece,
    { count, durationMs }: { readonly count: number; readonly durationMs: number },
  ): void {
    const { lsn } = changes[from + count - 1]!
    // It is not broken altogether.
    this.#consecutive = 0
    this.#isSuspended = false
    const notice = { kind: 'batchDone', changes: count, lsn, attempt, durationMs } as const
    this.#notes.push({ kind: 'emit', notice })
    if (count === to - from) bisection.passed()
    else bisection.passedSome(count)
  }

  #innocent({ storesTries, bisection }: DeliveryBatch, piece: Piece | undefined): DeliveryStep {
    const tries = bisection.triesSoFar
    if (storesTries && piece !== undefined) {
      this.#notes.push({ kind: 'withdraw', from: piece.from, tries })
    }
    return ENDED
  }

  #failed(
    batch: DeliveryBatch,
    piece: Piece,
    failure: Failure,
    { isFirst, end }: { readonly isFirst: boolean; readonly end: EndStage },
  ): DeliveryStep {
    const verdict = batch.bisection.failed(isFirst)
    switch (verdict) {
      case 'again':
        return { kind: 'pause', ...failure }
      case 'smaller': {
        const { lsn } = batch.changes[piece.to - 1]!
        const { error } = failure
        const notice = {
          kind: 'batchBisected',
          changes: piece.to - piece.from,
          lsn,
          error,
        } as const
        this.#notes.push({ kind: 'failed', retryInMs: 0, ...failure }, { kind: 'emit', notice })
        return this.#tryNext(batch, end)
      }
      case 'isolated':
        // Should the process end before the letter is put away, the next one finds the cause again.
        if (!this.#mayTake(batch, piece)) {
          return storedFirst(batch, piece, { kind: 'pause', ...failure })
        }
        this.#notes.push({ kind: 'failed', retryInMs: undefined, ...failure })
        return storedFirst(batch, piece, { kind: 'setAside', from: piece.from, ...failure })
      case 'halt':
        this.#notes.push({ kind: 'failed', retryInMs: undefined, ...failure })
        return halted(batch, piece, failure)
      default:
        return assertNever(verdict)
    }
  }

  #put(batch: DeliveryBatch, end: EndStage): DeliveryStep {
    const { bisection } = batch
    // Of a letter that was accepted it is the end.
    if (bisection.piece === undefined) return DONE
    batch.wasSetAside = true
    bisection.passed()
    return this.#tryNext(batch, end)
  }

  /** Whether one more change may be taken out of the way: by who asks, as with lanes others ask meanwhile. */
  #mayTake({ source, changes }: DeliveryBatch, { from }: Piece): boolean {
    // It was out of the way already.
    if (source === 'letter') return true
    const consecutive = this.#consecutive
    if (consecutive < this.#options.policy.maxConsecutiveDeadLetters) {
      this.#consecutive += 1
      return true
    }
    if (!this.#isSuspended) {
      this.#isSuspended = true
      const { lsn } = changes[from]!
      this.#notes.push({
        kind: 'emit',
        notice: { kind: 'deadLettersSuspended', consecutive, lsn },
      })
    }
    return false
  }

  /**
   * Looks in the next page for the change with which the tries of earlier owners begin. When its document was
   * written again meanwhile, or it is in another part of a range that was split, it does not come any more: then they
   * count for nobody.
   */
  #triedBefore(changes: readonly Change[]): TriedBefore | undefined {
    const tries = this.#resumed
    if (tries === undefined) return undefined
    const { group, feed } = this.#options
    const lsn = this.#resumedLsn
    const index = changes.findIndex(
      (change) => change.lsn === lsn && deadLetterId({ group, feed, change }) === tries.first,
    )
    if (index >= 0 || (changes.at(-1)?.lsn ?? 0) >= lsn) this.#resumed = undefined
    return index >= 0 ? { index, tries } : undefined
  }
}

/** Stores first that the next owner is to make one more try, where tries are stored. */
function storedFirst(batch: DeliveryBatch, { from }: Piece, next: DeliveryStep): DeliveryStep {
  if (batch.source !== 'page') return next
  batch.afterStore = next
  return { kind: 'store', from, tries: batch.bisection.onceMore }
}

function halted(batch: DeliveryBatch, piece: Piece, failure: Failure): DeliveryStep {
  const { lsn } = batch.changes[piece.to - 1]!
  return storedFirst(batch, piece, { kind: 'halt', lsn, ...failure })
}

/** Stands for the error that nobody could tell any more. */
function processEnded(times: number): Error {
  const message = `the processing of this change ended ${times} times without a known result: the process died, or lost its lease`
  return Object.assign(new Error(message), { name: 'ProcessEndedError' })
}
