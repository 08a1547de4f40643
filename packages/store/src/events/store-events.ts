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

/** What a store tells about itself: one entry an event, with what its listeners get. */
export interface StoreEvents {
  /** This store does the database's background work from now on; no other one does. */
  maintenanceStarted: DatabaseEventBase & { readonly holder: string }
  /**
   * `released`: given back at the end. `lost`: another one has it, because this one was late.
   * `lapsed`: there was nothing to do for as long as the right to do it lasts.
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
  /** After a change of `defaultTtl`, documents were filed anew by their expiry. */
  expiryReindexed: CollectionEventBase & { readonly documents: number; readonly isDone: boolean }
  rangeSplit: CollectionEventBase & {
    readonly rangeId: PkRangeId
    readonly children: readonly [EventRange, EventRange]
    /** `size`: it had grown above the collection's `splitAboveBytes`. */
    readonly cause: 'request' | 'size'
  }
  rangesMerged: CollectionEventBase & {
    readonly rangeIds: readonly [PkRangeId, PkRangeId]
    readonly range: EventRange
  }
  /**
   * The log of writes of a folder's database stays above `maxLogBytes`, because somebody reads it for long: a check, another
   * program, a process that was stopped amid a read. Told by processes that write, again every 10 s.
   */
  logHeld: DatabaseEventBase & { readonly bytes: number }
  /** After `logHeld`: it is short again. */
  logFreed: DatabaseEventBase & { readonly bytes: number }
  /** Background work failed. It is tried again after `retryInMs`, for ever. */
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

export type StoreEventName = keyof StoreEvents
export type StoreEventListener<Name extends StoreEventName> = (event: StoreEvents[Name]) => void

/**
 * Where listeners are added. They run in between the store's own work, so they should be short. What
 * one throws becomes `listenerFailed` and disturbs nothing else.
 */
export interface StoreEventSource {
  on<Name extends StoreEventName>(name: Name, listener: StoreEventListener<Name>): this
  once<Name extends StoreEventName>(name: Name, listener: StoreEventListener<Name>): this
  off<Name extends StoreEventName>(name: Name, listener: StoreEventListener<Name>): this
}
