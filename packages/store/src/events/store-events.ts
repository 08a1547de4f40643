import type { FeedRange, PkRangeId } from '@tidemark/contracts'
import type { MaintenanceTask } from '../engine/maintenance.ts'

interface DatabaseEventBase {
  readonly databaseId: string
}

interface CollectionEventBase extends DatabaseEventBase {
  readonly collectionId: string
}

/** A pkrange in events: its id and keys. */
export interface EventRange extends FeedRange {
  readonly id: PkRangeId
}

/** The events of a store: one entry for each event, with the value that its listeners get. */
export interface StoreEvents {
  /** From now on this store does the database's background work, and no other store does. */
  maintenanceStarted: DatabaseEventBase & { readonly holder: string }
  /**
   * `released`: given back at the end. `lost`: another store has it, because this one was late. `lapsed`: there was
   * nothing to do until the lease expired.
   */
  maintenanceEnded: DatabaseEventBase & {
    readonly holder: string
    readonly cause: 'released' | 'lost' | 'lapsed'
  }
  /** Expired documents became pending deletes. */
  swept: CollectionEventBase & { readonly documents: number }
  /** Pending deletes were removed, and the horizon rose. */
  purged: CollectionEventBase & { readonly pendingDeletes: number }
  /** Entries of the log of all versions were removed. */
  versionsTrimmed: CollectionEventBase & { readonly entries: number }
  /** Rows of a pkrange's ancestors became its own. */
  folded: CollectionEventBase & { readonly rangeId: PkRangeId; readonly rows: number }
  /** Documents were refiled by their expiry after a change of `defaultTtl`. */
  expiryReindexed: CollectionEventBase & { readonly documents: number; readonly isDone: boolean }
  /** Two pkranges took the place of one. */
  rangeSplit: CollectionEventBase & {
    readonly rangeId: PkRangeId
    readonly children: readonly [EventRange, EventRange]
    /** `size`: the range grew above the collection's `splitAboveBytes`. */
    readonly cause: 'request' | 'size'
  }
  /** One pkrange took the place of two. */
  rangesMerged: CollectionEventBase & {
    readonly rangeIds: readonly [PkRangeId, PkRangeId]
    readonly range: EventRange
  }
  /**
   * The log of writes of a folder's database stays above `maxLogBytes`, because a reader has held it for a long time: a
   * check, another program, a process that was stopped during a read. Processes that write emit it, and repeat it every
   * 10 s.
   */
  logHeld: DatabaseEventBase & { readonly bytes: number }
  /** After `logHeld`: the log is short again. */
  logFreed: DatabaseEventBase & { readonly bytes: number }
  /** Background work failed. The store tries again after `retryInMs`, without limit. */
  maintenanceFailed: {
    /** Undefined when the databases could not be listed. */
    readonly databaseId: string | undefined
    readonly collectionId: string | undefined
    readonly work: MaintenanceTask['kind'] | 'split' | 'look' | 'release'
    readonly error: unknown
    readonly retryInMs: number
  }
  /** A listener of another event threw. */
  listenerFailed: { readonly event: StoreEventName; readonly error: unknown }
}

/** An event of a store. */
export type StoreEventName = keyof StoreEvents
/** Called with the data of one event. */
export type StoreEventListener<Name extends StoreEventName> = (event: StoreEvents[Name]) => void

/**
 * Add listeners here. They run between the store's own work, so keep them short. An error that a listener throws
 * becomes `listenerFailed` and affects nothing else.
 */
export interface StoreEventSource {
  on<Name extends StoreEventName>(name: Name, listener: StoreEventListener<Name>): this
  once<Name extends StoreEventName>(name: Name, listener: StoreEventListener<Name>): this
  off<Name extends StoreEventName>(name: Name, listener: StoreEventListener<Name>): this
}
