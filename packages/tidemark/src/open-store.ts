import { InvalidOptionError, type Clock, type Random } from '@tidemark/contracts'
import { checkOptions, option, optionHaving, type OptionRules } from '@tidemark/contracts/internal'
import type { PostgresEngineOptions } from '@tidemark/engine-postgres'
import { openMemoryEngine, openSqliteEngine } from '@tidemark/engine-sqlite'
import { Store, type MaintenanceMode, type StorageEngine } from '@tidemark/store'
import { openPostgresEngine } from './platform/open-postgres-engine.ts'
import { postgresLocation, refuseOtherUrl } from './postgres-location.ts'

/** A store in a folder of this machine, or in memory. */
export interface FolderStoreOptions {
  /**
   * Created if it is missing. Any number of processes can open it at the same time. `:memory:` is no folder: a new,
   * empty store in the memory of this process, which ends when it is closed.
   */
  readonly folder: string
  /**
   * Who can use the files of a new store. `owner`: the user of this process. `group`: also the folder's group. An
   * existing store keeps its access. @default 'owner'
   */
  readonly access?: 'owner' | 'group' | undefined
  /**
   * `sync`: an acknowledged write survives a crash of the machine. `relaxed`: it survives only the death of the
   * process. The data is consistent in both cases. @default 'sync'
   */
  readonly durability?: 'sync' | 'relaxed' | undefined
  /** Maximum size of a document in bytes. @range 1 to 268_435_456 @default 2 MiB (as in Cosmos DB) */
  readonly maxDocumentBytes?: number | undefined
  /**
   * Sweep, purge and other background work. With several processes, one at a time does it. `manual`: only
   * `store.runMaintenance()` does it. @default in the background
   */
  readonly maintenance?: MaintenanceMode | undefined
  /** @default the machine's */
  readonly clock?: Clock | undefined
  /** @default the machine's */
  readonly random?: Random | undefined
}

/**
 * A store in a schema of a PostgreSQL database, for any number of machines. Give either `url`, which can name the
 * schema as `?schema=`, or `pool`.
 */
export interface PostgresStoreOptions extends PostgresEngineOptions {
  /** As in `FolderStoreOptions`. @range 1 to 268_435_456 @default 2 MiB (as in Cosmos DB) */
  readonly maxDocumentBytes?: number | undefined
  /** As in `FolderStoreOptions`. @default in the background */
  readonly maintenance?: MaintenanceMode | undefined
}

/** A store on an engine that you have opened. The store closes it. */
export interface EngineStoreOptions {
  readonly engine: StorageEngine
  /** Maximum size of a document in bytes. @range 1 to 268_435_456 @default 2 MiB (as in Cosmos DB) */
  readonly maxDocumentBytes?: number | undefined
  /** As in `FolderStoreOptions`. @default in the background */
  readonly maintenance?: MaintenanceMode | undefined
  /** Paces maintenance. Expiry follows the engine's clock, not this one. @default the machine's */
  readonly clock?: Clock | undefined
  /** @default the machine's */
  readonly random?: Random | undefined
}

const NO_PLACE =
  'openStore needs the path of a folder, a postgres:// URL, { folder }, { url }, { pool } or { engine }'

const pool = optionHaving('a Pool of pg', 'connect', 'end', 'on')

/** The place of a store without files. */
const MEMORY = ':memory:'

/** `Store.open` looks at what is in `maintenance`. */
const storeRules: OptionRules<Omit<EngineStoreOptions, 'engine'>> = {
  maxDocumentBytes: option.number,
  maintenance: option.anything,
  clock: option.clock,
  random: option.random,
}

const folderRules: OptionRules<FolderStoreOptions> = {
  ...storeRules,
  folder: option.text,
  access: option.text,
  durability: option.text,
}

/** Without files. */
type MemoryStoreOptions = Omit<FolderStoreOptions, 'access' | 'durability'>

const memoryRules: OptionRules<MemoryStoreOptions> = {
  ...storeRules,
  folder: option.text,
}

const postgresRules: OptionRules<PostgresStoreOptions> = {
  ...storeRules,
  url: option.text,
  pool,
  replicaUrl: option.text,
  replicaPool: pool,
  listenUrl: option.text,
  schema: option.text,
  schemaManagement: option.text,
  maxConnections: option.number,
  statementTimeoutMs: option.number,
  connectTimeoutMs: option.number,
  outageTimeoutMs: option.number,
  preparedStatements: option.flag,
  maxPendingCommits: option.number,
  maxGroupOperations: option.number,
  pollIntervalMs: option.number,
  maxReplicaLagMs: option.number,
  storeTime: option.text,
}

const allRules: OptionRules<FolderStoreOptions & PostgresStoreOptions & EngineStoreOptions> = {
  ...folderRules,
  ...postgresRules,
  engine: option.anything,
}

/**
 * Opens a store: in a folder, durable and without a server; at `postgres://user@host/database`, for several machines;
 * `:memory:`, for tests and experiments; or on any engine. Acquire it with `await using`, or call `close()`.
 *
 * Rejects with ERR_INVALID_OPTION (an unknown option too, or one of another kind of store), ERR_STORE_IN_USE (not a
 * store), ERR_STORE_FORMAT (made by a newer version), ERR_STORE_DAMAGED, ERR_STORE_UNAVAILABLE, ERR_SERVER_UNSUPPORTED
 * (PostgreSQL before 15, or a database that is not UTF-8) or ERR_MISSING_PACKAGE (PostgreSQL without `pg`).
 */
export async function openStore(
  where: string | FolderStoreOptions | PostgresStoreOptions | EngineStoreOptions,
): Promise<Store> {
  const options = typeof where === 'string' ? named(where) : where
  checkStoreOptions(options)
  if ('engine' in options) return Store.open(options)
  const engine = await openEngine(options)
  try {
    const { maxDocumentBytes, maintenance, clock, random } = options
    return await Store.open({ engine, maxDocumentBytes, maintenance, clock, random })
  } catch (error) {
    await engine.close()
    throw error
  }
}

/** @throws ERR_INVALID_OPTION */
function checkStoreOptions(
  options: FolderStoreOptions | PostgresStoreOptions | EngineStoreOptions,
): void {
  // First by all names, so that a misspelt place is found.
  checkOptions(options, allRules)
  if ('engine' in options) return
  if ('folder' in options) {
    if (options.folder === MEMORY) checkOptions<MemoryStoreOptions>(options, memoryRules)
    else checkOptions(options, folderRules)
  } else if ('url' in options || 'pool' in options) checkOptions(options, postgresRules)
  else throw new InvalidOptionError(NO_PLACE)
}

function named(where: string): FolderStoreOptions | PostgresStoreOptions {
  return postgresLocation(where) ?? { folder: where }
}

async function openEngine(
  options: FolderStoreOptions | PostgresStoreOptions,
): Promise<StorageEngine> {
  if (!('folder' in options)) return openPostgresStoreEngine(options)
  const { folder, maxDocumentBytes: _, maintenance: __, ...engineOptions } = options
  if (!folder) throw new InvalidOptionError(NO_PLACE)
  if (folder === MEMORY) return openMemoryEngine(engineOptions)
  refuseOtherUrl(folder)
  return openSqliteEngine({ folder, ...engineOptions })
}

function openPostgresStoreEngine(options: PostgresStoreOptions): Promise<StorageEngine> {
  const { maxDocumentBytes: _, maintenance: __, ...engineOptions } = options
  if (options.url === undefined) return openPostgresEngine(engineOptions)
  const { url, schema } = postgresLocation(options.url) ?? { url: options.url }
  if (schema !== undefined && options.schema !== undefined && schema !== options.schema) {
    throw new InvalidOptionError(
      `the URL names the schema ${JSON.stringify(schema)}, the option schema ${JSON.stringify(options.schema)}`,
    )
  }
  return openPostgresEngine({ ...engineOptions, url, schema: options.schema ?? schema })
}
