import { InvalidOptionError, type Clock, type Random } from '@tidemark/contracts'
import { openSqliteEngine } from '@tidemark/engine-sqlite'
import { Store, type MaintenanceMode, type StorageEngine } from '@tidemark/store'

/** A store in a folder of this machine. */
export interface FolderStoreOptions {
  /** Made if it is missing. Any number of processes may open it at once. */
  readonly folder: string
  /**
   * `sync`: an acknowledged write survives the death of the machine. `relaxed`: it survives the death of
   * the process only; consistent either way. @default 'sync'
   */
  readonly durability?: 'sync' | 'relaxed' | undefined
  /** Largest document in bytes. @default 2 MiB (as in Cosmos DB) */
  readonly maxDocumentBytes?: number | undefined
  /**
   * Sweep, purge and other background work; of several processes one at a time does it. `manual`: only
   * `store.runMaintenance()` does it. @default in the background
   */
  readonly maintenance?: MaintenanceMode | undefined
  /** @default the machine's */
  readonly clock?: Clock | undefined
  /** @default the machine's */
  readonly random?: Random | undefined
}

/** A store on an engine that the caller has opened; the store closes it. */
export interface EngineStoreOptions {
  readonly engine: StorageEngine
  readonly maxDocumentBytes?: number | undefined
  /** As of `FolderStoreOptions`. */
  readonly maintenance?: MaintenanceMode | undefined
  /** Paces maintenance; what expires when is the engine's clock. @default the machine's */
  readonly clock?: Clock | undefined
  /** @default the machine's */
  readonly random?: Random | undefined
}

/**
 * Opens a store: a folder, durable and without a server, or any engine. Acquire it with `await using`,
 * or call `close()`.
 *
 * Rejects with ERR_INVALID_OPTION, ERR_STORE_IN_USE (not a store, or held by a program that does not
 * share), ERR_STORE_FORMAT (made by a newer version), ERR_STORE_DAMAGED or ERR_STORE_UNAVAILABLE.
 */
export async function openStore(
  where: string | FolderStoreOptions | EngineStoreOptions,
): Promise<Store> {
  const options = typeof where === 'string' ? { folder: where } : where
  if ('engine' in options) return Store.open(options)
  const { folder, maxDocumentBytes, maintenance, ...engineOptions } = options
  if (typeof folder !== 'string' || folder === '') {
    throw new InvalidOptionError('openStore needs the path of a folder, or { engine }')
  }
  const engine = await openSqliteEngine({ folder, ...engineOptions })
  try {
    const { clock, random } = options
    return await Store.open({ engine, maxDocumentBytes, maintenance, clock, random })
  } catch (error) {
    await engine.close()
    throw error
  }
}
