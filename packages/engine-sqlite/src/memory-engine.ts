import {
  ResourceExistsError,
  ResourceNotFoundError,
  StoreClosedError,
  systemClock,
  systemRandom,
  type Clock,
  type Random,
} from '@tidemark/contracts'
import { assertSupportedNode } from '@tidemark/contracts/internal'
import {
  annotatedDatabase,
  databaseRid,
  recordEtag,
  type DatabaseRecord,
  type EngineSupport,
  type StorageEngine,
} from '@tidemark/store/engine'
import { MemoryPlace } from './memory-place.ts'
import { SqliteDatabase } from './sqlite-database.ts'
import { StoreClock } from '@tidemark/store/engine'

export interface MemoryEngineOptions {
  /** @default the machine's clock */
  readonly clock?: Clock | undefined
  /** For the store's id. @default the operating system's randomness */
  readonly random?: Random | undefined
}

/**
 * Opens a new, empty store in the memory of this process, which is lost when it is closed: for tests, simulations and
 * experiments. It has the tables of a store in a folder, but no files and no thread.
 *
 * @throws ERR_NODE_UNSUPPORTED
 */
export function openMemoryEngine(options: MemoryEngineOptions = {}): StorageEngine {
  assertSupportedNode()
  const { clock = systemClock, random = systemRandom } = options
  return new MemoryEngine(random.hex(16), clock)
}

interface Entry {
  readonly record: DatabaseRecord
  readonly database: SqliteDatabase
}

/** SQLite databases in memory. Made by `openMemoryEngine`. */
class MemoryEngine implements StorageEngine {
  readonly description = 'memory'
  readonly storeId: string
  readonly supports: EngineSupport = { processes: 'single', durable: false }
  readonly #clock: Clock
  readonly #storeClock: StoreClock
  readonly #databases = new Map<string, Entry>()
  #nextDatabase = 1
  #closing: Promise<void> | undefined

  constructor(storeId: string, clock: Clock) {
    this.storeId = storeId
    this.#clock = clock
    this.#storeClock = new StoreClock(clock)
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
    const nowMs = (atLeastMs?: number): number => this.#storeClock.nowMs(atLeastMs)
    const place = new MemoryPlace(id, nowMs)
    const database = new SqliteDatabase(record, { place, clock: this.#clock, nowMs })
    this.#databases.set(id, { record, database })
    return record
  }

  async annotateDatabase(
    { id, rid }: DatabaseRecord,
    annotation: string,
    { ifMatch }: { readonly ifMatch?: string | undefined } = {},
  ): Promise<DatabaseRecord> {
    const { record: present, database } = this.#entry(id)
    if (present.rid !== rid) throw new ResourceNotFoundError('database', id)
    const nowMs = this.#storeClock.nowMs()
    const record = annotatedDatabase(present, annotation, { nowMs, ifMatch })
    this.#databases.set(id, { record, database })
    return record
  }

  async deleteDatabase(id: string): Promise<void> {
    const { database } = this.#entry(id)
    this.#databases.delete(id)
    await database.drop()
  }

  async openDatabase(id: string): Promise<SqliteDatabase> {
    return this.#entry(id).database
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    const databases = [...this.#databases.values()]
    this.#databases.clear()
    for (const { database } of databases) await database.close()
  }

  #entry(id: string): Entry {
    this.#assertOpen()
    const entry = this.#databases.get(id)
    if (entry === undefined) throw new ResourceNotFoundError('database', id)
    return entry
  }

  #assertOpen(): void {
    if (this.#closing !== undefined) throw new StoreClosedError('the store was closed')
  }
}
