import type { BatchAttempts } from '@tidemark/contracts'
import type { FailurePolicy } from './pump-options.ts'

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

/** Where in a batch the changes begin that an earlier owner of the lease tried. */
export interface TriedBefore {
  readonly index: number
  readonly tries: TriesOfPiece
}

/**
 * - `again`: the same piece, after a pause.
 * - `smaller`: its first half, at once.
 * - `isolated`: it is one change, and has had its tries.
 * - `halt`: nothing more.
 */
export type Verdict = 'again' | 'smaller' | 'isolated' | 'halt'

/**
 * Nobody saw how a try ended: a process may be stopped, or lose its lease, for other reasons than the change in
 * its hands. Fewer of them are never enough to give a change up, however few tries it is to have.
 */
const MIN_UNSEEN = 3

/**
 * Which piece of one batch is next, and what is known of it: the whole batch `maxAttempts` times, then ever smaller
 * parts of what failed once each, then a single change `maxAttempts` times. What comes after the failing change is
 * tried as a whole again. In order, always.
 *
 * Tries of an earlier owner begin at a change of the batch. What comes before it was accepted, and is a whole of its
 * own. Tries of several changes tell nothing of one of them alone.
 */
export class Bisection {
  readonly #policy: FailurePolicy
  readonly #length: number
  /** Until the changes are reached of which it speaks. */
  #before: TriedBefore | undefined
  #from = 0
  /** Where the changes end that are tried as a whole. */
  #end: number
  /** Changes tried together. */
  #size: number
  #count = 0
  /** Where the part ends that is known to hold a failing change. */
  #suspectEnd = 0
  /** A try of the piece failed here: what counts from now on are failures that somebody saw. */
  #isSeen = false
  /** The part that is known to hold a failing change was found by others, who may have died of it. */
  #isInherited = false

  constructor(length: number, policy: FailurePolicy, before: TriedBefore | undefined) {
    this.#policy = policy
    this.#length = length
    this.#before = before
    this.#end = before?.index ?? length
    this.#size = this.#end
    if (before?.index === 0) this.#resume(before.tries)
  }

  /** Undefined when the whole batch is done. */
  get piece(): Piece | undefined {
    if (this.#from >= this.#end) return undefined
    return { from: this.#from, to: this.#to, attempt: this.#count + 1 }
  }

  /** What is known of the piece when the next try of it is made. */
  get nextAttempt(): TriesOfPiece {
    return { count: this.#count + 1, size: this.#knownSize }
  }

  /** What is known of the piece if the next try is not made; undefined = nothing. */
  get triesSoFar(): TriesOfPiece | undefined {
    const size = this.#knownSize
    return this.#count === 0 && size <= 1 ? undefined : { count: this.#count, size }
  }

  /** What is to be known of a piece that has had its tries, all of them seen: the next owner makes one more. */
  get onceMore(): TriesOfPiece {
    const count = Math.min(this.#count, this.#policy.maxAttempts - 1)
    return { count, size: this.#knownSize }
  }

  /** Something failed, here or in a process that died. */
  get isTroubled(): boolean {
    return this.#count > 0 || this.#isIsolating
  }

  /** The piece may be what ended a process: several times, or found in halves of what did. */
  get isSuspect(): boolean {
    return this.#isInherited && !this.#isSeen && (this.#count > 1 || this.#isIsolating)
  }

  /** The piece has had its tries without anybody seeing how they ended: each took its process with it. */
  get isSpent(): boolean {
    const { mode, maxAttempts } = this.#policy
    if (this.#isSeen || mode === 'retryForever') return false
    if (this.#count < Math.max(maxAttempts, MIN_UNSEEN)) return false
    return mode === 'haltRange' || this.#to - this.#from === 1
  }

  /** The piece was accepted, or its only change was taken out of the way. */
  passed(): void {
    const before = this.#before
    this.#from = this.#to
    this.#count = 0
    this.#isSeen = false
    if (before !== undefined && this.#from === before.index) {
      this.#resume(before.tries)
      return
    }
    const left = this.#suspectEnd - this.#from
    this.#size = left > 0 ? Math.min(this.#size, left) : this.#end - this.#from
  }

  /** Some changes at the beginning of the piece were accepted, and not all: nobody has tried the others yet. */
  passedSome(changes: number): void {
    const to = this.#to
    this.#from += changes
    this.#count = 0
    this.#isSeen = false
    this.#size = (this.#isIsolating ? to : this.#end) - this.#from
  }

  /** @param isFirst the cause is the first change of the piece */
  failed(isFirst: boolean): Verdict {
    this.#isSeen = true
    this.#count += 1
    if (isFirst && this.#policy.mode === 'deadLetter') {
      this.#size = 1
      this.#suspectEnd = this.#to
    }
    if (this.#policy.mode === 'retryForever' || this.#count < this.#limit) return 'again'
    if (this.#policy.mode === 'haltRange') return 'halt'
    if (this.#to - this.#from === 1) return 'isolated'
    this.#halve()
    return 'smaller'
  }

  /** Goes on with what an earlier owner tried. */
  #resume({ count, size }: TriesOfPiece): void {
    this.#before = undefined
    this.#end = this.#length
    this.#size = this.#end - this.#from
    this.#isInherited = true
    if (this.#policy.mode !== 'deadLetter') {
      this.#count = count
      return
    }
    if (size > 0) {
      this.#size = Math.min(size, this.#size)
      this.#suspectEnd = this.#to
    }
    if (this.#size > 1 || size === 1) this.#count = count
    if (this.#size > 1 && this.#count >= this.#limit) this.#halve()
  }

  get #to(): number {
    return Math.min(this.#end, this.#from + this.#size)
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
