import fc from 'fast-check'
import { expect, test } from 'vitest'
import { StoreUnavailableError, type DocumentBody } from '@tidemark/contracts'
import { MemoryLeaseStore } from '@tidemark/processor'
import { Store, type StorageEngine } from '@tidemark/store'
import type { DatabaseEngine } from '@tidemark/store/engine'
import { SimulatedClock, openMemoryEngine } from '@tidemark/testing'
import { inTime } from '../in-time.fixture.ts'
import { verifyMigration } from '../verification/verify-migration.ts'
import { migrateCollection, type Migration } from './migrate-collection.ts'
import type { MigrationEvent } from './migration-events.ts'

/*
 * Workers that are killed, or stand still and come back, at any of their commits; each with an engine of
 * its own in front of the shared one, and with faults at its lease store too.
 */

interface Item extends DocumentBody {
  readonly group: string
  readonly name: string
  readonly version: number
  readonly ttl?: number
}

type Fate =
  /** The process dies; its commit did not reach the store. */
  | 'dies before'
  /** The process dies; its commit is done and nobody heard of it. */
  | 'dies after'
  /** The process stands still for longer than its leases last; then the commit arrives. */
  | 'sleeps'

const EXPIRATION_MS = 4_000
const STEP = { stepMs: 50 }
/** What is found is told before the test runs into its time limit, cut down or not. */
const SHRINKING = { interruptAfterTimeLimit: 100_000, markInterruptAsFailure: true }
const TIMEOUT_MS = 120_000

class WorkerProcess {
  readonly hostName: string
  readonly #clock: SimulatedClock
  readonly #fate: Fate | undefined
  readonly #fatalCommit: number
  #random: number
  #commits = 0
  #state: 'alive' | 'asleep' | 'dead' = 'alive'
  faults = 0

  constructor(
    hostName: string,
    clock: SimulatedClock,
    { fate, commit, seed }: { fate: Fate | undefined; commit: number; seed: number },
  ) {
    this.#random = seed
    this.hostName = hostName
    this.#clock = clock
    this.#fate = fate
    this.#fatalCommit = commit
  }

  get struck(): boolean {
    return this.faults > 0
  }

  /** Every call of the process to the outside passes here. */
  async pass<Value>(call: () => Promise<Value>): Promise<Value> {
    if (this.#state === 'asleep') await this.#clock.sleep(2 * EXPIRATION_MS, NEVER)
    if (this.#state === 'dead') throw new StoreUnavailableError(`${this.hostName} is dead`)
    return call()
  }

  async commit<Value>(call: () => Promise<Value>): Promise<Value> {
    return this.pass(async () => {
      // Commits take different times, so that what was read may be old when it is acted on.
      this.#random = (Math.imul(this.#random, 1_103_515_245) + 12_345) >>> 0
      await this.#clock.sleep((this.#random >>> 16) % 7, NEVER)
      this.#commits += 1
      if (this.#commits !== this.#fatalCommit || this.#fate === undefined) return call()
      this.faults += 1
      if (this.#fate === 'sleeps') {
        this.#state = 'asleep'
        await this.#clock.sleep(2 * EXPIRATION_MS, NEVER)
        this.#state = 'alive'
        return call()
      }
      if (this.#fate === 'dies after') await call()
      this.#state = 'dead'
      throw new StoreUnavailableError(`${this.hostName} is dead`)
    })
  }
}

const NEVER = new AbortController().signal

/** The shared engine as one process sees it. */
function engineOf(shared: StorageEngine, worker: WorkerProcess): StorageEngine {
  const databases = new Map<string, DatabaseEngine>()
  return guarded(shared, {
    openDatabase: async (id: string) => {
      const inner = await shared.openDatabase(id)
      const known = databases.get(id)
      if (known !== undefined) return known
      const database = guarded(
        inner,
        { commit: (request) => worker.commit(() => inner.commit(request)) },
        worker,
      )
      databases.set(id, database)
      return database
    },
    close: async () => {},
  })

  function guarded<Target extends object>(
    target: Target,
    overrides: Partial<Target>,
    guard?: WorkerProcess,
  ): Target {
    return new Proxy(target, {
      get(_target, name) {
        const own: unknown = Reflect.get(overrides, name)
        if (own !== undefined) return own
        const value: unknown = Reflect.get(target, name, target)
        if (typeof value !== 'function') return value
        return (...args: unknown[]): unknown => {
          const call = (): unknown => Reflect.apply(value, target, args)
          if (guard === undefined || name === 'nowMs') return call()
          return guard.pass(async () => call())
        }
      },
    })
  }
}

interface Strike {
  readonly fate: Fate
  /** Which commit of the worker it strikes. */
  readonly commit: number
}

interface Scenario {
  /** What becomes of the first two workers. */
  readonly strikes: readonly [Strike, Strike]
  readonly writes: readonly {
    readonly id: number
    readonly group: number
    readonly name: number
    readonly waitMs: number
    /** Used where documents go; else all of them are put for ever. */
    readonly act: 'put' | 'expire' | 'delete'
  }[]
  readonly drops: boolean
  readonly seed: number
}

const strike = fc.record<Strike>({
  fate: fc.constantFrom('dies before', 'dies after', 'sleeps'),
  commit: fc.integer({ min: 1, max: 8 }),
})

const scenario = fc.record<Scenario>({
  strikes: fc.tuple(strike, strike),
  writes: fc.array(
    fc.record({
      id: fc.integer({ min: 0, max: 12 }),
      group: fc.integer({ min: 0, max: 3 }),
      name: fc.integer({ min: 0, max: 6 }),
      waitMs: fc.constantFrom(0, 0, 0, 20, 500),
      act: fc.constantFrom('put', 'put', 'put', 'expire', 'delete'),
    }),
    { minLength: 10, maxLength: 60 },
  ),
  drops: fc.boolean(),
  seed: fc.nat(),
})

test(
  'JB-1 workers killed or delayed at any two commits leave exactly the right data',
  async () => {
    let struck = 0
    let takeovers = 0
    let fenced = 0
    await fc.assert(
      fc.asyncProperty(scenario, async (given) => {
        const outcome = await run(given, { unique: true, going: false })
        struck += outcome.struck
        takeovers += outcome.takeovers
        fenced += outcome.fenced
        expect(outcome.report).toMatchObject({ same: true })
      }),
      { numRuns: 80, ...SHRINKING },
    )
    // Faults that never happened would show nothing.
    expect(struck).toBeGreaterThan(50)
    expect(takeovers).toBeGreaterThan(50)
    expect(fenced).toBeGreaterThan(10)
  },
  TIMEOUT_MS,
)

test(
  'the same with target keys that several documents want: as many copies as keys, each of a document that wants it',
  async () => {
    await fc.assert(
      fc.asyncProperty(scenario, async (given) => {
        const { report, waiting, wanted } = await run(given, { unique: false, going: false })
        expect(report.missing.count).toBe(0)
        expect(report.extra.count).toBe(0)
        expect(report.targetDocuments).toBe(wanted.size)
        // Those that are left out are exactly those that the job says are waiting.
        expect(waiting).toBe(report.expected - wanted.size)
        expect(report.different.count).toBe(waiting)
      }),
      { numRuns: 80, ...SHRINKING },
    )
  },
  TIMEOUT_MS,
)

test(
  'JB-2 the same with documents that expire and are deleted: both sides say the same, whoever has whose key',
  async () => {
    let struck = 0
    let expired = 0
    let deleted = 0
    await fc.assert(
      fc.asyncProperty(scenario, async (given) => {
        const outcome = await run(given, { unique: true, going: true })
        expect(outcome.report).toMatchObject({ same: true })
        struck += outcome.struck
        expired += outcome.expired
        deleted += outcome.deleted
      }),
      { numRuns: 40, ...SHRINKING },
    )
    await fc.assert(
      fc.asyncProperty(scenario, async (given) => {
        const { report, waiting, wanted } = await run(given, { unique: false, going: true })
        expect(report.missing.count).toBe(0)
        expect(report.extra.count).toBe(0)
        expect(report.targetDocuments).toBe(wanted.size)
        expect(waiting).toBe(report.expected - wanted.size)
      }),
      { numRuns: 40, ...SHRINKING },
    )
    expect(struck).toBeGreaterThan(10)
    expect(expired).toBeGreaterThan(0)
    expect(deleted).toBeGreaterThan(0)
  },
  2 * TIMEOUT_MS,
)

async function run(
  { strikes, writes, drops, seed }: Scenario,
  { unique, going }: { unique: boolean; going: boolean },
) {
  const clock = new SimulatedClock()
  const engine = openMemoryEngine({ clock })
  const writer = await Store.open({ engine, maintenance: 'manual' })
  const leases = new MemoryLeaseStore({ clock })
  const source = await writer.database('db').createCollectionIfNotExists<Item>({
    id: 'source',
    partitionKey: '/group',
    partitionCount: 3,
    defaultTtl: going ? -1 : null,
    allVersions: going ? { retentionSeconds: 86_400 } : null,
  })
  await writer.database('db').createCollection({
    id: 'target',
    partitionKey: '/name',
    defaultTtl: going ? -1 : null,
  })
  const mapDocument = (item: Item): Item | undefined => {
    if (drops && item.version % 7 === 3) return undefined
    return unique ? item : { ...item, id: item.name }
  }
  const events: MigrationEvent[] = []
  const start = async (worker: WorkerProcess): Promise<Migration<Item>> => {
    const store = await Store.open({ engine: engineOf(engine, worker), maintenance: 'manual' })
    const database = store.database('db')
    const guardedLeases = new MemoryLeaseStore({ clock })
    guardedLeases.openGroup = async (group) => {
      const inner = await leases.openGroup(group)
      return new Proxy(inner, {
        get(_target, name) {
          const value: unknown = Reflect.get(inner, name, inner)
          if (typeof value !== 'function') return value
          if (name === 'subscribe' || name === 'close') {
            return (...args: unknown[]): unknown => Reflect.apply(value, inner, args)
          }
          return (...args: unknown[]): unknown =>
            worker.pass(async () => Reflect.apply(value, inner, args) as unknown)
        },
      })
    }
    const migration = migrateCollection<Item, Item>({
      job: 'job',
      hostName: worker.hostName,
      source: database.collection<Item>('source'),
      target: { database, id: 'target' },
      leases: guardedLeases,
      mapDocument,
      logger: false,
      deletes: going ? 'apply' : 'ignore',
      maxItemCount: 3,
      hostOptions: {
        leaseExpirationIntervalMs: EXPIRATION_MS,
        leaseRenewIntervalMs: 500,
        retryMaxDelayMs: 500,
        shutdownTimeoutMs: 1_000,
        abortGraceMs: 100,
        startTimeoutMs: 2_000,
      },
      clock,
      onEvent: (event) => events.push(event),
    })
    // A worker that is struck while it starts does not start.
    await inTime(clock, migration.start(), STEP).catch(() => {})
    return migration
  }

  const write = async (position: number): Promise<void> => {
    const next = writes[position]
    if (next === undefined) return
    const { id, group, name, act } = next
    if (going && act === 'delete') {
      await source.delete(`${id}`, `g${id % 4}`).catch(() => {})
      return
    }
    await source.upsert({
      // An id belongs to one partition key value, as in life.
      id: `${id}`,
      group: `g${id % 4}`,
      name: `n${name}`,
      version: position * 10 + group,
      ...(going && act === 'expire' && { ttl: 1 + (position % 3) }),
    })
    if (going && position % 5 === 0) await writer.runMaintenance()
    if (next.waitMs > 0) await clock.advance(next.waitMs)
  }

  const before = Math.floor(writes.length / 2)
  for (let position = 0; position < before; position += 1) await write(position)
  const struckWorkers = strikes.map(
    (fate, index) => new WorkerProcess(`struck-${index}`, clock, { ...fate, seed: seed + index }),
  )
  const migrations: Migration<Item>[] = []
  for (const worker of struckWorkers) migrations.push(await start(worker))
  for (let position = before; position < writes.length; position += 1) await write(position)
  await clock.advance(1_000)
  const rescuer = new WorkerProcess('rescuer', clock, { fate: undefined, commit: 0, seed })
  const rescue = await start(rescuer)
  migrations.push(rescue)
  await inTime(clock, rescue.cutOver(), STEP)
  // Whoever slept has come back by now, with what it still wanted to write.
  await clock.advance(3 * EXPIRATION_MS)
  await writer.runMaintenance()
  const progress = await inTime(clock, rescue.cutOver(), STEP)
  const target = writer.database('db').collection<Item>('target')
  const report = await verifyMigration({ source, target, mapDocument })
  const { documents } = await source.readDocuments()
  const wanted = new Set(documents.flatMap((item) => mapDocument(item)?.name ?? []))
  for (const migration of migrations) await inTime(clock, migration.stop(), STEP).catch(() => {})
  return {
    report,
    waiting: progress.waiting,
    wanted,
    takeovers: progress.takeovers,
    expired: progress.expired,
    deleted: progress.deleted,
    fenced: events.filter(({ kind }) => kind === 'fenced').length,
    struck: struckWorkers.filter((worker) => worker.struck).length,
  }
}
