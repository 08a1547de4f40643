import { setTimeout as sleep } from 'node:timers/promises'
import {
  openStore,
  verifyMigration,
  watchMigration,
  type Collection,
  type Database,
  type MigrationProgress,
  type VerifyReport,
  type WatchedMigration,
} from 'tidemark'
import { checkLedger, type LedgerFindings } from './check-ledger.ts'
import { readCities, type City } from './city.ts'
import { Crew } from './crew.ts'
import {
  DATABASE,
  JOB,
  SOURCE,
  SOURCE_RANGES,
  TARGET,
  TARGET_RANGES,
  type DemoPlan,
} from './demo-plan.ts'
import { loadCities } from './load-cities.ts'
import { openLeases } from './open-leases.ts'
import { pictureLines, plainLine } from './picture.ts'
import type { Screen } from './screen.ts'

const LOOK_MS = 150
const PLAIN_LINE_MS = 1_000
/** Nothing new for so long: it hangs, however slow the machine is. */
const LIMIT_MS = 120_000

/** Runs the demo in `plan.where`. Returns the exit code: 0 only if nothing at all is wrong. */
export async function runDemo(plan: DemoPlan, screen: Screen): Promise<number> {
  await using store = await openStore(plan.where)
  const database = store.database(DATABASE)
  const { source, target } = await createCollections(database)
  await load(source, plan, screen)

  await using leases = openLeases(database, plan.redisUrl)
  await using crew = new Crew(plan)
  await using watched = await watchMigration({
    job: JOB,
    source,
    targetDatabase: database,
    leases: leases.store,
  })
  const demo = new Demo({ watched, crew, screen, secondOfWrites: plan.writesPerSecond })
  const ledger = await demo.run()

  screen.say('verifying: every city of both sides, by key and content')
  const report = await verifyMigration({ source, target, mapDocument: (city) => city })
  const ledgerFindings = await checkLedger(target, ledger)
  return conclude({ report, ledger: ledgerFindings, crew, cities: ledger.length }, screen)
}

async function createCollections(
  database: Database,
): Promise<{ source: Collection<City>; target: Collection<City> }> {
  const source = await database.createCollectionIfNotExists<City>({
    id: SOURCE,
    partitionKey: '/country',
    partitionCount: SOURCE_RANGES,
  })
  const target = await database.createCollectionIfNotExists<City>({
    id: TARGET,
    partitionKey: '/name',
    partitionCount: TARGET_RANGES,
  })
  return { source, target }
}

async function load(source: Collection<City>, plan: DemoPlan, screen: Screen): Promise<void> {
  const cities = readCities().slice(0, plan.cities)
  const started = performance.now()
  let loaded = 0
  await loadCities(source, cities, (count) => {
    loaded += count
    screen.draw([`loading ${loaded} of ${cities.length} cities`])
  })
  const seconds = (performance.now() - started) / 1000
  screen.say(
    `loaded ${cities.length} cities, partitioned by country, in ${seconds.toFixed(1)} s ` +
      `(${Math.round(cities.length / seconds)}/s, durable)`,
  )
}

/** The story: three workers copy, a fourth process writes, one worker is killed, another one leaves. */
class Demo {
  readonly #watched: WatchedMigration
  readonly #crew: Crew
  readonly #screen: Screen
  readonly #secondOfWrites: number
  readonly #started = performance.now()
  #lastLineMs = -PLAIN_LINE_MS
  #lastNews = ''
  #lastNewsMs = 0

  constructor(parts: {
    readonly watched: WatchedMigration
    readonly crew: Crew
    readonly screen: Screen
    readonly secondOfWrites: number
  }) {
    this.#watched = parts.watched
    this.#crew = parts.crew
    this.#screen = parts.screen
    this.#secondOfWrites = parts.secondOfWrites
  }

  /** Returns the writer's ledger, when source and target have the same again. */
  async run(): Promise<readonly City[]> {
    const crew = this.#crew
    await crew.startWriter()
    await Promise.all(['worker-1', 'worker-2', 'worker-3'].map((name) => crew.startWorker(name)))
    this.#screen.say(
      'three workers copy them into a collection partitioned by name; a writer goes on',
    )

    const half = await this.#until(({ documents, remaining, sourceDocuments, ranges }) => {
      if (documents > 0 && remaining === 0) {
        throw new Error(
          'everything was copied before half-way was seen: too few cities to show a kill',
        )
      }
      return documents >= sourceDocuments / 2 && busiest(ranges) !== undefined
    })
    const killed = await this.#killBusiest(half)
    const joining = crew.startWorker('worker-4')
    const taken = await this.#until(({ ranges }) => {
      return ranges.every(({ owner }) => owner !== undefined && owner !== killed.worker)
    })
    await joining

    const leaving = ['worker-1', 'worker-2', 'worker-3'].find((name) => name !== killed.worker)!
    this.#screen.say(`SIGTERM to ${leaving}: it finishes its batches and hands its ranges over`)
    const left = Promise.all([crew.terminate(leaving, taken), crew.startWorker('worker-5')])
    await this.#until(({ ranges }) => {
      return ranges.every(({ owner }) => owner !== undefined && owner !== leaving)
    })
    await left

    // Beside a writer that goes on it is at zero for instants that nobody may be looking at.
    await this.#until(({ remaining }) => remaining <= this.#secondOfWrites)
    this.#screen.say('less than a second of writes is left; stopping the writer to cut over')
    const ledger = await crew.stopWriter()
    const signal = AbortSignal.timeout(LIMIT_MS)
    const final = await this.#watched.cutOver({ signal })
    this.#show(final)
    this.#screen.say(
      `lag is zero over all ranges after ${(this.#elapsedMs() / 1000).toFixed(1)} s: cut over`,
    )
    return ledger
  }

  /** SIGKILL to the worker with most work left. Fails if the kill could not have hurt. */
  async #killBusiest(progress: MigrationProgress): Promise<{ readonly worker: string }> {
    const worker = busiest(progress.ranges)!
    this.#crew.kill(worker, progress)
    const after = await this.#look()
    const orphaned = after.ranges.filter(({ owner, lag }) => owner === worker && lag > 0)
    if (orphaned.length === 0) {
      throw new Error(
        `${worker} was killed, but had no range with work left: the kill showed nothing`,
      )
    }
    const lag = orphaned.reduce((sum, range) => sum + range.lag, 0)
    this.#screen.say(
      `SIGKILL to ${worker} in the middle of ${orphaned.length} ranges, ${lag} transactions behind`,
    )
    return { worker }
  }

  async #until(reached: (progress: MigrationProgress) => boolean): Promise<MigrationProgress> {
    for (;;) {
      const progress = await this.#look()
      if (reached(progress)) return progress
      this.#expectNews(progress)
      await sleep(LOOK_MS)
    }
  }

  async #look(): Promise<MigrationProgress> {
    const progress = await this.#watched.progress()
    this.#crew.observe(progress)
    this.#crew.check()
    this.#show(progress)
    return progress
  }

  #show(progress: MigrationProgress): void {
    const { workers, writes, takeovers } = this.#crew
    const elapsedMs = this.#elapsedMs()
    const scene = { elapsedMs, workers, writes, takeovers }
    if (this.#screen.live) {
      this.#screen.draw(pictureLines(progress, scene))
    } else if (elapsedMs - this.#lastLineMs >= PLAIN_LINE_MS) {
      this.#lastLineMs = elapsedMs
      this.#screen.say(plainLine(progress, scene))
    }
  }

  #elapsedMs(): number {
    return performance.now() - this.#started
  }

  #expectNews({ documents, ranges }: MigrationProgress): void {
    const owners = ranges.map(({ leaseId, epoch, owner }) => [leaseId, epoch, owner])
    const news = JSON.stringify([documents, owners])
    const elapsedMs = this.#elapsedMs()
    if (news !== this.#lastNews) {
      this.#lastNews = news
      this.#lastNewsMs = elapsedMs
    } else if (elapsedMs - this.#lastNewsMs > LIMIT_MS) {
      throw new Error(`nothing happened for ${LIMIT_MS / 1000} s: ${news}`)
    }
  }
}

/** The worker with the most transactions left in its ranges; undefined if nobody has any. */
function busiest(ranges: MigrationProgress['ranges']): string | undefined {
  const lags = new Map<string, number>()
  for (const { owner, lag } of ranges) {
    if (owner !== undefined && lag > 0) lags.set(owner, (lags.get(owner) ?? 0) + lag)
  }
  return [...lags].sort(([, a], [, b]) => b - a)[0]?.[0]
}

interface Outcome {
  readonly report: VerifyReport
  readonly ledger: LedgerFindings
  readonly cities: number
  readonly crew: Crew
}

function conclude({ report, ledger, cities, crew }: Outcome, screen: Screen): number {
  const missing = report.missing.count + ledger.missing
  const different = report.different.count + ledger.different
  const extra = report.extra.count
  screen.say(
    `the writer's ledger: ${cities} cities written, ${ledger.missing} missing, ${ledger.different} different`,
  )
  if (extra > 0) {
    const ids = report.extra.samples.map(({ id }) => id).join(', ')
    screen.say(`${extra} documents in the target that no city made: ${ids}`)
  }
  const isRight = report.same && missing === 0 && different === 0 && crew.takeovers > 0
  if (!isRight) for (const failure of crew.failures) screen.say(failure)
  const retries = [...crew.retries].map(([what, count]) => `${what} ${count}`).join(', ')
  if (isRight && retries !== '') {
    screen.say(
      `retried on the way, as expected when workers leave and the machine is busy: ${retries}`,
    )
  }
  screen.say(
    `migrated ${report.targetDocuments} documents, ${crew.writes} updates on the way, ` +
      `${crew.takeovers} takeovers: ${missing} missing, ${different} different`,
  )
  return isRight ? 0 : 1
}
