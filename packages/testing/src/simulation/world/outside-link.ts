import { StoreUnavailableError } from '@tidemark/contracts'
import type { SimulatedProcess } from '../time/simulated-process.ts'
import { NetworkLink, type NetworkLinkOptions } from './network-link.ts'

/** A client gives a request up after so long, as clients do. */
const TIMEOUT_MS = 5_000

/** How one process reaches what its observers write to: a server that always works, over a network that does not. */
export class OutsideLink {
  readonly link: NetworkLink
  readonly #process: SimulatedProcess
  readonly #onDone: () => void

  constructor({
    onDone,
    ...options
  }: Omit<NetworkLinkOptions, 'server' | 'unavailable'> & {
    /** Something was done. */
    readonly onDone: () => void
  }) {
    this.#process = options.process
    this.#onDone = onDone
    this.link = new NetworkLink({
      ...options,
      server: { admit: (execute) => execute() },
      unavailable: (message) => new StoreUnavailableError(message),
    })
  }

  /**
   * Has `work` done outside, at one instant.
   *
   * Rejects with ERR_STORE_UNAVAILABLE when the request or the answer was lost: it may be done all the same. Never settles
   * in a process that was killed.
   */
  request<R>(work: () => R | PromiseLike<R>): Promise<R> {
    return new Promise((resolve, reject) => {
      const timer = this.#process.after(TIMEOUT_MS, () =>
        reject(new StoreUnavailableError(`no answer within ${TIMEOUT_MS} ms`)),
      )
      this.link
        .call('request', async () => {
          this.#onDone()
          return work()
        })
        .finally(() => timer.cancel())
        .then(resolve, reject)
    })
  }
}
