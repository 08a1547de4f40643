import { join, resolve } from 'node:path'
import {
  InvalidOptionError,
  ResourceNotFoundError,
  StoreClosedError,
  StoreDamagedError,
  systemClock,
  systemRandom,
  type Clock,
  type Presence,
  type Random,
} from '@tidemark/contracts'
import { assertSupportedNode } from '@tidemark/contracts/internal'
import type {
  DatabaseRecord,
  EngineNotice,
  EngineSupport,
  StorageEngine,
} from '@tidemark/store/engine'
import { SEGMENT_SLOTS } from './connection/schema.ts'
import { FilePlace } from './file-place.ts'
import { DatabaseCatalog, type CatalogEntry } from './folder/database-catalog.ts'
import { prepareDatabaseFile } from './folder/database-file.ts'
import type { StoreAccess } from './store-access.ts'
import { openStoreFolder } from './folder/store-folder.ts'
import { bootId } from './platform/boot-id.ts'
import { machineMs } from './platform/machine-clock.ts'
import { Doorbells } from './platform/doorbells.ts'
import { SocketPresence } from './platform/socket-presence.ts'
import { WriterClient } from './platform/writer-client.ts'
import { SqliteDatabase } from './sqlite-database.ts'
import { StoreClock } from '@tidemark/store/engine'

export interface SqliteEngineOptions {
  /** Created if it is missing. A folder that is not empty must be a store. */
  readonly folder: string
  /**
   * Who can use the files of a new store. `owner`: the user of this process. `group`: also the folder's group. An
   * existing store keeps its access and ignores this option. @default 'owner'
   */
  readonly access?: StoreAccess | undefined
  /**
   * `sync`: an acknowledged write survives a crash of the machine. `relaxed`: it survives the death of the process. A
   * crash of the machine may lose the writes of the last 200 ms, but never consistency (ST-6). @default 'sync'
   */
  readonly durability?: 'sync' | 'relaxed' | undefined
  /** Maximum number of commits that wait for the disk, for each database. @range 1 or more @default 100_000 */
  readonly maxPendingCommits?: number | undefined
  /**
   * Maximum number of operations in one transaction and sync; 8 MiB of text and 50 ms also end it.
   * @range 1 or more @default 2_000
   */
  readonly maxGroupOperations?: number | undefined
  /**
   * How long a commit waits for other processes' writers, in ms, before it fails with ERR_STORE_UNAVAILABLE.
   * @range 1 or more @default 30_000
   */
  readonly lockTimeoutMs?: number | undefined
  /**
   * Maximum size of a database's log of writes (its `-wal` file) in bytes. The log is written back and emptied from
   * half of it on. It exceeds the maximum by one commit at a time, and while a reader holds it for long (event
   * `logHeld`).
   * @range 1 or more @default 64 MiB
   */
  readonly maxLogBytes?: number | undefined
  /** @default the machine's clock */
  readonly clock?: Clock | undefined
  /** @default the operating system's randomness */
  readonly random?: Random | undefined
}

/** With what only tests set: see the entry `testing`. */
export interface TestedEngineOptions extends SqliteEngineOptions {
  /** Slots after which a range continues in a new segment. @range 1 to 2_147_483_648 @default 2 ** 31 */
  readonly segmentSlots?: number | undefined
  /** Identifies the present boot of the machine. @default the kernel's boot id */
  readonly bootId?: string | undefined
  /** Monotonic time that all processes of this boot share, ms. @default the machine's */
  readonly machineMs?: (() => number) | undefined
}

type ResolvedOptions = {
  readonly [Key in keyof TestedEngineOptions]-?: NonNullable<TestedEngineOptions[Key]>
}

/**
 * Opens the store in a folder, or creates one there. Any number of processes on one machine can open the same folder at
 * the same time (ST-10). Do not use it on network file systems: the log needs shared memory.
 *
 * Rejects with ERR_INVALID_OPTION (also for the path of a file), ERR_STORE_IN_USE (not a store), ERR_STORE_FORMAT
 * (newer), ERR_STORE_DAMAGED, ERR_STORE_UNAVAILABLE (no permission, disk full, held by another process),
 * ERR_NODE_UNSUPPORTED.
 */
export async function openSqliteEngine(options: SqliteEngineOptions): Promise<StorageEngine> {
  assertSupportedNode()
  const resolved = resolveOptions(options)
  const { folder, random, clock } = resolved
  const found = await openStoreFolder(folder, {
    access: resolved.access,
    random,
    nowMs: clock.wallMs(),
  })
  const { storeId } = found.marker
  const { access } = found
  const catalog = await DatabaseCatalog.open(folder, { storeId, access, clock, random })
  const engine = new SqliteEngine({ ...resolved, access }, storeId, catalog)
  await engine.start()
  return engine
}

/** One folder of SQLite files: a catalog, and one file for each database. Made by `openSqliteEngine`. */
class SqliteEngine implements StorageEngine {
  readonly description: string
  readonly storeId: string
  readonly supports: EngineSupport = { processes: 'many', durable: true }
  readonly presence: Presence
  readonly #options: ResolvedOptions
  readonly #catalog: DatabaseCatalog
  readonly #processId: string
  readonly #doorbells: Doorbells
  readonly #clock: StoreClock
  readonly #databases = new Map<string, Promise<SqliteDatabase>>()
  #onNotice: (notice: EngineNotice) => void = () => undefined
  #closing: Promise<void> | undefined

  constructor(options: ResolvedOptions, storeId: string, catalog: DatabaseCatalog) {
    this.description = options.folder
    this.storeId = storeId
    this.#options = options
    this.#catalog = catalog
    this.#clock = new StoreClock(options.clock, {
      nowMs: () => {
        const aheadMs = catalog.notedClock(options.bootId)
        return aheadMs === undefined ? undefined : aheadMs + options.machineMs()
      },
      note: (nowMs) => {
        try {
          catalog.noteClock(options.bootId, nowMs - options.machineMs())
        } catch {
          // Full, or held: then only this process goes on.
        }
      },
    })
    this.#processId = options.random.hex(8)
    const { access, random } = options
    this.presence = new SocketPresence(join(options.folder, 'presence'), { access, random })
    this.#doorbells = new Doorbells(join(options.folder, 'doorbells'), {
      id: this.#processId,
      access: options.access,
      onRing: () => void this.#recheckWaits(),
    })
  }

  listen(listener: (notice: EngineNotice) => void): void {
    this.#onNotice = listener
  }

  /** Finishes what other processes left half done, and begins to listen for their commits. */
  async start(): Promise<void> {
    this.#catalog.finishRemovals()
    await this.#doorbells.open()
  }

  async listDatabases(): Promise<readonly DatabaseRecord[]> {
    this.#assertOpen()
    return this.#catalog.list().map(({ record }) => record)
  }

  async readDatabase(id: string): Promise<DatabaseRecord | undefined> {
    this.#assertOpen()
    return this.#catalog.find(id)?.record
  }

  async createDatabase(
    id: string,
    { annotation }: { readonly annotation?: string | undefined } = {},
  ): Promise<DatabaseRecord> {
    this.#assertOpen()
    const file = `db-${this.#options.random.hex(8)}.sqlite`
    return this.#catalog.create(id, file, {
      ts: Math.floor(this.#clock.nowMs() / 1000),
      annotation,
    })
  }

  async annotateDatabase(
    database: DatabaseRecord,
    annotation: string,
    { ifMatch }: { readonly ifMatch?: string | undefined } = {},
  ): Promise<DatabaseRecord> {
    this.#assertOpen()
    return this.#catalog.annotate(database, annotation, { nowMs: this.#clock.nowMs(), ifMatch })
  }

  /**
   * The mark in the database's file decides: until it is there, the database is intact, and from then on every process
   * refuses it. The rest is cleanup. If part of it fails, the next process that opens the folder does it.
   */
  async deleteDatabase(id: string): Promise<void> {
    const database = await this.#openToDelete(id)
    const entry = this.#catalog.find(id)
    if (entry === undefined) throw new ResourceNotFoundError('database', id)
    if (database === undefined) {
      this.#catalog.endRemoval(entry)
      return
    }
    this.#catalog.beginRemoval(entry)
    await database.drop()
    this.#databases.delete(id)
    try {
      this.#catalog.endRemoval(entry)
    } catch {
      // It is deleted all the same.
    }
  }

  /** Open it, because a mark in it informs other processes. A damaged one is just removed. */
  async #openToDelete(id: string): Promise<SqliteDatabase | undefined> {
    try {
      return await this.openDatabase(id)
    } catch (error) {
      if (error instanceof StoreDamagedError) return undefined
      throw error
    }
  }

  async openDatabase(id: string): Promise<SqliteDatabase> {
    this.#assertOpen()
    const entry = this.#catalog.find(id)
    const open = this.#databases.get(id)
    if (entry === undefined) {
      // Another process deleted it.
      this.#databases.delete(id)
      await (await open)?.close()
      throw new ResourceNotFoundError('database', id)
    }
    if (open !== undefined) {
      const database = await open
      if (database.record.rid === entry.record.rid) return database
      // Deleted and created again by another process.
      await database.close()
      if (this.#databases.get(id) !== open) return this.openDatabase(id)
    }
    const opening = this.#open(entry).catch((error: unknown) => {
      // Deleted meanwhile, with its file.
      if (this.#catalog.find(id)?.file === entry.file) throw error
      throw new ResourceNotFoundError('database', id)
    })
    this.#databases.set(id, opening)
    opening.catch(() => this.#databases.delete(id))
    return opening
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    const databases = await Promise.allSettled(this.#databases.values())
    for (const opened of databases) {
      if (opened.status === 'fulfilled') await opened.value.close()
    }
    this.#databases.clear()
    await this.#doorbells.close()
    this.#catalog.close()
  }

  async #open(entry: CatalogEntry): Promise<SqliteDatabase> {
    const { record } = entry
    const { clock } = this.#options
    const file = this.#catalog.fileOf(entry)
    await prepareDatabaseFile(file, this.#options)
    const { durability, bootId: boot, segmentSlots } = this.#options
    const { lockTimeoutMs, maxGroupOperations, maxLogBytes, maxPendingCommits } = this.#options
    const limits = { segmentSlots, lockTimeoutMs, maxGroupOperations, maxLogBytes }
    const writer = await WriterClient.start(
      { file, durability, processId: this.#processId, bootId: boot, ...limits },
      {
        maxPending: maxPendingCommits,
        onNotice: (notice) => this.#onNotice({ databaseId: record.id, ...notice }),
      },
    )
    try {
      const nowMs = (atLeastMs?: number): number => this.#clock.nowMs(atLeastMs)
      const announce = (): void => this.#doorbells.ring()
      const place = new FilePlace(file, { databaseId: record.id, writer, clock, nowMs, announce })
      return new SqliteDatabase(record, { place, clock, nowMs, maxPendingCommits })
    } catch (error) {
      await writer.close()
      throw error
    }
  }

  async #recheckWaits(): Promise<void> {
    for (const opening of this.#databases.values()) {
      const database = await opening.catch(() => undefined)
      database?.recheckWaits()
    }
  }

  #assertOpen(): void {
    if (this.#closing !== undefined) throw new StoreClosedError('the store was closed')
  }
}

function resolveOptions(options: TestedEngineOptions): ResolvedOptions {
  const resolved: ResolvedOptions = {
    folder: resolve(options.folder),
    access: options.access ?? 'owner',
    durability: options.durability ?? 'sync',
    maxPendingCommits: options.maxPendingCommits ?? 100_000,
    maxGroupOperations: options.maxGroupOperations ?? 2000,
    lockTimeoutMs: options.lockTimeoutMs ?? 30_000,
    maxLogBytes: options.maxLogBytes ?? 64 * 2 ** 20,
    segmentSlots: options.segmentSlots ?? 2 ** 31,
    clock: options.clock ?? systemClock,
    random: options.random ?? systemRandom,
    bootId: options.bootId ?? bootId(),
    machineMs: options.machineMs ?? machineMs,
  }
  if (resolved.durability !== 'sync' && resolved.durability !== 'relaxed') {
    throw new InvalidOptionError(
      `durability must be 'sync' or 'relaxed', got ${JSON.stringify(resolved.durability)}`,
    )
  }
  if (resolved.access !== 'owner' && resolved.access !== 'group') {
    throw new InvalidOptionError(
      `access must be 'owner' or 'group', got ${JSON.stringify(resolved.access)}`,
    )
  }
  for (const name of [
    'maxPendingCommits',
    'maxGroupOperations',
    'lockTimeoutMs',
    'maxLogBytes',
    'segmentSlots',
  ] as const) {
    if (!Number.isInteger(resolved[name]) || resolved[name] < 1) {
      throw new InvalidOptionError(`${name} must be a positive integer, got ${resolved[name]}`)
    }
  }
  if (resolved.segmentSlots > SEGMENT_SLOTS / 2) {
    throw new InvalidOptionError(
      `segmentSlots must be at most 2 ** 31, got ${resolved.segmentSlots}`,
    )
  }
  return resolved
}
