import { InvalidOptionError, type Change } from '@tidemark/contracts'
import { damageIn } from '@tidemark/contracts/internal'

export interface AcceptanceParts {
  /** What the observer has in hand. */
  readonly changes: readonly Change[]
  /** Told of each step; false when the observer is to go no further. */
  readonly onAccepted: (count: number) => boolean
}

/** How far an observer says that it has come in one call (`context.accepted`). */
export class Acceptance {
  readonly #parts: AcceptanceParts
  #count = 0
  #isStopped = false
  #isOver = false

  constructor(parts: AcceptanceParts) {
    this.#parts = parts
  }

  /** Of the changes in hand, from the first one on. */
  get count(): number {
    return this.#count
  }

  /** The observer was told to go no further: when it returns, only what it accepted is done. */
  get isStopped(): boolean {
    return this.#isStopped
  }

  /** Nobody waits for the call any more: what is accepted from now on is too late. */
  end(): void {
    this.#isOver = true
  }

  /** @throws ERR_INVALID_OPTION; and ERR_STORE_DAMAGED, which is no acceptance */
  accept(change: Change): boolean {
    if (this.#isOver) return false
    const { changes, onAccepted } = this.#parts
    const index = changes.indexOf(change, this.#count)
    if (index < 0) {
      if (changes.includes(change)) return !this.#isStopped
      throw new InvalidOptionError('accepted() is for changes of the batch in hand')
    }
    const count = index + 1
    const damage = damageIn(changes.slice(this.#count, count))
    if (damage !== undefined) throw damage.error
    this.#count = count
    this.#isStopped = !onAccepted(count)
    return !this.#isStopped
  }
}
