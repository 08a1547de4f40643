import { lsn, type LeaseHint } from '@tidemark/contracts'
import { RELEASED_ID } from './lease-documents.ts'
import type { LeasePartition } from './lease-partition.ts'

/**
 * The group's document is read again at most this often, whatever is written to the partition. Every read that found nothing new
 * doubles the time: positions are written many times a second, also by this process.
 */
const READ_INTERVAL_MS = { first: 50, highest: 200 } as const
/** After an error: heartbeats carry the group meanwhile. */
const ERROR_PAUSE_MS = 1_000
const WAIT_MS = 30_000

interface Seen {
  readonly membershipVersion: number
  readonly planVersion: number
  readonly releasedEtag: string | undefined
}

/**
 * Hints for one group handle: while somebody listens, waits for commits to the group's partition and
 * compares. Without `waitForCommit` there are none, and heartbeats do.
 */
export class DocumentHints {
  readonly #partition: LeasePartition
  readonly #listeners = new Set<(hint: LeaseHint) => void>()
  #seen: Seen
  #loop: { readonly stop: AbortController; readonly done: Promise<void> } | undefined
  #closed = false

  /** `seen` is what the handle knows already: a change after it was read gives a hint. */
  constructor(partition: LeasePartition, seen: Seen) {
    this.#partition = partition
    this.#seen = seen
  }

  subscribe(listener: (hint: LeaseHint) => void): () => void {
    const own = (hint: LeaseHint): void => listener(hint)
    this.#listeners.add(own)
    this.#start()
    return () => {
      this.#listeners.delete(own)
    }
  }

  /** Resolves when the loop has ended. */
  async close(): Promise<void> {
    this.#closed = true
    this.#listeners.clear()
    this.#loop?.stop.abort()
    await this.#loop?.done
  }

  #start(): void {
    if (this.#closed || this.#loop !== undefined) return
    if (this.#partition.collection.waitForCommit === undefined) return
    const stop = new AbortController()
    this.#loop = { stop, done: this.#watch(stop.signal) }
  }

  /** Ends, without an error, when `signal` aborts. */
  async #watch(signal: AbortSignal): Promise<void> {
    const { clock } = this.#partition
    const { first, highest } = READ_INTERVAL_MS
    let intervalMs: number = first
    while (!signal.aborted) {
      try {
        const readAtMs = clock.monotonicMs()
        const isNews = this.#compare(await readSeen(this.#partition, signal))
        intervalMs = isNews ? first : Math.min(2 * intervalMs, highest)
        await this.#waitForCommit(signal)
        const restMs = readAtMs + intervalMs - clock.monotonicMs()
        if (restMs > 0) await clock.sleep(restMs, signal)
      } catch {
        // A hint may be lost; whether the store answers is for the heartbeats to say.
        await clock.sleep(ERROR_PAUSE_MS, signal).catch(() => {})
      }
    }
  }

  async #waitForCommit(signal: AbortSignal): Promise<void> {
    const { collection, group, newestLsn } = this.#partition
    await collection.waitForCommit?.({
      partitionKey: group,
      afterLsn: lsn(newestLsn),
      timeoutMs: WAIT_MS,
      signal,
    })
  }

  /** Whether there is something new. */
  #compare(now: Seen): boolean {
    const before = this.#seen
    this.#seen = now
    const news: LeaseHint[] = []
    if (now.membershipVersion !== before.membershipVersion) news.push('membership')
    if (now.planVersion !== before.planVersion) news.push('plan')
    if (now.releasedEtag !== before.releasedEtag) news.push('released')
    for (const hint of news) for (const listener of this.#listeners) listener(hint)
    return news.length > 0
  }
}

/** What hints are about, as it is now. */
export async function readSeen(partition: LeasePartition, signal?: AbortSignal): Promise<Seen> {
  const { collection, group } = partition
  const [{ head }, { document: released }] = await Promise.all([
    partition.readGroup(signal),
    collection.read(RELEASED_ID, group, { signal }),
  ])
  if (released !== undefined) partition.noteLsn(released._lsn)
  return {
    membershipVersion: head.membershipVersion,
    planVersion: head.planVersion,
    releasedEtag: released?._etag,
  }
}
