import {
  ResourceExistsError,
  ResourceNotFoundError,
  StoreClosedError,
  systemClock,
  systemRandom,
  type Clock,
  type Random,
} from '@tidemark/contracts'
import type { DatabaseRecord } from '../engine/catalog.ts'
import { databaseRid, recordEtag } from '../engine/resource-ids.ts'
import type { EngineSupport, StorageEngine } from '../engine/storage-engine.ts'
import { MemoryDatabase } from './memory-database.ts'
import { StoreClock } from './store-clock.ts'

export interface MemoryStorageEngineOptions {
  /** @default the machine's clock */
  readonly clock?: Clock | undefined
  /** For the store's id. @default the operating system's randomness */
  readonly random?: Random | undefined
}

/**
 * Keeps everything in this process' memory and loses it with the process: for tests, simulations and experiments. In
 * all other respects it behaves as the durable engines do: they share one conformance suite.
 */
export class MemoryStorageEngine implements StorageEngine {
  readonly description = 'memory'
  readonly storeId: string
  readonly supports: EngineSupport = { processes: 'single', durable: false }
  readonly #clock: Clock
  readonly #storeClock: StoreClock
  readonly #databases = new Map<string, MemoryDatabase>()
  #nextDatabase = 1
  #status: 'open' | 'closed' = 'open'

  constructor({ clock = systemClock, random = systemRandom }: MemoryStorageEngineOptions = {}) {
    this.#clock = clock
    this.#storeClock = new StoreClock(clock)
    this.storeId = random.hex(16)
  }

  async listDatabases(): Promise<readonly DatabaseRecord[]> {
    this.#assertOpen()
    return [...this.#databases.values()].map(({ record }) => record)
  }

  async readDatabase(id: string): Promise<DatabaseRecord | undefined> {
    this.#assertOpen()
    return this.#databases.get(id)?.record
  }

  async createDatabase(
    id: string,
    { annotation }: { readonly annotation?: string | undefined } = {},
  ): Promise<DatabaseRecord> {
    this.#assertOpen()
    if (this.#databases.has(id)) throw new ResourceExistsError('database', id)
    const rid = databaseRid(this.storeId, this.#nextDatabase++)
    const ts = Math.floor(this.#storeClock.nowMs() / 1000)
    const etag = recordEtag(rid, ts)
    const record = { id, rid, etag, ts, ...(annotation !== undefined && { annotation }) }
    this.#databases.set(id, new MemoryDatabase(record, this.#clock, this.#storeClock))
    return record
  }

  async annotateDatabase(
    { id, rid }: DatabaseRecord,
    annotation: string,
    { ifMatch }: { readonly ifMatch?: string | undefined } = {},
  ): Promise<DatabaseRecord> {
    const database = this.#database(id)
    if (database.record.rid !== rid) throw new ResourceNotFoundError('database', id)
    return database.annotate(annotation, ifMatch)
  }

  async deleteDatabase(id: string): Promise<void> {
    const database = this.#database(id)
    this.#databases.delete(id)
    database.end('deleted')
  }

  async openDatabase(id: string): Promise<MemoryDatabase> {
    return this.#database(id)
  }

  async close(): Promise<void> {
    this.#status = 'closed'
    for (const database of this.#databases.values()) database.end('closed')
    this.#databases.clear()
  }

  #database(id: string): MemoryDatabase {
    this.#assertOpen()
    const database = this.#databases.get(id)
    if (database === undefined) throw new ResourceNotFoundError('database', id)
    return database
  }

  #assertOpen(): void {
    if (this.#status === 'closed') throw new StoreClosedError('the store was closed')
  }
}
