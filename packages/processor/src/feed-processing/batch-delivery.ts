import type {
  BatchAttempts,
  Change,
  DocumentBody,
  FeedRange,
  IChangeFeedObserver,
  ObserverContext,
} from '@tidemark/contracts'
import type { Bell } from './bell.ts'
import { Bisection, type Piece } from './bisection.ts'
import type { DeadLetterOffice } from './dead-letter-office.ts'
import type { CallOutcome, ObserverCalls } from './observer-calls.ts'
import type { PumpEnding } from './pump-ending.ts'
import type { PumpNotice, PumpOptions } from './pump-options.ts'

export interface BatchDeliveryParts<T extends DocumentBody> {
  readonly range: FeedRange
  readonly options: PumpOptions
  readonly calls: ObserverCalls
  readonly office: DeadLetterOffice<T>
  readonly bell: Bell
  readonly ending: PumpEnding
  readonly onNotice: (notice: PumpNotice) => void
}

/** Changes to be handed to an observer, in order. */
export interface Batch<T extends DocumentBody> {
  readonly observer: IChangeFeedObserver<T>
  readonly changes: readonly Change<T>[]
  readonly contextOf: (changes: readonly Change<T>[], attempt: number) => ObserverContext
  /** Tries by those who had the lease before. */
  readonly resumed?: BatchAttempts | undefined
  /** Stores, before a try, that it is made; rejects when the lease is lost. Absent = nothing is stored. */
  readonly mark?: ((from: number, attempts: BatchAttempts) => Promise<void>) | undefined
  /** Whether the first try is stored too. */
  readonly marksFirst?: boolean | undefined
  /** Stands around each call. @default calls at once */
  readonly around?: ((call: () => Promise<CallOutcome>) => Promise<CallOutcome>) | undefined
}

/** Hands batches to an observer until each of their changes is accepted, or out of the way (PH-7). */
export class BatchDelivery<T extends DocumentBody> {
  readonly #parts: BatchDeliveryParts<T>

  constructor(parts: BatchDeliveryParts<T>) {
    this.#parts = parts
  }

  /** True when every change is done; false when the end came first. */
  async deliver(batch: Batch<T>): Promise<boolean> {
    const { calls, ending, options, office } = this.#parts
    const { changes, resumed, mark, marksFirst = false } = batch
    const bisection = new Bisection(changes.length, options.failurePolicy, resumed)
    let mustMark = marksFirst
    try {
      for (let piece = bisection.piece; piece !== undefined; piece = bisection.piece) {
        if (ending.endsCalls) return false
        if (bisection.isSpent && office.mayTake(changes[piece.from]!)) {
          const error = bisection.lastError ?? processEnded(piece.attempt - 1)
          if (!(await this.#setAside(batch, piece, error))) return false
          bisection.passed()
          continue
        }
        if (mark !== undefined && (mustMark || bisection.isTroubled)) {
          const isMarked = await mark(piece.from, bisection.nextAttempt).then(
            () => true,
            // The lease is lost; then the end is coming anyway.
            () => false,
          )
          if (!isMarked) return false
        }
        mustMark = false
        if (!(await this.#try(batch, piece, bisection))) return false
      }
      return true
    } finally {
      calls.succeeded(batch)
    }
  }

  /** One try of one piece, and what follows from it; false when the end came. */
  async #try(batch: Batch<T>, piece: Piece, bisection: Bisection): Promise<boolean> {
    const { calls, office, ending, onNotice } = this.#parts
    const { observer, contextOf, around = (call) => call() } = batch
    const { from, to, attempt } = piece
    const isWhole = from === 0 && to === batch.changes.length
    const changes = isWhole ? batch.changes : batch.changes.slice(from, to)
    const { lsn } = changes.at(-1)!
    const outcome = await around(() =>
      calls.once(contextOf(changes, attempt), (context) =>
        observer.processChanges(context, changes),
      ),
    )
    if (outcome.kind === 'ended') return false
    if (outcome.kind === 'done') {
      const { durationMs } = outcome
      office.accepted()
      calls.succeeded(batch)
      onNotice({ kind: 'batchDone', changes: changes.length, lsn, attempt, durationMs })
      bisection.passed()
      return true
    }
    const { error } = outcome
    const failure = { phase: 'processChanges', error, attempt } as const
    switch (bisection.failed(error)) {
      case 'again':
        await calls.failed(batch, failure)
        return !ending.isAsked
      case 'smaller':
        calls.failedNow(batch, { ...failure, retryInMs: 0 })
        onNotice({ kind: 'batchBisected', changes: changes.length, lsn, error })
        return true
      case 'isolated':
        if (!office.mayTake(changes[0]!)) {
          await calls.failed(batch, failure)
          return !ending.isAsked
        }
        calls.failedNow(batch, { ...failure, retryInMs: undefined })
        if (!(await this.#setAside(batch, piece, error))) return false
        bisection.passed()
        return true
      case 'halt':
        calls.failedNow(batch, { ...failure, retryInMs: undefined })
        return this.#halt(piece, { lsn, error })
    }
  }

  #setAside(batch: Batch<T>, { from, attempt }: Piece, error: unknown): Promise<boolean> {
    return this.#parts.office.take(batch.changes[from]!, { error, attempts: attempt })
  }

  /** The range stands still until somebody takes the lease away. */
  async #halt(
    { attempt }: Piece,
    { lsn, error }: { lsn: Change<T>['lsn']; error: unknown },
  ): Promise<false> {
    const { range, bell, ending, onNotice } = this.#parts
    onNotice({ kind: 'rangeHalted', range, lsn, attempts: attempt, error })
    while (!ending.isAsked) await bell.next
    return false
  }
}

/** Stands for the error that nobody could tell any more. */
function processEnded(times: number): Error {
  const message = `the process ended ${times} times while it processed this change`
  return Object.assign(new Error(message), { name: 'ProcessEndedError' })
}
