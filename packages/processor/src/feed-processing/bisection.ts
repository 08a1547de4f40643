import type { BatchAttempts } from '@tidemark/contracts'

/** What becomes of a batch that an observer does not accept (PH-7). */
export interface FailurePolicy {
  readonly mode: 'retryForever' | 'deadLetter' | 'haltRange'
  /** Tries of a whole batch, and again of a change that was singled out. */
  readonly maxAttempts: number
  /** So many letters without a success between them: then it is not the changes' fault, and none goes away. */
  readonly maxConsecutiveDeadLetters: number
}

/** Part of a batch to be handed to the observer. */
export interface Piece {
  readonly from: number
  /** Exclusive. */
  readonly to: number
  /** 1 for the first try of it. */
  readonly attempt: number
}

/** What is stored with a try. */
export type TriesOfPiece = Pick<BatchAttempts, 'count' | 'size'>

/**
 * - `again`: the same piece, after a pause.
 * - `smaller`: its first half, at once.
 * - `isolated`: it is one change, and has had its tries.
 * - `halt`: nothing more.
 */
export type Verdict = 'again' | 'smaller' | 'isolated' | 'halt'

/**
 * Nobody saw how a try ended: a process may be stopped, or lose its lease, for other reasons than the change in
 * its hands. So few of them are never enough to give a change up unseen, however few tries it is to have.
 */
const MIN_UNSEEN = 3

/**
 * Decides which part of one batch is tried next, and when a change is given up: the whole batch
 * `maxAttempts` times, then ever smaller parts of what failed once each, then a single change
 * `maxAttempts` times. What comes after the failing change is tried as a whole again. In order, always.
 *
 * Knows the tries of those who died in the middle (`resumed`, of the first change), so that a change which
 * kills its process is found too. Tries of several tell nothing of one of them alone.
 */
export class Bisection {
  readonly #length: number
  readonly #policy: FailurePolicy
  #from = 0
  /** Changes tried together. */
  #size: number
  #count = 0
  /** Where the part ends that is known to hold a failing change. */
  #suspectEnd = 0
  /** A try of the piece failed here: what counts from now on are failures that somebody saw. */
  #isSeen = false
  /** The part that is known to hold a failing change was found by others, who may have died of it. */
  #isInherited = false

  constructor(length: number, policy: FailurePolicy, resumed?: TriesOfPiece) {
    this.#length = length
    this.#policy = policy
    this.#size = length
    if (resumed === undefined) return
    this.#isInherited = true
    const { count, size } = resumed
    if (policy.mode !== 'deadLetter') {
      this.#count = count
      return
    }
    if (size > 0) {
      this.#size = Math.min(size, length)
      this.#suspectEnd = this.#size
    }
    if (this.#size > 1 || size === 1) this.#count = count
    if (this.#size > 1 && this.#count >= this.#limit) this.#halve()
  }

  /** Undefined when the whole batch is done. */
  get piece(): Piece | undefined {
    if (this.#from >= this.#length) return undefined
    return { from: this.#from, to: this.#to, attempt: this.#count + 1 }
  }

  /** What is to be known of the next try before it is made. */
  get nextAttempt(): TriesOfPiece {
    return { count: this.#count + 1, size: this.#knownSize }
  }

  /** What is to be known before the next try if that is not made after all. */
  get triesSoFar(): TriesOfPiece {
    return { count: this.#count, size: this.#knownSize }
  }

  /** What is to be known of a piece that has had its tries, all of them seen: whoever comes next makes one more. */
  get onceMore(): TriesOfPiece {
    const count = Math.min(this.#count, this.#policy.maxAttempts - 1)
    return { count, size: this.#knownSize }
  }

  /** Something failed, here or in a process that died. */
  get isTroubled(): boolean {
    return this.#count > 0 || this.#isIsolating
  }

  /** The next piece may be what ended a process: several times, or found in halves of what did. */
  get isSuspect(): boolean {
    return this.#isInherited && !this.#isSeen && (this.#count > 1 || this.#isIsolating)
  }

  /** The next piece has had its tries without anybody seeing how they ended: each took its process with it. */
  get isSpent(): boolean {
    const { mode, maxAttempts } = this.#policy
    if (this.#isSeen || mode === 'retryForever') return false
    if (this.#count < Math.max(maxAttempts, MIN_UNSEEN)) return false
    return mode === 'haltRange' || this.#to - this.#from === 1
  }

  /** The piece was accepted, or its only change was taken out of the way. */
  passed(): void {
    this.#from = this.#to
    this.#count = 0
    this.#isSeen = false
    const left = this.#suspectEnd - this.#from
    this.#size = left > 0 ? Math.min(this.#size, left) : this.#length - this.#from
  }

  failed(): Verdict {
    this.#isSeen = true
    this.#count += 1
    if (this.#policy.mode === 'retryForever' || this.#count < this.#limit) return 'again'
    if (this.#policy.mode === 'haltRange') return 'halt'
    if (this.#to - this.#from === 1) return 'isolated'
    this.#halve()
    return 'smaller'
  }

  get #to(): number {
    return Math.min(this.#length, this.#from + this.#size)
  }

  get #isIsolating(): boolean {
    return this.#suspectEnd > this.#from
  }

  get #knownSize(): number {
    const size = this.#to - this.#from
    return this.#isIsolating || size === 1 ? size : 0
  }

  get #limit(): number {
    const isPart = this.#isIsolating && this.#to - this.#from > 1
    return isPart ? 1 : this.#policy.maxAttempts
  }

  #halve(): void {
    this.#suspectEnd = this.#to
    this.#size = Math.ceil((this.#to - this.#from) / 2)
    this.#count = 0
  }
}
