import { InvalidOptionError, type Change } from '@tidemark/contracts'
import { damageIn } from '@tidemark/contracts/internal'

export interface AcceptanceParts {
  /** The batch, and where in it begins and ends what the observer has in hand. */
  readonly changes: readonly Change[]
  readonly from: number
  readonly to: number
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
    const { changes, from, to, onAccepted } = this.#parts
    const next = from + this.#count
    const index = changes.indexOf(change, next)
    if (index < 0 || index >= to) {
      if (index < 0 && changes.indexOf(change, from) >= 0) return !this.#isStopped
      throw new InvalidOptionError('accepted() is for changes of the batch in hand')
    }
    const count = index + 1 - from
    const damage = damageIn(changes.slice(next, index + 1))
    if (damage !== undefined) throw damage.error
    this.#count = count
    this.#isStopped = !onAccepted(count) || this.#isStopped
    return !this.#isStopped
  }
}
