import type { DocumentBody, HeldLease } from '@tidemark/contracts'
import type { RangePump } from '../feed-processing/range-pump.ts'
import type { LeaseProgress } from './lease-progress.ts'

interface RunningPump<T extends DocumentBody> {
  readonly held: HeldLease
  readonly pump: RangePump<T>
  readonly progress: LeaseProgress
}

/** The pumps of a host that have not ended, by lease and epoch. */
export class RunningPumps<T extends DocumentBody> {
  readonly #running = new Map<string, RunningPump<T> & { readonly run: Promise<void> }>()

  /** Runs it until it ends. */
  run(running: RunningPump<T>): void {
    const key = pumpKey(running.held)
    // Not before it is noted: its observer may ask for it at once.
    const run = Promise.resolve()
      .then(() => running.pump.run())
      .finally(() => this.#running.delete(key))
    this.#running.set(key, { ...running, run })
  }

  of(held: HeldLease): RunningPump<T> | undefined {
    return this.#running.get(pumpKey(held))
  }

  *[Symbol.iterator](): Generator<RunningPump<T> & { readonly key: string }> {
    for (const [key, running] of this.#running) yield { ...running, key }
  }

  /** Resolves when all have ended but those that these calls of observers are of. */
  async ended(callers: ReadonlySet<object> = new Set()): Promise<void> {
    const isWaiting = (pump: RangePump<T>): boolean =>
      [...callers].some((caller) => pump.isCaller(caller))
    const others = [...this.#running.values()].filter(({ pump }) => !isWaiting(pump))
    await Promise.all(others.map(({ run }) => run))
  }

  /** Whether it is one of theirs that `observerCaller` tells. */
  hasCaller(caller: object | undefined): caller is object {
    if (caller === undefined) return false
    return [...this.#running.values()].some(({ pump }) => pump.isCaller(caller))
  }
}

function pumpKey({ leaseId, epoch }: HeldLease): string {
  return `${leaseId}@${epoch}`
}
