import {
  StoreUnavailableError,
  type ChangeFeedSource,
  type DocumentBody,
  type GroupPosition,
} from '@tidemark/contracts'
import type { FakeGroupPositions } from '../../fake-group-positions.ts'
import type { SeededRandom } from '../time/seeded-random.ts'
import type { SimulatedProcess } from '../time/simulated-process.ts'
import type { VirtualTime } from '../time/virtual-time.ts'
import type { SimulatedFeed } from './simulated-feed.ts'

/** What is the matter with the monitored collection. */
export interface SourceTrouble {
  /** Requests that fail, from 0 to 1. */
  readonly failing: number
  /** Requests take up to so much longer. */
  readonly delayMs: number
}

/** The monitored collection with the way to it. */
export class SimulatedSource<T extends DocumentBody> {
  readonly feed: SimulatedFeed<T>
  readonly positions: FakeGroupPositions
  readonly #onTold: (positions: readonly GroupPosition[]) => void
  readonly #time: VirtualTime
  readonly #random: SeededRandom
  #troubles: readonly (SourceTrouble & { readonly endMs: number })[] = []

  constructor(
    feed: SimulatedFeed<T>,
    {
      positions,
      onTold,
      time,
      random,
    }: {
      positions: FakeGroupPositions
      onTold: (positions: readonly GroupPosition[]) => void
      time: VirtualTime
      random: SeededRandom
    },
  ) {
    this.feed = feed
    this.positions = positions
    this.#onTold = onTold
    this.#time = time
    this.#random = random
  }

  trouble(trouble: SourceTrouble, forMs: number): void {
    this.#troubles = [...this.#troubles, { ...trouble, endMs: this.#time.nowMs + forMs }]
  }

  heal(): void {
    this.#troubles = []
  }

  /** A process has something kept beside the collection, which often fails. */
  keep(process: SimulatedProcess, kept: () => void): Promise<void> {
    return this.#request(process, undefined, () => {
      if (this.#random.chance(0.3)) throw new StoreUnavailableError('it cannot be kept')
      kept()
    })
  }

  /** The feed as one process reaches it. `rid`: by which groups know it; undefined = none looks. */
  linkedTo(process: SimulatedProcess, rid?: string): ChangeFeedSource<T> {
    const { feed, positions } = this
    const request = <R>(
      signal: AbortSignal | undefined,
      answer: () => R | PromiseLike<R>,
    ): Promise<R> => this.#request(process, signal, answer)
    return {
      identity: feed.identity,
      description: 'simulated feed',
      supports: { waiting: true, childrenCarryParentChanges: true, cuttable: true },
      positions: {
        report: (reported) =>
          request(undefined, () => {
            this.#onTold(reported)
            return positions.report(reported)
          }),
        read: (group) => request(undefined, () => positions.read(group)),
      },
      ...(rid !== undefined && { readRid: () => request(undefined, () => rid) }),
      readFeedRanges: ({ signal } = {}) => request(signal, () => feed.ranges),
      resolveStart: ({ range, start, signal }) => request(signal, () => feed.start(range, start)),
      positionAt: ({ range, lsn, signal }) => request(signal, () => feed.positionAt(range, lsn)),
      readPage: ({ range, continuation, maxItemCount, signal }) =>
        request(signal, () => feed.page(range, continuation, maxItemCount)),
      joinPositions: ({ positions: held, signal }) => request(signal, () => feed.join(held)),
      waitForChanges: ({ range, continuation, timeoutMs, signal }) =>
        this.#wait(process, signal, {
          timeoutMs,
          wait: (wake) => feed.wait(range, continuation, wake),
        }),
    }
  }

  #request<R>(
    process: SimulatedProcess,
    signal: AbortSignal | undefined,
    answer: () => R | PromiseLike<R>,
  ): Promise<R> {
    const latencyMs = this.#latencyMs()
    return new Promise((resolve, reject) => {
      const onAbort = (): void => reject(signal?.reason)
      // A short one is not worth the listener.
      if (latencyMs > 20) signal?.addEventListener('abort', onAbort, { once: true })
      this.#time.after(latencyMs, () => {
        if (latencyMs > 20) signal?.removeEventListener('abort', onAbort)
        const settle = this.#answered(answer, { resolve, reject })
        process.enter(signal?.aborted === true ? onAbort : settle)
      })
    })
  }

  #answered<R>(
    answer: () => R | PromiseLike<R>,
    {
      resolve,
      reject,
    }: { resolve: (result: R | PromiseLike<R>) => void; reject: (error: unknown) => void },
  ): () => void {
    try {
      if (this.#fails()) throw new StoreUnavailableError('the source does not answer')
      const result = answer()
      return () => resolve(result)
    } catch (error) {
      return () => reject(error)
    }
  }

  #wait(
    process: SimulatedProcess,
    signal: AbortSignal,
    { timeoutMs, wait }: { timeoutMs: number; wait: (wake: () => void) => () => void },
  ): Promise<boolean> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) {
        reject(signal.reason)
        return
      }
      const over = (settle: () => void): void => {
        timer.cancel()
        signal.removeEventListener('abort', onAbort)
        settle()
      }
      const onAbort = (): void => {
        stop()
        over(() => reject(signal.reason))
      }
      const timer = process.after(timeoutMs, () => {
        stop()
        over(() => resolve(false))
      })
      signal.addEventListener('abort', onAbort, { once: true })
      let stop = (): void => {}
      try {
        stop = wait(() => {
          this.#time.after(this.#latencyMs(), () => process.enter(() => over(() => resolve(true))))
        })
      } catch (error) {
        over(() => reject(error))
      }
    })
  }

  #latencyMs(): number {
    const own = 0.3 + 2 * this.#random.fraction()
    if (this.#troubles.length === 0) return own
    this.#troubles = this.#troubles.filter(({ endMs }) => endMs > this.#time.nowMs)
    const delayMs = Math.max(0, ...this.#troubles.map((trouble) => trouble.delayMs))
    return own + delayMs * this.#random.fraction()
  }

  #fails(): boolean {
    if (this.#troubles.length === 0) return false
    const failing = Math.max(0, ...this.#troubles.map((trouble) => trouble.failing))
    return failing > 0 && this.#random.chance(failing)
  }
}
