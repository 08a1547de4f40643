import type {
  CollectionDefinition,
  CollectionRecord,
  CommitOutcome,
  CommitRequest,
  DefinitionChanges,
  MaintenanceOutcome,
  MaintenanceTask,
  RangeRecord,
} from '@tidemark/store/engine'
import type { FeedRange } from '@tidemark/contracts'
import type { CallerTime, MessageCommand } from '@tidemark/store/messages'
import type { PortableError } from '../connection/sqlite-error.ts'
import type { MessageNews, PerformedCommand } from '../messages/sqlite-messages.ts'

/** A request to the writer. */
export type WriterTask =
  | ({ readonly kind: 'commit' } & CommitRequest)
  | {
      readonly kind: 'createCollection'
      readonly collectionId: string
      readonly databaseRid: string
      readonly definition: CollectionDefinition
      readonly ranges: readonly FeedRange[]
    }
  | { readonly kind: 'deleteCollection'; readonly collectionId: string }
  | {
      readonly kind: 'updateCollection'
      readonly collection: number
      readonly changes: DefinitionChanges
      readonly ifMatch: string | undefined
    }
  | {
      readonly kind: 'splitRange'
      readonly collection: number
      readonly range: number
      readonly at: string
    }
  | {
      readonly kind: 'mergeRanges'
      readonly collection: number
      readonly ranges: readonly [number, number]
    }
  | {
      readonly kind: 'reportPositions'
      readonly collection: number
      readonly positions: readonly {
        readonly group: string
        readonly range: FeedRange
        readonly lsn: number
      }[]
    }
  /** Done when no other request waits. */
  | {
      readonly kind: 'maintain'
      readonly holder: string
      readonly leaseMs: number
      readonly maxItems: number
      readonly work: WireWork | undefined
    }
  | { readonly kind: 'releaseMaintenance'; readonly holder: string }
  | { readonly kind: 'messages'; readonly command: MessageCommand; readonly caller: CallerTime }
  /** Answered when all requests before it are on disk. */
  | { readonly kind: 'flush' }
  /** Marks the whole database as deleted, for the other processes that have it open. */
  | { readonly kind: 'drop' }

/** A piece of background work in the form that crosses to the writer's thread. */
export interface WireWork {
  readonly kind: MaintenanceTask['kind']
  readonly collection: number
  /** Only of `fold`. */
  readonly range: number | undefined
}

export interface WriterRequest {
  readonly id: number
  /** The caller's wall clock, epoch ms. It is part of the request, so that tests can inject it. */
  readonly nowMs: number
  /** Of the texts that it writes. */
  readonly chars: number
  readonly task: WriterTask
}

/** What `packRequests` makes of commits. */
export type PackedRequests = readonly (string | number | boolean | undefined)[]

/** A message's requests: what is packed, and what is not, in one order. */
export interface CrossingRequests {
  readonly packed: PackedRequests
  readonly others: readonly WriterRequest[]
}

/** A pkrange that a commit advanced. */
export interface TouchedRange {
  readonly collection: number
  readonly range: number
  readonly lsn: number
}

export type WriterResult =
  | {
      readonly kind: 'committed'
      readonly outcome: CommitOutcome
      readonly touched: readonly TouchedRange[]
      /** Of a commit that sent messages. */
      readonly messages?: MessageNews | undefined
    }
  | { readonly kind: 'created'; readonly record: CollectionRecord }
  | { readonly kind: 'updated'; readonly record: CollectionRecord }
  | { readonly kind: 'ranges'; readonly ranges: readonly RangeRecord[] }
  | {
      readonly kind: 'rangeGone'
      readonly range: number
      readonly successors: readonly FeedRange[]
    }
  /** Of `ifMatch`. */
  | { readonly kind: 'otherEtag'; readonly etag: string }
  /** Refused with ERR_INVALID_OPTION. */
  | { readonly kind: 'invalid'; readonly message: string }
  | {
      readonly kind: 'maintained'
      readonly outcome: MaintenanceOutcome
      readonly touched: readonly TouchedRange[]
    }
  | ({ readonly kind: 'performed' } & PerformedCommand)
  | { readonly kind: 'exists' }
  | { readonly kind: 'missing' }
  | { readonly kind: 'done' }
  | { readonly kind: 'databaseGone' }
  | { readonly kind: 'failed'; readonly error: PortableError }

export interface WriterReply {
  readonly id: number
  readonly result: WriterResult
}

/** The log of writes stays above its limit, or is below half of it again. */
export interface LogNotice {
  readonly kind: 'logHeld' | 'logFreed'
  readonly bytes: number
}

/** Caller to writer. */
export type ToWriter =
  /** Starts a writer of one file. `bell` rings for each message that follows. */
  | { readonly kind: 'open'; readonly settings: WriterSettings; readonly bell: Int32Array }
  | ({ readonly kind: 'requests' } & CrossingRequests)
  | { readonly kind: 'close' }

/** Writer to caller. */
export type FromWriter =
  | { readonly kind: 'ready' }
  | {
      readonly kind: 'replies'
      /** Successful commits, in the form of `packReply`. */
      readonly committed: readonly number[]
      readonly others: readonly WriterReply[]
      /** Whether everything that was answered so far is on disk. */
      readonly onDisk: boolean
    }
  | { readonly kind: 'notice'; readonly notice: LogNotice }
  /** By the thread itself: all that it has answered is on disk. */
  | { readonly kind: 'synced' }
  /** The thread has let go of the file, and waits for the next `open`. */
  | { readonly kind: 'closed' }
  | { readonly kind: 'broken'; readonly error: PortableError }

export interface WriterSettings {
  readonly file: string
  /** `relaxed`: no request waits for the disk. */
  readonly durability: 'sync' | 'relaxed'
  /** Of this process, for the mark that some of its commits may be lost with this boot of the machine. */
  readonly processId: string
  readonly bootId: string
  readonly segmentSlots: number
  /** How long a group waits for other processes' writers. */
  readonly lockTimeoutMs: number
  readonly maxGroupOperations: number
  readonly maxLogBytes: number
}

/** The start data of a thread that only checks a file. */
export interface CheckThreadData {
  readonly fileToCheck: string
}

export type FromChecker =
  | { readonly kind: 'checked'; readonly problems: readonly string[] }
  | { readonly kind: 'gone' }
  | { readonly kind: 'failed'; readonly error: PortableError }
