import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { PostgresProcess } from '@tidemark/testing/servers'
import { generator } from '../crash/lane.ts'
import { checkAcknowledged, checkReader } from './check-order.ts'
import { openFeed } from './open-feed.ts'
import { OrderCast, ROLES, type CastReport, type CastSizes } from './order-cast.ts'
import type { FeedName } from './order-tasks.ts'
import { databaseOf, serverStart, terminateConnections } from '../crash/postgres/server-faults.ts'
import { TidemarkFeed } from './tidemark-feed.ts'

/** What happens while all write and read. */
export type OrderPhase =
  | { readonly kind: 'calm' | 'terminate'; readonly seconds: number }
  | { readonly kind: 'restart'; readonly rounds: number }

export interface OrderRun {
  readonly server: PostgresProcess
  readonly feed: FeedName
  readonly phases: readonly OrderPhase[]
  readonly seed: number
  readonly sizes: CastSizes
  readonly report: (line: string) => void
}

export interface OrderResult {
  readonly acknowledged: number
  /** Writes whose writers were not told whether they happened. */
  readonly unknownOutcomes: number
  /** Rows at the end. */
  readonly rows: number
  /** Acknowledged rows that are not there. */
  readonly lost: number
  /** Over all readers. */
  readonly unseen: number
  readonly twice: number
  readonly disordered: number
  /** What the store says of itself. */
  readonly checkFaults: number
  readonly splits: number
  readonly merges: number
  readonly folded: number
  /** How often readers started over from a continuation; the fewest. */
  readonly reopened: number
  /** Connections that were ended, by whose they were. */
  readonly terminated: { readonly writers: number; readonly readers: number }
  /** Different starts of the server that were seen after restarts. */
  readonly restarts: number
}

/** Peace lasts until so much is written, on a machine that is slow too. */
const MIN_WRITES = 500
const TERMINATE_EVERY_MS = 40
const MIN_RUNNING_MS = 150
const MAX_RUNNING_MS = 700
/** Well below the time after which calls give up waiting for the server (30 s). */
const GO_ON_LIMIT_MS = 25_000

/** Writers, readers and changes of ranges in processes of their own, and faults of the server meanwhile. */
export async function runOrder(run: OrderRun): Promise<OrderResult> {
  const { server, feed, seed, sizes, report } = run
  const folder = await mkdtemp(join(tmpdir(), 'tidemark-order-'))
  const url = await server.createDatabase()
  // Made before the processes start, so that they only have to join.
  await (await openFeed({ feed, url }))[Symbol.asyncDispose]()
  const cast = await OrderCast.start({ feed, url, folder, seed, sizes })
  try {
    const faults = new FaultTotals()
    for (const phase of run.phases) {
      await performPhase(run, { phase, cast, url, faults })
      report(`${phase.kind}: ${faults.summary()}`)
    }
    cast.assertAlive()
    const found = await cast.finish()
    return { ...faults.counts(), ...(await judge({ feed, url, found, report })) }
  } finally {
    await cast.end()
    await rm(folder, { recursive: true, force: true })
  }
}

class FaultTotals {
  readonly #terminated = new Map<string, number>()
  readonly starts = new Set<string>()

  terminated(ended: ReadonlyMap<string, number>): void {
    for (const [name, count] of ended) {
      this.#terminated.set(name, (this.#terminated.get(name) ?? 0) + count)
    }
  }

  counts(): Pick<OrderResult, 'terminated' | 'restarts'> {
    const of = (role: string): number => this.#terminated.get(role) ?? 0
    const terminated = { writers: of(ROLES.writer), readers: of(ROLES.reader) }
    return { terminated, restarts: this.starts.size }
  }

  /** Writers and readers. */
  get haveMetAll(): boolean {
    return Object.values(this.counts().terminated).every((count) => count > 0)
  }

  summary(): string {
    const { terminated, restarts } = this.counts()
    const { writers, readers } = terminated
    return `${writers} connections of writers and ${readers} of readers ended, ${restarts} restarts so far`
  }
}

async function performPhase(
  { server, seed }: OrderRun,
  {
    phase,
    cast,
    url,
    faults,
  }: {
    readonly phase: OrderPhase
    readonly cast: OrderCast
    readonly url: string
    readonly faults: FaultTotals
  },
): Promise<void> {
  const chance = generator(seed + 7)
  switch (phase.kind) {
    case 'calm':
      await sleep(phase.seconds * 1000)
      await untilWritten(cast)
      return
    case 'terminate': {
      const database = databaseOf(url)
      const lastMs = performance.now() + GO_ON_LIMIT_MS
      do {
        const signal = AbortSignal.timeout(Math.round(phase.seconds * 1000))
        const options = { database, everyMs: TERMINATE_EVERY_MS, chance, signal }
        faults.terminated(await terminateConnections(server, options))
        // On a busy machine readers are seldom met.
      } while (!faults.haveMetAll && performance.now() < lastMs)
      return
    }
    case 'restart':
      for (let round = 0; round < phase.rounds; round++) {
        await untilAllGoOn(cast)
        await sleep(MIN_RUNNING_MS + chance() * (MAX_RUNNING_MS - MIN_RUNNING_MS))
        await server.restart('immediate')
        faults.starts.add(await serverStart(server))
      }
      await untilAllGoOn(cast)
      return
  }
}

async function untilWritten(cast: OrderCast): Promise<void> {
  const endMs = performance.now() + GO_ON_LIMIT_MS
  while (cast.acknowledged().length <= MIN_WRITES && performance.now() < endMs) {
    cast.assertAlive()
    await sleep(100)
  }
}

/** Every writer and every reader does something more, by itself. */
async function untilAllGoOn(cast: OrderCast): Promise<void> {
  const before = cast.progress()
  const endMs = performance.now() + GO_ON_LIMIT_MS
  for (;;) {
    cast.assertAlive()
    const still = cast.progress().filter((size, index) => size <= (before[index] ?? 0))
    if (still.length === 0) return
    if (performance.now() > endMs) {
      throw new Error(`${still.length} processes did nothing for ${GO_ON_LIMIT_MS} ms`)
    }
    await sleep(10)
  }
}

async function judge({
  feed,
  url,
  found: { acknowledged, unknownOutcomes, readers, changes },
  report,
}: {
  readonly feed: FeedName
  readonly url: string
  readonly found: CastReport
  readonly report: (line: string) => void
}): Promise<Omit<OrderResult, 'terminated' | 'restarts'>> {
  await using opened = await openFeed({ feed, url })
  const present = await opened.scan()
  const problems = opened instanceof TidemarkFeed ? await opened.store.check() : []
  const lost = checkAcknowledged(acknowledged, present)
  const verdicts = readers.map(({ pages }) => checkReader(pages, present))
  const sum = (kind: 'unseen' | 'twice' | 'disordered'): number =>
    verdicts.reduce((total, verdict) => total + verdict[kind], 0)
  for (const line of [...problems, ...lost.slice(0, 5)]) report(`  ${line}`)
  for (const [reader, { told }] of verdicts.entries()) {
    for (const line of told) report(`  reader ${reader}: ${line}`)
  }
  return {
    acknowledged: acknowledged.length,
    unknownOutcomes,
    rows: present.length,
    lost: lost.length,
    unseen: sum('unseen'),
    twice: sum('twice'),
    disordered: sum('disordered'),
    checkFaults: problems.length,
    splits: changes?.splits ?? 0,
    merges: changes?.merges ?? 0,
    folded: changes?.folded ?? 0,
    reopened: Math.min(...readers.map(({ reopened }) => reopened)),
  }
}
