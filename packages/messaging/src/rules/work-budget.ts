import { MAX_ADDED_BYTES } from '@tidemark/store/messages'

/** A rule cannot be evaluated for a message, though it is well-formed (TOP-08). */
export class EvaluationError extends Error {}

// Made once: the stack of an error costs more than most rules.
const TOO_MUCH_WORK = new EvaluationError('the rules take too long for this message')
const TOO_MANY_BYTES = new EvaluationError('the copies of this message take too many bytes')

/** Characters that are compared or copied at once for one step. */
const CHARACTERS_PER_STEP = 64

/** An error that is thrown and caught takes as long. */
const FAILURE_STEPS = 500

/** What the rules of a subscription may take for one message: about ten milliseconds. */
export const MAX_STEPS: number = 500_000

/** What the rules of all subscriptions of a topic may take for it together. */
const MAX_ALL_STEPS = 10 * MAX_STEPS

/**
 * The work that rules may still do for a message, and the bytes that their actions may add to it. A step is a rule, or a part of
 * an expression. Each subscription has an even share of what those before it have left: none fails for the
 * rules of others.
 */
export class WorkBudget {
  #subscriptions: number
  #all = MAX_ALL_STEPS
  #left = 0
  #allBytes: number
  #leftBytes = 0

  /** `messages` are stored together: each has its share of the bytes. */
  constructor({
    subscriptions = 1,
    messages = 1,
  }: Partial<Record<'subscriptions' | 'messages', number>> = {}) {
    this.#subscriptions = subscriptions
    this.#allBytes = MAX_ADDED_BYTES / messages
  }

  /** Of all rules so far. */
  get spent(): number {
    return MAX_ALL_STEPS - this.#all
  }

  /** The rules of the next subscription begin. */
  begin(maxAddedBytes: number): void {
    const share = 1 / Math.max(1, this.#subscriptions--)
    this.#left = Math.min(MAX_STEPS, Math.floor(this.#all * share))
    this.#leftBytes = Math.min(maxAddedBytes, Math.floor(this.#allBytes * share))
  }

  /** Before the work. @throws EvaluationError when so much is not left */
  spend(steps: number): void {
    if (steps > this.#left) throw TOO_MUCH_WORK
    this.#left -= steps
    this.#all -= steps
  }

  /** For texts that are compared or copied as a whole. @throws EvaluationError */
  spendOn(characters: number): void {
    const steps = Math.floor(characters / CHARACTERS_PER_STEP)
    if (steps > 0) this.spend(steps)
  }

  /** Before they are written. @throws EvaluationError when so many are not left */
  add(bytes: number): void {
    if (bytes > this.#leftBytes) throw TOO_MANY_BYTES
    this.#leftBytes -= bytes
    this.#allBytes -= bytes
  }

  /** A rule has failed. False: nothing is left for the others. */
  goesOn(): boolean {
    const steps = Math.min(FAILURE_STEPS, this.#left)
    this.spend(steps)
    return this.#left > 0
  }
}
