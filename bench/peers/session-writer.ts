import { CUSTOMERS } from '../data/order-document.ts'
import type { RunningPeer } from './contract/peer.ts'

/** Written documents are far from the loaded ones, and begin with the first customer. */
const FIRST_WRITTEN = 20_000 * CUSTOMERS

/** Writes one new document after the other. A key's next write waits for its last one, so that indexes tell the order. */
export class SessionWriter {
  readonly #peer: RunningPeer
  /** By customer. */
  readonly #last: Promise<void>[] = []
  #next = FIRST_WRITTEN

  constructor(peer: RunningPeer) {
    this.#peer = peer
  }

  write(): { readonly index: number; readonly acknowledged: Promise<void> } {
    const index = this.#next++
    const customer = index % CUSTOMERS
    const before = this.#last[customer]
    const acknowledged =
      before === undefined ? this.#peer.write(index) : before.then(() => this.#peer.write(index))
    this.#last[customer] = acknowledged
    return { index, acknowledged }
  }
}
