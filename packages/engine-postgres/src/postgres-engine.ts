import { ResourceNotFoundError, StoreClosedError, type Clock } from '@tidemark/contracts'
import { assertSupportedNode } from '@tidemark/contracts/internal'
import type { DatabaseRecord, EngineSupport, StorageEngine } from '@tidemark/store/engine'
import { CollectionCache } from './catalog/collection-cache.ts'
import { Connections } from './connection/connections.ts'
import { Statements } from './connection/statements.ts'
import { detectDialect } from './connection/detect-dialect.ts'
import { resolveOptions, type PostgresEngineOptions, type ResolvedOptions } from './options.ts'
import { PostgresDatabase } from './postgres-database.ts'
import { findDatabase, listDatabases } from './reader/read-catalog.ts'
import { hearStoreTime } from './reader/hear-store-time.ts'
import type { ReadContext } from './reader/read-context.ts'
import { openSchema } from './schema/open-schema.ts'
import { StoreClock } from './store-clock.ts'
import { Doorbell } from './wakeup/doorbell.ts'
import { Ringer } from './wakeup/ringer.ts'
import type { Touched } from './wakeup/touched-range.ts'
import { ClockKeeper } from './writer/clock-keeper.ts'
import { annotateDatabase, insertDatabase, removeDatabase } from './writer/database-writes.ts'

/** How often waiting readers check the server when notifications may not come in time: see `#hearsAll`. */
const QUIET_POLL_MS = 20

/**
 * Opens the store in a schema of a PostgreSQL database, or creates one there. Any number of processes on any number of
 * machines can open the same schema at the same time (ST-10).
 *
 * Rejects with ERR_STORE_UNAVAILABLE (wrong address, database or password, no privilege), ERR_STORE_FORMAT (newer, or
 * not created yet with `schemaManagement: 'none'`), ERR_STORE_IN_USE (a schema of that name that is not a store),
 * ERR_STORE_DAMAGED, ERR_SERVER_UNSUPPORTED, ERR_INVALID_OPTION, ERR_NODE_UNSUPPORTED.
 */
export async function openPostgresEngine(options: PostgresEngineOptions): Promise<StorageEngine> {
  assertSupportedNode()
  const resolved = resolveOptions(options)
  const { schema, storeTime, clock, random } = resolved
  const connections = new Connections({ ...resolved.connections, clock, random })
  try {
    await connections.open()
    const statements = new Statements(schema, {
      dialect: await detectDialect(connections),
      clock: storeTime === 'process' ? 'own' : 'server',
    })
    const management = resolved.schemaManagement
    const { storeId } = await openSchema({ connections, statements, management, random })
    const engine = new PostgresEngine(resolved, { connections, statements, storeId })
    await engine.start()
    return engine
  } catch (error) {
    await connections.close()
    throw error
  }
}

interface EngineParts {
  readonly connections: Connections
  readonly statements: Statements
  readonly storeId: string
}

/** The tables of one schema. Created by `openPostgresEngine`. */
class PostgresEngine implements StorageEngine {
  readonly description: string
  readonly storeId: string
  readonly supports: EngineSupport = { processes: 'many', durable: true }
  readonly #options: ResolvedOptions
  readonly #context: ReadContext
  readonly #clock: Clock
  readonly #doorbell: Doorbell
  readonly #ringer: Ringer
  readonly #keeper: ClockKeeper
  readonly #databases = new Map<string, PostgresDatabase>()
  readonly #numbers = new Map<string, number>()
  readonly #firstSlot: number
  #hearsSinceMs: number | undefined
  #closing: Promise<void> | undefined

  constructor(options: ResolvedOptions, { connections, statements, storeId }: EngineParts) {
    const { clock, random, storeTime } = options
    this.description = options.description
    this.storeId = storeId
    this.#options = options
    this.#clock = clock
    const store = new StoreClock(clock, storeTime === 'process' ? 'own' : 'server')
    const collections = new CollectionCache(connections, statements)
    const { replicaUrl, replicaPool } = options.connections
    const hasReplica = replicaUrl !== undefined || replicaPool !== undefined
    this.#context = { connections, statements, collections, clock: store, hasReplica }
    const channel = `tidemark_${storeId}`
    const origin = random.hex(8)
    this.#firstSlot = Number.parseInt(origin.slice(0, 2), 16)
    this.#ringer = new Ringer({ connections, channel, origin, clock })
    this.#keeper = new ClockKeeper(this.#context)
    this.#doorbell = new Doorbell({
      ...options.connections,
      channel,
      origin,
      clock,
      random,
      onRing: (touched) => this.#rung(touched),
      onConnected: () => {
        this.#hearsSinceMs = clock.monotonicMs()
        this.#rung('anything')
      },
      onLost: () => {
        for (const database of this.#databases.values()) database.deafened()
      },
    })
  }

  /** Reads the store's time, and begins to listen for other processes' commits. */
  async start(): Promise<void> {
    await hearStoreTime(this.#context)
    await this.#doorbell.start()
  }

  async listDatabases(): Promise<readonly DatabaseRecord[]> {
    return (await listDatabases(this.#open())).map(({ record }) => record)
  }

  async readDatabase(id: string): Promise<DatabaseRecord | undefined> {
    return (await findDatabase(this.#open(), id))?.record
  }

  async createDatabase(
    id: string,
    { annotation }: { readonly annotation?: string | undefined } = {},
  ): Promise<DatabaseRecord> {
    const context = this.#open()
    const ts = Math.floor(context.clock.nowMs() / 1000)
    return (await insertDatabase(context, { id, storeId: this.storeId, ts, annotation })).record
  }

  async annotateDatabase(
    database: DatabaseRecord,
    annotation: string,
    { ifMatch }: { readonly ifMatch?: string | undefined } = {},
  ): Promise<DatabaseRecord> {
    return annotateDatabase(this.#open(), database, { annotation, ifMatch })
  }

  async deleteDatabase(id: string): Promise<void> {
    await removeDatabase(this.#open(), id)
    await this.#forget(id)
    this.#ringer.ring('anything')
  }

  async openDatabase(id: string): Promise<PostgresDatabase> {
    const context = this.#open()
    const row = await findDatabase(context, id)
    const known = this.#databases.get(id)
    if (row === undefined) {
      // Another process may have deleted it.
      await this.#forget(id)
      throw new ResourceNotFoundError('database', id)
    }
    if (known !== undefined) {
      if (this.#numbers.get(id) === row.number) return known
      // Deleted and created again.
      await this.#forget(id)
    }
    this.#open()
    const { maxPendingCommits, maxGroupOperations, segmentSlots, pollIntervalMs, maxReplicaLagMs } =
      this.#options
    const database = new PostgresDatabase(row, {
      context,
      clock: this.#clock,
      maxPendingCommits,
      maxGroupOperations,
      segmentSlots,
      pollIntervalMs: () => (this.#hearsAll() ? pollIntervalMs : QUIET_POLL_MS),
      maxReplicaLagMs,
      hearsAllSinceMs: () => (this.#hearsAll() ? this.#hearsSinceMs : undefined),
      hears: () => this.#doorbell.isConnected,
      firstSlot: this.#firstSlot,
      onCommit: (touched, timeMs, options) => {
        if (touched === 'anything' || touched.ranges.length + touched.entities.length > 0) {
          this.#ringer.ring(touched, options)
        }
        if (timeMs !== undefined) this.#keeper.keep(row.number, timeMs)
      },
    })
    this.#databases.set(id, database)
    this.#numbers.set(id, row.number)
    return database
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    for (const database of this.#databases.values()) await database.end()
    this.#databases.clear()
    await this.#doorbell.stop()
    await this.#ringer.stop()
    await this.#keeper.stop()
    await this.#context.connections.close()
  }

  async #forget(id: string): Promise<void> {
    const database = this.#databases.get(id)
    this.#databases.delete(id)
    this.#numbers.delete(id)
    await database?.end(new ResourceNotFoundError('database', id))
  }

  #rung(touched: Touched): void {
    for (const database of this.#databases.values()) database.rung(touched)
  }

  /** Whether a notification means that there is something to read. A follower may have it only later. */
  #hearsAll(): boolean {
    return this.#doorbell.isConnected && !this.#context.hasReplica
  }

  #open(): ReadContext {
    if (this.#closing !== undefined) throw new StoreClosedError('the store was closed')
    return this.#context
  }
}
