import type { Random } from '@tidemark/contracts'

const ID_BYTES = 16
const HEX_PER_BYTE = 2
/** Ids that are drawn together: asking the system for each request costs more than the rest of its id. */
const IDS_AT_ONCE = 256

/** Names of requests, random and different for each. */
export class ActivityIds {
  readonly #random: Random
  #drawn = ''
  #used = 0

  constructor(random: Random) {
    this.#random = random
  }

  /** In the form of a GUID. */
  next(): string {
    if (this.#used === this.#drawn.length) {
      this.#drawn = this.#random.hex(ID_BYTES * IDS_AT_ONCE)
      this.#used = 0
    }
    const at = this.#used
    this.#used += ID_BYTES * HEX_PER_BYTE
    const hex = this.#drawn.slice(at, this.#used)
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
  }
}
