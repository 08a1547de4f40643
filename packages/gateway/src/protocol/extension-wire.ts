import type { FeedMode, FeedRange, HeldPosition, StartPosition } from '@tidemark/contracts'
import type { DocumentVersion, RowKind, VersionRow } from '@tidemark/contracts/internal'

/*
 * What the gateway and our own client say to one another beyond the service's protocol (see the README). A client
 * that knows nothing of it meets none of it.
 */

/** Calls go to `…/colls/{coll}/operations/tidemark`: GET for those that read, POST for those that write. */
export const EXTENSION_OPERATION = 'tidemark'

/** Our own headers, beside `x-tidemark-wait-ms` of waiting reads. */
export const OWN_HEADER = {
  /** Request: what is called, as JSON in ASCII. */
  call: 'x-tidemark-call',
  /** Answer with a container's definition: `DocumentCollection.identity` in process. */
  identity: 'x-tidemark-identity',
  /** Answer with an error: its code. */
  errorCode: 'x-tidemark-error',
  /**
   * With ERR_HORIZON_PASSED: `<lsn of the reader>,<horizon>`. With ERR_NOT_FOUND: the kind of resource. With ERR_UNIQUE_KEY: the
   * paths of the key, percent-encoded, joined by commas.
   */
  errorDetail: 'x-tidemark-error-detail',
  /** Answer of a batch that reads: the LSN of each result's document, joined by commas; empty where there is none. */
  lsns: 'x-tidemark-lsns',
  /** Request, of a transactional batch: `false` = answered before it is on disk, as `CommitOptions.sync`. */
  sync: 'x-tidemark-sync',
  /** Answer of an operation on documents: the store's clock, epoch ms. */
  serverTimeMs: 'x-tidemark-time-ms',
} as const

/** The calls that read. Members are as in the contracts. */
export type ExtensionCall =
  | ({ readonly call: 'resolveStart'; readonly start: StartPosition } & InRange)
  | ({
      readonly call: 'positionAt'
      readonly lsn: number
      readonly page?: string | undefined
    } & InRange)
  | ({
      readonly call: 'measureLag'
      readonly continuation: string
      readonly limit?: number | undefined
      readonly pendingDeletes: boolean
    } & InRange)
  | ({
      readonly call: 'readPage'
      readonly continuation: string
      readonly maxItemCount?: number | undefined
      readonly pendingDeletes: boolean
    } & InRange)
  | ({
      readonly call: 'waitForChanges'
      readonly continuation: string
      readonly timeoutMs: number
    } & InRange)
  /** Waits as `waitForChanges`, and answers `false` or what `readPage` would then. */
  | ({
      readonly call: 'awaitPage'
      readonly continuation: string
      readonly maxItemCount?: number | undefined
      readonly pendingDeletes: boolean
      readonly timeoutMs: number
    } & InRange)
  | {
      readonly call: 'joinPositions'
      readonly mode: FeedMode
      readonly positions: readonly HeldPosition[]
    }
  | { readonly call: 'readPositions'; readonly group: string }
  /** `partitionKey` is canonical text. */
  | { readonly call: 'readPartition'; readonly partitionKey: string }
  | {
      readonly call: 'waitForCommit'
      readonly partitionKey: string
      readonly afterLsn: number
      readonly timeoutMs: number
    }

interface InRange {
  readonly range: FeedRange
  readonly mode: FeedMode
}

/*
 * A page is one JSON object. All that is known of its changes comes first, and then the texts of the documents as they
 * are stored, so that the client cuts them out by their lengths and parses those that somebody looks at:
 *
 * {"continuation","lsn","caughtUp","kind","collection":{"number","rid","selfLink"},"rows":[…],\n"texts":[…]}
 */

/** Between the rows and the first text; the only line break before it. */
export const TEXTS_START = ',\n"texts":['
export const TEXTS_END = ']}'

/** A `FeedRow` whose text is elsewhere: in its place stands how many UTF-16 units that has. */
export type FeedRowOnWire = readonly [
  lsn: number,
  kind: RowKind,
  units: number,
  expirySecond: number,
  ts: number,
  partitionKey: string,
  id: string,
  rid: string,
  ttl: number | null,
  versionLsn: number | null,
  versionTs: number | null,
]

/** As `FeedRowOnWire`; the text of `current` is before that of `previous`. */
export type VersionRowOnWire = Omit<VersionRow, 'current' | 'previous'> & {
  readonly current?: VersionOnWire | undefined
  readonly previous?: VersionOnWire | undefined
}

export type VersionOnWire = Omit<DocumentVersion, 'body'> & { readonly body: number }

/** The text of a call, for a header: characters beyond ASCII are escaped as JSON has it. */
export function asciiJson(value: unknown): string {
  return JSON.stringify(value).replace(
    /[\u007f-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}
