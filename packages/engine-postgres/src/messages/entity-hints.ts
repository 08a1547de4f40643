import type { Clock } from '@tidemark/contracts'
import type { EntityPlace } from '@tidemark/store/messages'

/** How long a look at a list may begin where the last one found something. */
const READY_LOOK_MS = 250
/** The same as a multiple of what a look from the beginning takes. */
const READY_LOOK_SHARE = 10
const DUE_LOOK_MS = 60_000
/** Deleted ones are among them. What is forgotten is looked for again. */
const MOST_ENTITIES = 10_000
/** A transaction that locks messages is not older than this when it commits. If it is, its lock's end is found later. */
const SLOWEST_COMMIT_MS = 5_000

interface ReadyHint {
  /** No ready message has a number below it, as far as is known. */
  from: number
  /** When, and how long, it was last looked for from the beginning. */
  lookedAtMs: number
  tookMs: number
  /** Rises when messages come back. */
  returns: number
}

/** Where to look for the first end of a lock. */
export interface DueStart {
  /** No lock ends before it, in an entity of this version. */
  readonly fromMs: number
  readonly version: number
  /** There is no need to look. */
  readonly isKnown: boolean
}

interface DueHint {
  readonly fromMs: number
  readonly version: number
  readonly lookedAtMs: number
}

/** Where a take begins. */
export interface ReadyStart {
  readonly from: number
  readonly returns: number
}

/** What a take has found: its first message, or the number that the next one gets. */
export interface ReadyFound {
  readonly entity: number
  readonly start: ReadyStart
  readonly from: number
  /** Of a look from the beginning. */
  readonly tookMs: number | undefined
}

/** Without a hint. */
export const LOOK_FOR_DUE: DueStart = { fromMs: 0, version: 0, isKnown: false }

/**
 * Where the first ready message and the first end of a lock are to be looked for. In PostgreSQL's indexes the entries of
 * rows that have left a list stay until no transaction can see them any more: while one is held open, a look from the
 * beginning passes all of them, and takes longer and longer.
 *
 * Messages that were never taken only get higher numbers, in the order of commits. Those that come back are reported: by
 * this process at once, by others with their notification. A transaction that fails elsewhere reports nothing, so now and
 * then a look begins at the beginning, and so does one that found nothing.
 */
export class EntityHints {
  readonly #clock: Clock
  readonly #ready = new Map<number, ReadyHint>()
  readonly #due = new Map<number, DueHint>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Anything may have come back. */
  forget(): void {
    this.#ready.clear()
    this.#due.clear()
  }

  monotonicMs(): number {
    return this.#clock.monotonicMs()
  }

  startOf(entity: number): ReadyStart {
    const hint = this.#ready.get(entity)
    if (hint === undefined) return { from: 0, returns: 0 }
    const isOld = this.#isOlder(hint.lookedAtMs, Math.max(READY_LOOK_MS, this.#restMs(hint)))
    return { from: isOld ? 0 : hint.from, returns: hint.returns }
  }

  /** Whether a take that found nothing from its start on must look from the beginning. */
  mustLookAgain(entity: number): boolean {
    const hint = this.#ready.get(entity)
    return hint === undefined || this.#isOlder(hint.lookedAtMs, this.#restMs(hint))
  }

  /** Called when the transaction of the take has committed. */
  found({ entity, start, from, tookMs }: ReadyFound): void {
    const hint = this.#ready.get(entity)
    const returns = hint?.returns ?? 0
    // What came back meanwhile may not have been seen.
    const lowest = start.returns === returns ? from : Math.min(from, hint?.from ?? 0)
    if (tookMs !== undefined) {
      const lookedAtMs = this.#clock.monotonicMs()
      if (this.#ready.size >= MOST_ENTITIES) this.#ready.clear()
      this.#ready.set(entity, { from: lowest, lookedAtMs, tookMs, returns })
    } else if (hint !== undefined) hint.from = lowest
  }

  /** A message came back. */
  returned(entity: number, number: number): void {
    const hint = this.#ready.get(entity)
    if (hint === undefined) return
    hint.from = Math.min(hint.from, number)
    hint.returns++
  }

  /** A take may have been undone, or what was done before a place was read. */
  failed(entity: number): void {
    this.#ready.delete(entity)
    this.#due.delete(entity)
  }

  dueOf(entity: number, nowMs: number): DueStart {
    const hint = this.#due.get(entity)
    if (hint === undefined || this.#isOlder(hint.lookedAtMs, DUE_LOOK_MS)) return LOOK_FOR_DUE
    return { fromMs: hint.fromMs, version: hint.version, isKnown: hint.fromMs > nowMs }
  }

  /**
   * A place was read, and its first lock was looked for from `start` on. Every later lock ends a lock duration after the
   * stored clock, or later still.
   */
  sawDue(
    { record: { number, version, settings }, clock }: EntityPlace,
    { start, firstMs }: { readonly start: DueStart; readonly firstMs: number | undefined },
  ): void {
    const isFromStart = start.version === version
    if (start.isKnown && isFromStart) return
    const soonestMs = clock.lockMs + settings.lockDurationMs - SLOWEST_COMMIT_MS
    const fromMs = Math.max(0, Math.min(firstMs ?? Number.MAX_SAFE_INTEGER, soonestMs))
    const before = isFromStart ? this.#due.get(number) : undefined
    const lookedAtMs = before?.lookedAtMs ?? this.#clock.monotonicMs()
    if (this.#due.size >= MOST_ENTITIES) this.#due.clear()
    this.#due.set(number, { fromMs, version, lookedAtMs })
  }

  #restMs({ tookMs }: ReadyHint): number {
    return tookMs * READY_LOOK_SHARE
  }

  #isOlder(atMs: number, ageMs: number): boolean {
    return this.#clock.monotonicMs() - atMs >= ageMs
  }
}
