import type { BatchAttempts, Checkpoint, DocumentBody } from '@tidemark/contracts'
import type { CheckpointFrequency } from './pump-options.ts'
import type { PumpParts } from './pump-parts.ts'

type KeeperParts = Pick<
  PumpParts<DocumentBody>,
  'seat' | 'clock' | 'bell' | 'ending' | 'onNotice' | 'options'
>

/** Small batches share a checkpoint for so long (decision 0038). */
const GATHER_MS = 10
/** Batches of so many changes are small together, unless pages hold fewer. */
const GATHER_CHANGES = 100

/** The end of pages without changes is stored at most this often: other groups' purges wait for it. */
const EMPTY_ADVANCE_MS = 5_000

/** Where one pump stands, and what of it is stored, and when (PH-5). */
export class PositionKeeper {
  readonly #parts: KeeperParts
  #processed: Checkpoint | undefined
  /** Position that the observer asked for, in manual mode: the only one to be stored on close. */
  #manual: Checkpoint | undefined
  /** Where the tries are kept of changes that are not done. */
  #marked: Checkpoint | undefined
  /** Calls of `context.checkpoint()` that have not settled. */
  #askedStores = 0
  /** Highest position that was asked to be stored, and that is. */
  #asked: Checkpoint
  /** As `#asked`, without what an observer asked for before it was done. */
  #own: Checkpoint
  #storedLsn: number
  /** Batches that are done and not stored, in order; only where the store is waited for. */
  readonly #unstored: { readonly lsn: number; readonly changes: number }[] = []
  /** Nothing more is called before everything up to here is stored: else tries of it would count once more. */
  #triedLsn = 0
  #unstoredChanges = 0
  #emptyStoredMs: number
  /** Changes done since a position was last to be stored, and when that was. */
  #newChanges = 0
  #requestedMs: number
  /** A timer runs until what was done is to be stored. */
  #isTimed = false

  constructor(parts: KeeperParts) {
    const start = parts.seat.lease.checkpoint
    const nowMs = parts.clock.monotonicMs()
    this.#parts = parts
    this.#asked = start
    this.#own = start
    this.#marked = start.attempts === undefined ? undefined : start
    this.#storedLsn = start.lsn
    this.#emptyStoredMs = nowMs
    this.#requestedMs = this.#waitsForStore ? -Infinity : nowMs
  }

  /** Everything up to here is done; undefined before the first batch. */
  get processed(): Checkpoint | undefined {
    return this.#processed
  }

  /** Whether the host stores positions of its own accord, also on close. */
  get isAutomatic(): boolean {
    return this.#frequency !== 'manual'
  }

  /** Calls of observers that wait for a store. */
  get isAsked(): boolean {
    return this.#askedStores > 0
  }

  /** Whether the next batch has to wait until what is before it is stored. */
  get mustWait(): boolean {
    if (!this.#waitsForStore) return false
    if (this.#storedLsn < this.#triedLsn) return true
    // The next one would be in hand.
    const others = this.#parts.options.maxUnstoredBatches - 1
    const fit = this.#unstoredChanges <= others * this.#smallTogether
    return this.#unstored.length > others && !fit
  }

  /** Changes that are done and would come again; 0 where nobody waits for the store. */
  get unstoredChanges(): number {
    return this.#unstoredChanges
  }

  /** Before everything that is not done: the end of what was, and of empty pages behind it. */
  get front(): Checkpoint {
    const processed = this.#processed
    return processed !== undefined && processed.lsn > this.#own.lsn ? processed : this.#own
  }

  /** How often the position of a batch in hand is to be moved by what is accepted of it. */
  get followMs(): number {
    const frequency = this.#frequency
    return typeof frequency === 'object' && 'everyMs' in frequency ? frequency.everyMs : GATHER_MS
  }

  /** `changes` more are done, up to here. `keepsTries`: those that are stored are of what comes behind it. */
  done(position: Checkpoint, changes: number, keepsTries = false): void {
    this.#processed = { continuation: position.continuation, lsn: position.lsn }
    this.#newChanges += changes
    if (this.#waitsForStore) {
      this.#unstored.push({ lsn: position.lsn, changes })
      this.#unstoredChanges += changes
    }
    const marked = this.#marked
    if (marked?.attempts === undefined || keepsTries) this.#storeWhenDue()
    else this.#triesAreOver(this.#processed, marked)
  }

  /** Stores at once what waits to share a checkpoint. */
  storeGathered(): void {
    if (this.#waitsForStore && this.#newChanges > 0) this.#storeNow()
  }

  /** Time until the end of empty pages, `emptyUpTo`, has to be stored; Infinity = there is none to store. */
  emptyDueInMs(emptyUpTo: Checkpoint | undefined): number {
    if (!this.isAutomatic || emptyUpTo === undefined) return Infinity
    if (emptyUpTo.lsn <= this.#asked.lsn) return Infinity
    return Math.max(0, this.#emptyStoredMs + EMPTY_ADVANCE_MS - this.#parts.clock.monotonicMs())
  }

  storeEmptyIfDue(emptyUpTo: Checkpoint | undefined): void {
    if (emptyUpTo === undefined || this.emptyDueInMs(emptyUpTo) > 0) return
    const nowMs = this.#parts.clock.monotonicMs()
    this.#emptyStoredMs = nowMs
    this.#own = emptyUpTo
    this.#isRequested(nowMs)
    this.#store(emptyUpTo).catch(() => {})
  }

  /**
   * Stores what the observer asks for: `at`, the end of what it has in hand, or else of all that was done before.
   * Rejects with ERR_LEASE_LOST.
   */
  async storeAsked(at: Checkpoint | undefined): Promise<void> {
    const position = at ?? this.#processed
    if (position === undefined) return
    this.#manual = { continuation: position.continuation, lsn: position.lsn }
    await this.#storeForObserver(at === undefined ? this.#withTries(this.#manual) : this.#manual)
  }

  /** Stores nothing new for the observer: what it has in hand moves no position. Rejects with ERR_LEASE_LOST. */
  storeAgain(): Promise<void> {
    return this.#storeForObserver(this.#withTries(this.#asked))
  }

  /**
   * Stores that what comes after `exact` is being tried. Where the position is not the host's to move, or
   * none can be told, the tries are kept with the one that is stored.
   */
  mark(exact: Checkpoint | undefined, attempts: BatchAttempts): Promise<void> {
    const { continuation, lsn } = (this.isAutomatic ? exact : undefined) ?? this.#asked
    this.#marked = { continuation, lsn, attempts }
    if (this.isAutomatic && exact !== undefined && exact.lsn > this.#own.lsn) this.#own = exact
    this.#isAsking(this.#marked)
    return this.#parts.seat.storeCheckpoint(this.#marked)
  }

  /** The try that was marked last was not made: so many there were. Stored with the release. */
  unmark(attempts: BatchAttempts | undefined): void {
    if (this.#marked === undefined) return
    const { continuation, lsn } = this.#marked
    this.#marked = { continuation, lsn, attempts }
  }

  /** Stores at once what `unmark` left: a process that ends while it waits has tried nothing. */
  storeUnmarked(): void {
    if (this.#marked === undefined) return
    this.#parts.seat.storeCheckpoint(this.#marked).catch(() => {})
  }

  /** What is to be stored with the release, if everything was done up to `emptyUpTo`. */
  last(emptyUpTo: Checkpoint | undefined): Checkpoint | undefined {
    const position = this.isAutomatic ? (emptyUpTo ?? this.#processed) : this.#manual
    return position === undefined ? this.#marked : this.#withTries(position)
  }

  /** With the tries of what comes behind it: they are not forgotten because a position is told once more. */
  #withTries({ continuation, lsn }: Checkpoint): Checkpoint {
    const marked = this.#marked
    if (marked === undefined) return { continuation, lsn }
    return marked.lsn >= lsn ? marked : { continuation, lsn, attempts: marked.attempts }
  }

  /** Stored at once, however seldom positions are: a process that ends now was not ended by what was accepted. */
  #triesAreOver(processed: Checkpoint, { continuation, lsn }: Checkpoint): void {
    if (this.isAutomatic) {
      this.#marked = undefined
      this.#triedLsn = processed.lsn
      this.#storeNow()
      return
    }
    // The position is not the host's to move.
    this.#marked = { continuation, lsn }
    this.#parts.seat.storeCheckpoint(this.#marked).catch(() => {})
  }

  async #storeForObserver(position: Checkpoint): Promise<void> {
    this.#askedStores += 1
    try {
      await this.#store(position)
    } finally {
      this.#askedStores -= 1
      this.#parts.bell.ring()
    }
  }

  get #frequency(): CheckpointFrequency {
    return this.#parts.options.checkpointFrequency
  }

  /** By a timer of its own: it does not wait for the batch in hand. */
  #storeWhenDue(): void {
    const { clock, ending } = this.#parts
    const dueInMs = this.#changesDueInMs(clock.monotonicMs())
    if (dueInMs === 0) this.#storeNow()
    else if (dueInMs < Infinity && !this.#isTimed) {
      this.#isTimed = true
      clock.sleep(dueInMs, ending.endedSignal).then(
        () => {
          this.#isTimed = false
          this.#storeWhenDue()
        },
        // Not only with the release: of a pump that is aborted before its observer settles it stores nothing.
        () => {
          this.#isTimed = false
          this.storeGathered()
        },
      )
    }
  }

  #storeNow(): void {
    if (this.#processed === undefined) return
    this.#isRequested(this.#parts.clock.monotonicMs())
    // A rejection says that the lease is lost; then the end is coming anyway.
    this.#store(this.#withTries(this.#processed)).catch(() => {})
  }

  /** The most changes of batches that count as one. */
  get #smallTogether(): number {
    const { maxItemCount = -1 } = this.#parts.options
    return maxItemCount === -1 ? GATHER_CHANGES : Math.min(maxItemCount, GATHER_CHANGES)
  }

  /** Whether a crash may repeat a few batches at most: then the next one waits for the store. */
  get #waitsForStore(): boolean {
    return this.#frequency === 'everyBatch'
  }

  #isRequested(nowMs: number): void {
    this.#newChanges = 0
    this.#requestedMs = nowMs
  }

  /** Time until what was done is to be stored; 0 = now; Infinity = not by time. */
  #changesDueInMs(nowMs: number): number {
    const frequency = this.#frequency
    if (this.#newChanges === 0 || frequency === 'manual') return Infinity
    if (frequency === 'everyBatch') {
      if (this.#newChanges >= this.#smallTogether || this.mustWait) return 0
      return Math.max(0, (Math.floor(this.#requestedMs / GATHER_MS) + 1) * GATHER_MS - nowMs)
    }
    if ('everyChanges' in frequency)
      return this.#newChanges >= frequency.everyChanges ? 0 : Infinity
    return Math.max(0, this.#requestedMs + frequency.everyMs - nowMs)
  }

  #isAsking(checkpoint: Checkpoint): void {
    if (checkpoint.lsn > this.#asked.lsn) this.#asked = checkpoint
  }

  #isStored(lsn: number): void {
    this.#storedLsn = Math.max(this.#storedLsn, lsn)
    const left = this.#unstored.findIndex((one) => one.lsn > this.#storedLsn)
    const gone = this.#unstored.splice(0, left < 0 ? this.#unstored.length : left)
    for (const { changes } of gone) this.#unstoredChanges -= changes
  }

  async #store(checkpoint: Checkpoint): Promise<void> {
    const { seat, onNotice, bell } = this.#parts
    this.#isAsking(checkpoint)
    await seat.storeCheckpoint(checkpoint)
    // A later one was told already.
    if (checkpoint.lsn < this.#storedLsn) return
    this.#isStored(checkpoint.lsn)
    onNotice({ kind: 'checkpointed', lsn: checkpoint.lsn })
    bell.ring()
  }
}
