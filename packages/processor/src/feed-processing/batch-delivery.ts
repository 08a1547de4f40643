import type {
  Change,
  DeadLetter,
  DocumentBody,
  FeedRange,
  IChangeFeedObserver,
  ObserverContext,
} from '@tidemark/contracts'
import type { Bell } from './bell.ts'
import { Bisection, type FailurePolicy, type Piece, type TriesOfPiece } from './bisection.ts'
import type { DeadLetterOffice } from './dead-letter-office.ts'
import type { CallOutcome, ObserverCalls } from './observer-calls.ts'
import type { PumpEnding } from './pump-ending.ts'
import type { PumpNotice, PumpOptions } from './pump-options.ts'
import type { SuspectTurns } from './suspect-turns.ts'

export interface BatchDeliveryParts<T extends DocumentBody> {
  readonly range: FeedRange
  readonly options: PumpOptions
  readonly calls: ObserverCalls
  readonly office: DeadLetterOffice<T>
  readonly bell: Bell
  readonly ending: PumpEnding
  readonly turns: SuspectTurns
  readonly onNotice: (notice: PumpNotice) => void
}

/** Stands around a call, to wait for something before it. */
export type AroundCall = (call: () => Promise<CallOutcome>) => Promise<CallOutcome>

/** Keeps the tries of a batch, by the places of its changes. */
export interface TriesOfBatch {
  /** Stores, before a try, that it is made; false when the lease is lost. */
  store(from: number, tries: TriesOfPiece): Promise<boolean>
  /** The try that was stored last was not made. */
  withdraw(from: number, tries: TriesOfPiece): void
}

/** Changes to be handed to an observer, in order. */
export interface Batch<T extends DocumentBody> {
  readonly observer: IChangeFeedObserver<T>
  readonly changes: readonly Change<T>[]
  readonly contextOf: (changes: readonly Change<T>[], attempt: number) => ObserverContext
  /** Tries of its first changes by those who had the lease before. */
  readonly resumed?: TriesOfPiece | undefined
  /** Absent = tries are not kept. */
  readonly tries?: TriesOfBatch | undefined
  /** Whether the first try is stored too. */
  readonly storesFirst?: boolean | undefined
  /** @default calls at once */
  readonly around?: AroundCall | undefined
}

/** A dead letter that was sent back. */
export type RedrivenBatch<T extends DocumentBody> = Pick<
  Batch<T>,
  'observer' | 'contextOf' | 'around'
> & { readonly letter: DeadLetter<T> }

/** Hands batches to an observer until each of their changes is accepted, or out of the way (PH-7). */
export class BatchDelivery<T extends DocumentBody> {
  readonly #parts: BatchDeliveryParts<T>

  constructor(parts: BatchDeliveryParts<T>) {
    this.#parts = parts
  }

  /** True when every change is done; false when the end came first. Never rejects. */
  deliver(batch: Batch<T>): Promise<boolean> {
    return new Delivering(this.#parts, batch).run()
  }

  /**
   * True when the observer has accepted the change, or it was put back among the dead letters: whatever the
   * policy, nothing else waits for it longer than for its tries. False when the end came first. Never rejects.
   */
  async redeliver({ letter, ...rest }: RedrivenBatch<T>): Promise<boolean> {
    const batch = { ...rest, changes: [letter.change] }
    const delivering = new Delivering(this.#parts, batch, letter)
    if (!(await delivering.run())) return false
    return delivering.setAside > 0 || this.#parts.office.settle(letter)
  }
}

/** One batch on its way. */
class Delivering<T extends DocumentBody> {
  readonly #parts: BatchDeliveryParts<T>
  readonly #batch: Batch<T>
  readonly #redriven: DeadLetter<T> | undefined
  readonly #policy: FailurePolicy
  readonly #bisection: Bisection
  /** Changes that became dead letters. */
  setAside = 0

  constructor(parts: BatchDeliveryParts<T>, batch: Batch<T>, redriven?: DeadLetter<T>) {
    const { failurePolicy } = parts.options
    this.#parts = parts
    this.#batch = batch
    this.#redriven = redriven
    this.#policy = redriven === undefined ? failurePolicy : { ...failurePolicy, mode: 'deadLetter' }
    this.#bisection = new Bisection(batch.changes.length, this.#policy, batch.resumed)
  }

  async run(): Promise<boolean> {
    const { calls, ending } = this.#parts
    const { tries, storesFirst = false } = this.#batch
    const bisection = this.#bisection
    let storesTries = storesFirst
    try {
      for (let piece = bisection.piece; piece !== undefined; piece = bisection.piece) {
        if (ending.endsCalls) return false
        const spent = await this.#giveUpSpent(piece)
        if (spent === 'ended') return false
        if (spent === 'setAside') continue
        // Once stored, always: what is stored must not speak of a change that is done.
        storesTries ||= bisection.isTroubled
        if (!(await this.#try(piece, storesTries ? tries : undefined))) return false
      }
      return true
    } finally {
      calls.succeeded(this.#batch)
    }
  }

  /** What was tried often enough, and nobody saw how it ended, is not tried once more. */
  async #giveUpSpent(piece: Piece): Promise<'setAside' | 'ended' | 'no'> {
    const bisection = this.#bisection
    if (!bisection.isSpent) return 'no'
    const attempts = piece.attempt - 1
    const error = processEnded(attempts)
    if (this.#policy.mode === 'haltRange') {
      await this.#halt(piece, { error, attempts })
      return 'ended'
    }
    if (!this.#mayTake(piece)) return 'no'
    if (!(await this.#take(piece, { error, attempts }))) return 'ended'
    bisection.passed()
    return 'setAside'
  }

  /** One try of one piece, and what follows from it; false when the end came. */
  async #try(piece: Piece, tries: TriesOfBatch | undefined): Promise<boolean> {
    const { calls, office, onNotice } = this.#parts
    const { observer, contextOf, around = (call) => call() } = this.#batch
    const { from, attempt } = piece
    const changes = this.#changesOf(piece)
    // As late as can be: of a process that ends before the call the changes are innocent.
    const store = tries && (() => tries.store(from, this.#bisection.nextAttempt))
    const call = (context: ObserverContext): Promise<void> | void =>
      observer.processChanges(context, changes)
    const make = (prepare: typeof store): Promise<CallOutcome> =>
      around(() => calls.once(contextOf(changes, attempt), call, { changes, prepare }))
    const outcome = await (this.#bisection.isSuspect ? this.#inTurn(make, store) : make(store))
    if (outcome.kind === 'ended') {
      if (!outcome.begun) tries?.withdraw(from, this.#bisection.triesSoFar)
      return false
    }
    if (outcome.kind === 'fenced') {
      // Nothing was written: the changes are innocent.
      tries?.withdraw(from, this.#bisection.triesSoFar)
      return false
    }
    if (outcome.kind === 'failed') return this.#failed(piece, outcome.error)
    const { durationMs } = outcome
    office.accepted()
    calls.succeeded(this.#batch)
    const { lsn } = changes.at(-1)!
    onNotice({ kind: 'batchDone', changes: changes.length, lsn, attempt, durationMs })
    this.#bisection.passed()
    return true
  }

  /** No other change that may have ended a process is in hand meanwhile. */
  async #inTurn(
    make: (prepare: () => Promise<boolean>) => Promise<CallOutcome>,
    store: () => Promise<boolean> = async () => true,
  ): Promise<CallOutcome> {
    const { turns, ending } = this.#parts
    const turn = turns.take()
    try {
      await ending.untilSettled(turn.come, () => ending.endsCalls)
      return await make(() => {
        turn.begin()
        return store()
      })
    } finally {
      turn.end()
    }
  }

  async #failed(piece: Piece, error: unknown): Promise<boolean> {
    const { calls, onNotice } = this.#parts
    const { attempt } = piece
    const batch = this.#batch
    const failure = { phase: 'processChanges', error, attempt } as const
    switch (this.#bisection.failed()) {
      case 'again':
        return this.#pause(failure)
      case 'smaller': {
        const { length, [length - 1]: last } = this.#changesOf(piece)
        calls.failedNow(batch, { ...failure, retryInMs: 0 })
        onNotice({ kind: 'batchBisected', changes: length, lsn: last!.lsn, error })
        return true
      }
      case 'isolated': {
        const mayTake = this.#mayTake(piece)
        if (mayTake) calls.failedNow(batch, { ...failure, retryInMs: undefined })
        // Should the process end before the letter is put away, the next one finds the cause again.
        if (!(await this.#storeOnceMore(piece))) return false
        if (!mayTake) return this.#pause(failure)
        if (!(await this.#take(piece, { error, attempts: attempt }))) return false
        this.#bisection.passed()
        return true
      }
      case 'halt':
        calls.failedNow(batch, { ...failure, retryInMs: undefined })
        return this.#halt(piece, { error, attempts: attempt })
    }
  }

  async #pause(failure: {
    readonly phase: 'processChanges'
    readonly error: unknown
    readonly attempt: number
  }): Promise<boolean> {
    const { calls, ending } = this.#parts
    await calls.failed(this.#batch, failure)
    return !ending.isAsked
  }

  async #storeOnceMore({ from }: Piece): Promise<boolean> {
    return (await this.#batch.tries?.store(from, this.#bisection.onceMore)) ?? true
  }

  #changesOf({ from, to }: Piece): readonly Change<T>[] {
    const { changes } = this.#batch
    return from === 0 && to === changes.length ? changes : changes.slice(from, to)
  }

  #mayTake({ from }: Piece): boolean {
    return this.#redriven !== undefined || this.#parts.office.mayTake(this.#batch.changes[from]!)
  }

  async #take(
    { from }: Piece,
    failure: { readonly error: unknown; readonly attempts: number },
  ): Promise<boolean> {
    const { office } = this.#parts
    const letter = this.#redriven
    const isTaken =
      letter === undefined
        ? await office.take(this.#batch.changes[from]!, failure)
        : await office.putBack(letter, failure)
    if (isTaken) this.setAside += 1
    return isTaken
  }

  /** The range stands still until somebody takes the lease away. */
  async #halt(
    piece: Piece,
    { error, attempts }: { readonly error: unknown; readonly attempts: number },
  ): Promise<false> {
    const { range, bell, ending, onNotice } = this.#parts
    const { lsn } = this.#changesOf(piece).at(-1)!
    // Whoever opens it again is to make one try.
    if (!(await this.#storeOnceMore(piece))) return false
    onNotice({ kind: 'rangeHalted', range, lsn, attempts, error })
    while (!ending.isAsked) await bell.next
    return false
  }
}

/** Stands for the error that nobody could tell any more. */
function processEnded(times: number): Error {
  const message = `the processing of this change ended ${times} times without a known result: the process died, or lost its lease`
  return Object.assign(new Error(message), { name: 'ProcessEndedError' })
}
