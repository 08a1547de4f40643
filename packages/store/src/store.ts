import {
  InvalidOptionError,
  errorCode,
  systemClock,
  systemRandom,
  type Clock,
  type Random,
} from '@tidemark/contracts'
import {
  assertSupportedNode,
  checkOptions,
  option,
  optionHaving,
  requiredOption,
  type OptionRules,
} from '@tidemark/contracts/internal'
import { checkedAnnotation } from './catalog/collection-settings.ts'
import { KnownCollections } from './catalog/known-collections.ts'
import { checkedResourceId } from './catalog/resource-names.ts'
import { Database, createDatabaseIfNotExists, type StoreContext } from './database.ts'
import type { CollectionRecord, DatabaseRecord } from './engine/catalog.ts'
import type { EngineSupport, StorageEngine } from './engine/storage-engine.ts'
import { StoreEventEmitter } from './events/store-event-emitter.ts'
import type { StoreEventSource } from './events/store-events.ts'
import {
  maintenanceRule,
  resolveMaintenanceOptions,
  type MaintenanceMode,
} from './maintenance/maintenance-options.ts'
import type { MaintenanceReport } from './maintenance/maintenance-report.ts'
import { StoreMaintenance } from './maintenance/store-maintenance.ts'

export interface StoreOptions {
  /** Stores the data. The store owns the engine: to close the store closes the engine. */
  readonly engine: StorageEngine
  /**
   * Maximum size of a document: bytes of its JSON text in UTF-8.
   * @range 1 to 268_435_456 @default 2 MiB (as in Cosmos DB)
   */
  readonly maxDocumentBytes?: number | undefined
  /**
   * Sweep, purge, trim, fold and automatic splits in the background. With several processes, one at a time does it.
   * `manual`: only `runMaintenance()` does it. @default in the background
   */
  readonly maintenance?: MaintenanceMode | undefined
  /** Paces maintenance. Expiry follows the engine's clock, not this one. @default the machine's */
  readonly clock?: Clock | undefined
  /** For maintenance: back-off, and the name of the lease holder. @default the operating system's */
  readonly random?: Random | undefined
}

const RULES: OptionRules<StoreOptions> = {
  engine: requiredOption(optionHaving('a storage engine', 'createDatabase', 'close')),
  maxDocumentBytes: option.number,
  maintenance: maintenanceRule,
  clock: option.clock,
  random: option.random,
}

const DEFAULT_MAX_DOCUMENT_BYTES = 2 * 1024 * 1024
/** A page holds at least one document as text. Beyond this size, strings and pages become too large. */
const HIGHEST_MAX_DOCUMENT_BYTES = 256 * 1024 * 1024

/** A collection and its database. */
export interface ListedCollection {
  readonly databaseId: string
  readonly record: CollectionRecord
}

/** Databases on one storage engine. Safe to use concurrently. Close it, or acquire it with `await using`. */
export class Store {
  readonly #context: StoreContext
  readonly #maintenance: StoreMaintenance
  #closing: Promise<void> | undefined

  private constructor(context: StoreContext, maintenance: StoreMaintenance) {
    this.#context = context
    this.#maintenance = maintenance
  }

  /** Rejects with ERR_INVALID_OPTION, ERR_NODE_UNSUPPORTED, or as the engine does. */
  static async open(options: StoreOptions): Promise<Store> {
    checkOptions(options, RULES)
    assertSupportedNode()
    const { engine, maxDocumentBytes = DEFAULT_MAX_DOCUMENT_BYTES } = options
    const { clock = systemClock, random = systemRandom } = options
    const maintaining = resolveMaintenanceOptions(options.maintenance)
    if (
      !Number.isSafeInteger(maxDocumentBytes) ||
      maxDocumentBytes < 1 ||
      maxDocumentBytes > HIGHEST_MAX_DOCUMENT_BYTES
    ) {
      throw new InvalidOptionError(
        `maxDocumentBytes must be a whole number from 1 to ${HIGHEST_MAX_DOCUMENT_BYTES}, ` +
          `got ${maxDocumentBytes}`,
      )
    }
    const known = new KnownCollections()
    const events = new StoreEventEmitter()
    engine.listen?.(({ kind, ...event }) => events.emit(kind, event))
    for (const { databaseId, record } of await readableCollections(engine)) {
      known.add(databaseId, record)
    }
    const maintenance = new StoreMaintenance({
      engine,
      clock,
      random,
      events,
      options: maintaining,
    })
    maintenance.start()
    return new Store({ engine, known, events, maxDocumentBytes }, maintenance)
  }

  /** A random id. It is created with the store and never changes. */
  get id(): string {
    return this.#context.engine.storeId
  }

  /** For display: where the data is. */
  get description(): string {
    return this.#context.engine.description
  }

  get supports(): EngineSupport {
    return this.#context.engine.supports
  }

  /**
   * A handle on a database that does not need to exist yet.
   *
   * @throws ERR_INVALID_OPTION for an id that no database can have
   */
  database(id: string): Database {
    return new Database(id, this.#context)
  }

  /** Rejects with ERR_EXISTS. `annotation`: see `CollectionSettings`. */
  async createDatabase(
    id: string,
    { annotation }: { readonly annotation?: string | undefined } = {},
  ): Promise<Database> {
    const database = this.database(id)
    const checked = annotation === undefined ? undefined : checkedAnnotation(annotation)
    await this.#context.engine.createDatabase(id, { annotation: checked })
    return database
  }

  async createDatabaseIfNotExists(id: string): Promise<Database> {
    const database = this.database(id)
    await createDatabaseIfNotExists(this.#context.engine, id)
    return database
  }

  listDatabases(): Promise<readonly DatabaseRecord[]> {
    return this.#context.engine.listDatabases()
  }

  /**
   * The collections of all databases that can be read. Leaves out a database that is damaged or of a newer version; its
   * own calls reject with ERR_STORE_DAMAGED or ERR_STORE_FORMAT.
   */
  listCollections(): Promise<readonly ListedCollection[]> {
    return readableCollections(this.#context.engine)
  }

  /** Deletes the database with everything in it. Rejects with ERR_NOT_FOUND. */
  async deleteDatabase(id: string): Promise<void> {
    this.#context.known.removeDatabase(checkedResourceId('database', id))
    await this.#context.engine.deleteDatabase(id)
  }

  /** Events of the background work and of changes to pkranges that this store makes. */
  get events(): StoreEventSource {
    return this.#context.events
  }

  /**
   * Does all background work that is due now: sweep, purge, trim, fold, and splits by size. Leaves out work that
   * another process is doing, and names it in the report. Rejects as the engine does, and with ERR_STORE_CLOSED when
   * the store is closed meanwhile.
   */
  runMaintenance(): Promise<MaintenanceReport> {
    return this.#maintenance.runAll()
  }

  /** Finds contradictions in any database. Normally there are none. Reads everything. */
  async check(): Promise<readonly string[]> {
    const problems: string[] = []
    for (const { id } of await this.listDatabases()) {
      try {
        for (const problem of await this.database(id).check()) problems.push(`${id}: ${problem}`)
      } catch (error) {
        if (!isUnreadable(error)) throw error
        problems.push(`${id}: ${error instanceof Error ? error.message : String(error)}`)
      }
    }
    return problems
  }

  /** Finishes accepted calls and releases all resources. Later calls reject with ERR_STORE_CLOSED. Idempotent. */
  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  async #close(): Promise<void> {
    await this.#maintenance.stop()
    await this.#context.engine.close()
  }
}

async function readableCollections(engine: StorageEngine): Promise<readonly ListedCollection[]> {
  const listed: ListedCollection[] = []
  for (const { id: databaseId } of await engine.listDatabases()) {
    try {
      const database = await engine.openDatabase(databaseId)
      const records = await database.listCollections()
      listed.push(...records.map((record) => ({ databaseId, record })))
    } catch (error) {
      // Another process may have deleted it since it was listed.
      if (errorCode(error) !== 'ERR_NOT_FOUND' && !isUnreadable(error)) throw error
    }
  }
  return listed
}

/** Whether an error concerns a single database, and another attempt cannot help. */
function isUnreadable(error: unknown): boolean {
  const code = errorCode(error)
  return code === 'ERR_STORE_DAMAGED' || code === 'ERR_STORE_FORMAT'
}
