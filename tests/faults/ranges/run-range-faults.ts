import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { rangeContains, type LeaseGroupSnapshot } from '@tidemark/contracts'
import { FaultProcess } from '../fault-process.ts'
import type { HistoryEntry } from '../history.ts'
import {
  neverDone,
  neverWritten,
  outOfOrder,
  staleOverRanges,
  takeovers,
} from './check-range-history.ts'
import { GROUP, openKeyedStore, type KeyedStore } from './keyed-store.ts'
import { KeyedWriter } from './keyed-writer.ts'
import type { RangeHostTask, RangeProcessTask } from './range-tasks.ts'

const HOSTS = ['h1', 'h2', 'h3', 'h4'] as const
const KEYS = 60
const PAUSE_MS = 150
const MAX_PEACE_MS = 900
/** Every third kill hits the process that splits. */
const KILLS_A_CHANGER = 3
const SETTLE_MS = 60_000
const PATIENCE_MS = 150_000

export interface RangeFaultsResult {
  /** What happened. Each of these must be above 0, else nothing was shown. */
  readonly happened: Readonly<Record<string, number>>
  /** What must not be, as sentences. */
  readonly faults: readonly string[]
  readonly written: readonly string[]
  readonly histories: readonly (readonly HistoryEntry[])[]
  /** Those of hosts that were not killed. */
  readonly living: readonly (readonly HistoryEntry[])[]
}

/**
 * Ranges split and merge without end under four hosts and a writer, while hosts and the process that
 * splits are killed at random and started again. Then all is left to settle, and the histories of all
 * processes are laid side by side.
 */
export async function runRangeFaults(options: {
  readonly durationMs: number
  /** Of the lease store; undefined = leases in documents. */
  readonly redisPort?: number | undefined
}): Promise<RangeFaultsResult> {
  const folder = await mkdtemp(join(tmpdir(), 'tidemark-ranges-'))
  const shared = { folder, redisPort: options.redisPort }
  const processes: FaultProcess<RangeProcessTask>[] = []
  try {
    await using store = await openKeyedStore(shared)
    const stage = new RangeStage(shared, processes)
    await stage.startAll()
    const writer = new KeyedWriter(store.events, { keys: KEYS, pauseMs: PAUSE_MS })
    const endMs = performance.now() + options.durationMs
    // On a busy machine some of it happens late.
    const lastMs = endMs + PATIENCE_MS
    while (performance.now() < endMs || (!stage.hasShownAll && performance.now() < lastMs)) {
      await sleep(Math.random() * MAX_PEACE_MS)
      await stage.killSomebody()
    }
    await stage.endChanges()
    await mergeToOne(store)
    const written = await writer.stop()
    const unsettled = await stage.settle(store, written)
    return {
      happened: stage.happened(written),
      faults: [...unsettled, ...stage.faults(written)],
      written,
      ...stage.histories(),
    }
  } finally {
    await Promise.all(processes.map((process) => process.end()))
    await rm(folder, { recursive: true, force: true })
  }
}

class RangeStage {
  readonly #shared: { readonly folder: string; readonly redisPort: number | undefined }
  /** All that ever ran. */
  readonly #processes: FaultProcess<RangeProcessTask>[]
  readonly #hosts = new Map<string, FaultProcess<RangeHostTask>>()
  readonly #deadHosts: FaultProcess<RangeHostTask>[] = []
  readonly #changers: FaultProcess<RangeProcessTask>[] = []
  kills = 0

  constructor(
    shared: { readonly folder: string; readonly redisPort: number | undefined },
    processes: FaultProcess<RangeProcessTask>[],
  ) {
    this.#shared = shared
    this.#processes = processes
  }

  async startAll(): Promise<void> {
    await Promise.all([...HOSTS.map((name) => this.#startHost(name)), this.#startChanger()])
  }

  /** One of the hosts or the process that splits; another takes its place. */
  async killSomebody(): Promise<void> {
    this.kills += 1
    if (this.kills % KILLS_A_CHANGER === 0) {
      await this.endChanges()
      await this.#startChanger()
      return
    }
    const hosts = [...this.#hosts]
    const [name, victim] = hosts[Math.floor(Math.random() * hosts.length)] ?? []
    if (name === undefined || victim === undefined) return
    await victim.kill()
    this.#deadHosts.push(victim)
    // Sometimes at once, within the session of the dead one, sometimes after the others took over.
    await sleep(Math.random() * 2 * MAX_PEACE_MS)
    await this.#startHost(name)
  }

  /** Whether there was some of everything that must happen, but for what the end brings at the latest. */
  get hasShownAll(): boolean {
    const { writes: _writes, leasesJoined: _leasesJoined, ...happened } = this.happened([])
    return Object.values(happened).every((count) => count > 0)
  }

  async endChanges(): Promise<void> {
    await this.#changers.at(-1)?.kill()
  }

  /** Waits until everything is done, every lease is owned and some have joined; says what is still wrong after long. */
  async settle(store: KeyedStore, written: readonly string[]): Promise<readonly string[]> {
    const endMs = performance.now() + SETTLE_MS
    const group = await store.leases.openGroup(GROUP)
    try {
      for (;;) {
        const missing = neverDone(written, this.#histories())
        const wrong = [
          ...missing.slice(0, 10).map((id) => `${id} was written, and its work never done`),
          ...(await leaseFaults(store, await group.read(), [...this.#hosts.keys()])),
          // At rest at the latest: all stand at one position then.
          ...(this.#count('leasesJoined') > 0 ? [] : ['no leases have joined']),
        ]
        if (wrong.length === 0 || performance.now() > endMs) return wrong
        await sleep(200)
      }
    } finally {
      await group.close()
    }
  }

  faults(written: readonly string[]): readonly string[] {
    const histories = this.#histories()
    for (const host of this.#hosts.values()) host.assertAlive()
    const stale = staleOverRanges(histories)
    return [
      ...neverWritten(written, histories).map((id) => `${id} was delivered, and nobody wrote it`),
      ...outOfOrder(histories).map((id) => `${id} was done after a later change of its key`),
      ...stale.map(({ lease, epoch }) => `${lease} was dispatched at epoch ${epoch}, a stale one`),
      ...failures(histories),
    ]
  }

  happened(written: readonly string[]): RangeFaultsResult['happened'] {
    const histories = this.#histories()
    return {
      writes: written.length,
      hostKills: this.#deadHosts.length,
      // The last one ended with the test.
      changerKills: this.#changers.length - 1,
      splits: this.#count('split'),
      merges: this.#count('merge'),
      leasesSplit: this.#count('rangeReplaced'),
      leasesJoined: this.#count('leasesJoined'),
      takeovers: takeovers(
        this.#deadHosts.map(({ history }) => history),
        histories,
      ),
    }
  }

  histories(): Pick<RangeFaultsResult, 'histories' | 'living'> {
    const living = [...this.#hosts.values()].map(({ history }) => history)
    return { histories: this.#histories(), living }
  }

  /** How often an event was noted, by all that ever ran. */
  #count(name: string): number {
    return this.#processes.reduce((sum, process) => sum + process.events(name), 0)
  }

  #histories(): readonly (readonly HistoryEntry[])[] {
    return this.#processes.map(({ history }) => history)
  }

  async #startHost(hostName: string): Promise<void> {
    const task = { ...this.#shared, hostName, historyFile: this.#historyFile(hostName) }
    const host = await FaultProcess.start<RangeHostTask>('ranges/range-host.child.ts', task)
    this.#hosts.set(hostName, host)
    this.#processes.push(host)
  }

  async #startChanger(): Promise<void> {
    const task = { ...this.#shared, historyFile: this.#historyFile('changer') }
    const changer = await FaultProcess.start<RangeProcessTask>(
      'ranges/range-changer.child.ts',
      task,
    )
    this.#changers.push(changer)
    this.#processes.push(changer)
  }

  #historyFile(label: string): string {
    return join(this.#shared.folder, `history-${this.#processes.length}-${label}.jsonl`)
  }
}

/** While documents are written: the leases of neighbours join when they stand at the same position. */
async function mergeToOne({ events }: KeyedStore): Promise<void> {
  for (;;) {
    const [first, second] = await events.readFeedRanges()
    if (first?.id === undefined || second?.id === undefined) return
    await events.merge(first.id, second.id)
    await sleep(PAUSE_MS)
  }
}

/** At rest, the leases cover every key once, each lies in one present range, and each is owned. */
async function leaseFaults(
  { events }: KeyedStore,
  { leases }: LeaseGroupSnapshot,
  hosts: readonly string[],
): Promise<readonly string[]> {
  const faults: string[] = []
  const ranges = await events.readFeedRanges()
  let covered = ''
  for (const { id, range, owner } of leases.toSorted((a, b) =>
    a.range.minInclusive < b.range.minInclusive ? -1 : 1,
  )) {
    if (range.minInclusive !== covered) faults.push(`lease ${id} does not begin at ${covered}`)
    covered = range.maxExclusive
    if (owner === undefined) faults.push(`lease ${id} has no owner`)
    else if (!hosts.includes(owner.host)) faults.push(`lease ${id} belongs to ${owner.host}`)
    if (!ranges.some((present) => rangeContains(present, range))) {
      faults.push(`lease ${id} is of a range that is gone`)
    }
  }
  if (covered !== 'FF') faults.push(`the leases end at ${covered}`)
  return faults
}

/** What hosts reported and nothing here gives reason for. */
function failures(histories: readonly (readonly HistoryEntry[])[]): readonly string[] {
  return histories
    .flat()
    .filter((entry) => entry.kind === 'event')
    .filter(({ name }) => ['feedError', 'observerError', 'horizonPassed', 'stopped'].includes(name))
    .map(({ name, detail }) => `${name}: ${detail}`)
}
