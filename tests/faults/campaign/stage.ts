import { cp, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { SeededRandom } from '@tidemark/testing/simulation'
import { machineMs, type HistoryEntry } from '../history.ts'
import { FAULT_TIMES } from '../host-process.ts'
import { neverDone } from '../ranges/check-range-history.ts'
import { openKeyedStore, type KeyedStore } from '../ranges/keyed-store.ts'
import { until } from '../until.ts'
import type { LeasePlace } from './lease-place.ts'
import { Load } from './load.ts'
import type { WorkerTask } from './worker-task.ts'
import { Worker } from './worker.ts'

/** Ranges of the collection, and so leases of the group. */
export const RANGES = 4
export const MAX_ITEM_COUNT = 20
/** Times of hosts of which none may lose a lease after a fault, although a busy machine lets one of them wait. */
export const PATIENT = { expirationMs: 3_500 } as const
const CHANGES_PER_SECOND = 300
const SETTLE_LIMIT_MS = 40_000
const LOOK_MS = 50

/** Where one scenario plays: a store in a folder, workers, and somebody who writes. */
export class CampaignStage implements AsyncDisposable {
  readonly folder: string
  store: KeyedStore
  readonly random: SeededRandom
  /** Acknowledged: these must all be delivered, each key's in this order. */
  readonly written: string[] = []
  readonly #resources = new AsyncDisposableStack()
  readonly #workers: Worker[] = []
  #started = 0
  #replaced = 0
  #load: Load | undefined

  private constructor(folder: string, store: KeyedStore, random: SeededRandom) {
    this.folder = folder
    this.store = store
    this.random = random
  }

  static async open(random: SeededRandom): Promise<CampaignStage> {
    const folder = await mkdtemp(join(tmpdir(), 'tidemark-campaign-'))
    return new CampaignStage(folder, await openKeyedStore({ folder, redisPort: undefined }), random)
  }

  /** Those whose processes run, in the order in which they were started. */
  get workers(): readonly Worker[] {
    return this.#workers.filter(({ hasEnded }) => !hasEnded)
  }

  /** Writes that failed and were tried again. */
  get failedWrites(): number {
    return this.#load?.failures ?? 0
  }

  /** Of every process that was started, also of those that are gone. */
  get histories(): readonly (readonly HistoryEntry[])[] {
    return this.#workers.map(({ history }) => history)
  }

  /** Disposed of at the end, after the workers. */
  use<Resource extends AsyncDisposable>(resource: Resource): Resource {
    return this.#resources.use(resource)
  }

  async start(
    hostName: string,
    leases: LeasePlace,
    options: Partial<WorkerTask> = {},
  ): Promise<Worker> {
    this.#started += 1
    const worker = await Worker.start({
      hostName,
      folder: this.folder,
      historyFile: join(this.folder, `history-${this.#started}-${hostName}.jsonl`),
      leases,
      ...FAULT_TIMES,
      maxItemCount: MAX_ITEM_COUNT,
      drainMs: 10_000,
      graceMs: 1_000,
      behaviour: { kind: 'steady', maxMs: 12 },
      ...options,
    })
    this.#workers.push(worker)
    return worker
  }

  /** Starts several at once, and waits until they have shared out the leases and are at work. */
  async startAll(
    hostNames: readonly string[],
    leases: LeasePlace,
    options: Partial<WorkerTask> = {},
  ): Promise<readonly Worker[]> {
    const workers = await Promise.all(hostNames.map((name) => this.start(name, leases, options)))
    await this.untilAtWork()
    return workers
  }

  /** Each lease is open at one living worker, none has two more than another, and each has done some work since. */
  async untilAtWork(): Promise<void> {
    await until(() => this.isShared(), {
      what: `${RANGES} leases shared out over ${this.workers.length} workers`,
    })
    // Not before: what gathers while processes start would be a burst.
    this.#load ??= new Load(this.store.events, {
      perSecond: CHANGES_PER_SECOND,
      keyPrefix: `k${'r'.repeat(this.#replaced)}`,
      onWritten: ({ id }) => this.written.push(id),
    })
    await this.#untilNear()
    const sinceMs = machineMs()
    await Promise.all(this.workers.map((worker) => worker.untilWorks(3, sinceMs)))
  }

  /** As a supervisor does: a host that stopped by itself with this code is started again. Resolves with how many were. */
  async restartStopped(code: string, leases: LeasePlace): Promise<number> {
    const { length } = this.#workers
    const stopped = (): readonly Worker[] =>
      this.#workers
        .slice(0, length)
        .filter((worker) => worker.events('stopped').some(({ detail }) => detail.includes(code)))
    await until(() => this.isShared() || stopped().length > 0, {
      what: `leases shared out, or hosts that stop with ${code}`,
    })
    for (const { name } of stopped()) await this.start(name, leases)
    return stopped().length
  }

  /**
   * Replaces the store's folder by another when all that was written is done and every process has ended.
   * Writing starts over with the next `untilAtWork`, with other keys.
   */
  async replaceStore(replace: () => Promise<void>): Promise<void> {
    await this.#load?.stop()
    await until(() => neverDone(this.written, this.histories).length === 0, {
      what: 'everything done that was written',
    })
    await Promise.all(this.workers.map((worker) => worker.process.kill()))
    await this.store[Symbol.asyncDispose]()
    await replace()
    this.store = await openKeyedStore({ folder: this.folder, redisPort: undefined })
    this.#replaced += 1
    this.#load = undefined
  }

  /** What is written is done soon: what had gathered is over. */
  async #untilNear(): Promise<void> {
    const isNear = (): boolean =>
      neverDone(this.written, this.histories).length < CHANGES_PER_SECOND / 4
    await until(isNear, { what: 'hosts that have caught up' })
  }

  isShared(): boolean {
    const counts = this.workers.map((worker) => worker.openLeases().size)
    const sum = counts.reduce((total, count) => total + count, 0)
    return sum === RANGES && Math.max(...counts) - Math.min(...counts) <= 1
  }

  /** Which worker has which lease. */
  owners(): ReadonlyMap<string, string> {
    const owners = new Map<string, string>()
    for (const worker of this.workers) {
      for (const lease of worker.openLeases().keys()) owners.set(lease, worker.name)
    }
    return owners
  }

  /** Throws if a lease was opened by another worker than its owner at some time. */
  expectOwners(owners: ReadonlyMap<string, string>, sinceMs: number): void {
    for (const worker of this.workers) {
      for (const { lease, atMs } of worker.entries('open')) {
        if (atMs > sinceMs && owners.get(lease) !== worker.name) {
          throw new Error(`lease ${lease} moved from ${owners.get(lease)} to ${worker.name}`)
        }
      }
    }
  }

  /** Ends the writing, and waits until everything was done and every lease has an owner. Says what is still missing after long. */
  async settle(): Promise<{
    readonly written: readonly string[]
    readonly unsettled: readonly string[]
  }> {
    await this.#load?.stop()
    const { written } = this
    const endMs = machineMs() + SETTLE_LIMIT_MS
    for (;;) {
      const isDone = neverDone(written, this.histories).length === 0
      const isShared = this.isShared()
      if (isDone && isShared) return { written, unsettled: [] }
      if (machineMs() > endMs) {
        const shares = this.workers.map((each) => `${each.name} ${each.openLeases().size}`)
        return {
          written,
          unsettled: isShared ? [] : [`leases are not shared out: ${shares.join(', ')}`],
        }
      }
      await sleep(LOOK_MS)
    }
  }

  /** Processes that ended although nobody ended them, but for those that stopped with one of these codes. */
  deaths(codes: readonly string[]): readonly string[] {
    return this.#workers
      .filter(
        (worker) =>
          !worker
            .events('stopped')
            .some(({ detail }) => codes.some((code) => detail.includes(code))),
      )
      .flatMap(({ name, process }) =>
        process.diedSaying === undefined ? [] : [`${name} died: ${process.diedSaying}`],
      )
  }

  /** Copies the histories to where they stay when the stage is gone. Resolves with the folder. */
  async keepHistories(): Promise<string> {
    const kept = await mkdtemp(join(tmpdir(), 'tidemark-histories-'))
    for (const file of await readdir(this.folder)) {
      if (file.startsWith('history-')) await cp(join(this.folder, file), join(kept, file))
    }
    return kept
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#workers.map((worker) => worker.process.end()))
    await this.#resources.disposeAsync()
    await this.#load?.stop()
    await this.store[Symbol.asyncDispose]()
    await rm(this.folder, { recursive: true, force: true })
  }
}
