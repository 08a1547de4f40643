/** A rule cannot be evaluated for a message, though it is well-formed (TOP-08). */
export class EvaluationError extends Error {}

/** Characters that are compared or copied at once for one step. */
const CHARACTERS_PER_STEP = 64

/** What the rules of a subscription may take for one message: about ten milliseconds. */
export const MAX_STEPS: number = 1_000_000

/** What the rules of all subscriptions of a topic may take for it together. */
const MAX_ALL_STEPS = 10 * MAX_STEPS

/** The work that rules may still take for a message: one step for a look-up, or for a character of `LIKE`. */
export class WorkBudget {
  #all = MAX_ALL_STEPS
  #left = MAX_STEPS

  /** Of all rules so far. */
  get spent(): number {
    return MAX_ALL_STEPS - this.#all
  }

  /** The rules of the next subscription begin. */
  begin(): void {
    this.#left = Math.min(MAX_STEPS, this.#all)
  }

  /** @throws EvaluationError */
  spend(steps: number): void {
    this.#left -= steps
    this.#all -= steps
    if (this.#left < 0) throw new EvaluationError('the rules take too long for this message')
  }

  /** For texts that are compared or copied as a whole. @throws EvaluationError */
  spendOn(characters: number): void {
    const steps = Math.floor(characters / CHARACTERS_PER_STEP)
    if (steps > 0) this.spend(steps)
  }
}
