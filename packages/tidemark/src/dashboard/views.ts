/*
 * What the page asks its server for, and what it gets. Types only: the browser side is built on them too.
 *
 * All paths are relative to the page's own address, so the page works below any base path. Everything is JSON.
 * `GET api/views/NAME?…` answers a snapshot of a view. `GET api/streams/NAME?…`, with the same query, keeps sending it as
 * server-sent events. `GET api/READ?…` answers once. `POST api/actions/NAME` changes something, or tells what it would
 * change. What is not known is `null`, never absent. Times are epoch ms, durations ms.
 *
 * Statuses: 400 bad input, 401 no or wrong credentials, 403 refused (ERR_READ_ONLY, ERR_CROSS_SITE, ERR_WRONG_HOST),
 * 404 unknown, 409 somebody else was first, 429 too many streams, 503 a store cannot be reached. The body is a `Problem`.
 */

/** Body of every answer that is not 200. `code` is stable: ERR_… */
export interface Problem {
  readonly code: string
  readonly message: string
}

/** Header that every POST must have, with any value; its content type must be application/json. */
export type ActionHeader = 'x-tidemark-action'

/** Of `api/info`: what stays the same while the server runs. */
export interface PageInfo {
  readonly version: string
  /** Badge that tells one installation from another. */
  readonly environment: string | null
  /** Every action is refused with ERR_READ_ONLY, except dry runs. */
  readonly readOnly: boolean
  /** For people: where the data is. */
  readonly store: string
  /** Whether a hook masks the texts of documents and messages. */
  readonly masked: boolean
}

/** A view: `head` has single values, each of `tables` has rows with an `id` that is unique in its table. */
export interface View<Head extends object, Tables extends TablesOf<Tables>> {
  readonly atMs: number
  readonly head: Head
  readonly tables: Tables
}

export type TablesOf<Tables> = { readonly [Name in keyof Tables]: readonly Row[] }

export interface Row {
  readonly id: string
}

/** What has changed since the last event: values of the head, whole rows (new or replaced), and the ids of rows that are gone. */
export interface ViewUpdate<Head extends object, Tables extends TablesOf<Tables>> {
  readonly atMs: number
  readonly head?: Partial<Head>
  readonly rows?: { readonly [Name in keyof Tables]?: Tables[Name] }
  readonly removed?: { readonly [Name in keyof Tables]?: readonly string[] }
}

/**
 * Events of `api/streams/NAME`; `data` is one line of JSON. `view` is first, also after every reconnect; `update` comes at
 * most once a second, and not at all while nothing changes; `problem` says that a look failed: the stream goes on. A
 * comment line is sent every 15 s.
 */
export interface StreamEvents<Head extends object, Tables extends TablesOf<Tables>> {
  readonly view: View<Head, Tables>
  readonly update: ViewUpdate<Head, Tables>
  readonly problem: Problem
}

/** Views by name, with the query that each takes. Every value of a query is text; optional ones may be left out. */
export interface Views {
  readonly overview: { readonly query: object; readonly view: OverviewView }
  readonly group: { readonly query: GroupQuery; readonly view: GroupView }
  readonly collection: { readonly query: CollectionQuery; readonly view: CollectionView }
  readonly letters: { readonly query: LettersQuery; readonly view: LettersView }
  readonly queue: { readonly query: QueueQuery; readonly view: QueueView }
}
export type ViewName = keyof Views

/** What is answered once, at `api/NAME`. */
export interface Reads {
  readonly info: { readonly query: object; readonly answer: PageInfo }
  readonly documents: { readonly query: DocumentsQuery; readonly answer: DocumentsAnswer }
  readonly letter: { readonly query: LetterQuery; readonly answer: LetterAnswer }
  readonly messages: { readonly query: MessagesQuery; readonly answer: MessagesAnswer }
  readonly sessions: { readonly query: SessionsQuery; readonly answer: SessionsAnswer }
}
export type ReadName = keyof Reads

// ---------------------------------------------------------------------------------------------------- Overview

export type OverviewView = View<OverviewHead, OverviewTables>

export interface OverviewHead extends PageInfo {
  readonly databases: number
  readonly collections: number
  readonly groups: number
  readonly hosts: number
  /** What could not be looked at, such as a lease store that is away. The rest of the view is right. */
  readonly problems: readonly Problem[]
  /** Lists end after 1,000 rows, groups after 200; this says that one of them did. */
  readonly truncated: boolean
}

export type OverviewTables = {
  /** By name. */
  readonly databases: readonly DatabaseRow[]
  /** By database and name. */
  readonly collections: readonly CollectionRow[]
  /** Worst first: `severity`, then `ageMs`, then `changes`, each descending. */
  readonly groups: readonly GroupRow[]
  /** By group and name. */
  readonly hosts: readonly OverviewHostRow[]
  /** By database and path. */
  readonly queues: readonly QueueRow[]
}

export interface DatabaseRow extends Row {
  /** Why it cannot be read, if it cannot. */
  readonly problem: Problem | null
}

/** `id` is `database/collection`. */
export interface CollectionRow extends Row {
  readonly database: string
  readonly collection: string
  readonly partitionKey: readonly string[]
  /** Seconds; -1: only documents with a ttl of their own expire; null: nothing expires. */
  readonly defaultTtl: number | null
  /** What the collection holds for Tidemark itself, if it does. */
  readonly purpose: 'leases' | 'deadLetters' | null
}

/** Where a group is: `leases` and `group` together are what queries and actions need. */
export interface GroupRef {
  /** Place of the leases: `database/collection`, or what the server was started with, such as `redis`. */
  readonly leases: string
  readonly group: string
}

/** 0 fine, 1 worth a look (a host silent, a range without owner, tries, paused), 2 stopped (halted, missing, a lag problem). */
export type Severity = 0 | 1 | 2

/** `id` is `leases/group`. */
export interface GroupRow extends Row, GroupRef {
  /** `database/collection` that it follows; null: not in this store. */
  readonly collection: string | null
  readonly paused: boolean
  readonly severity: Severity
  /** For people: what is not fine, in a few words. */
  readonly notes: readonly string[]
  readonly ranges: number
  readonly hosts: number
  /** Changes left; null until the first sample. */
  readonly changes: number | null
  /** False: at least that many. */
  readonly isExact: boolean
  /** Age of the oldest of them; 0: none is left. */
  readonly ageMs: number | null
  /** Sum of its hosts' summaries. */
  readonly changesPerSecond: number | null
}

/** `id` is `leases/group/host`. */
export interface OverviewHostRow extends Row, GroupRef {
  readonly host: string
  readonly state: HostState
  readonly ranges: number
  readonly heartbeatMs: number | null
  readonly summary: HostSummary | null
}

// ---------------------------------------------------------------------------------------------------- Group

export type GroupQuery = GroupRef
export type GroupView = View<GroupHead, GroupTables>

export interface GroupHead extends GroupRef {
  readonly collection: string | null
  readonly paused: boolean
  readonly severity: Severity
  readonly notes: readonly string[]
  readonly changes: number | null
  readonly isExact: boolean
  readonly ageMs: number | null
  readonly changesPerSecond: number | null
  /** Whether leases and checkpoints survive; null where the store has nothing to tell. A (all) to D (nothing). */
  readonly durability: 'A' | 'B' | 'C' | 'D' | null
  /** False: the lease store keeps no history of transitions. */
  readonly hasTimeline: boolean
  /** Time between two samples of the lag. */
  readonly sampleMs: number
}

export type GroupTables = {
  /** In the order of their keys. */
  readonly leases: readonly LeaseRow[]
  /** By name. Also hosts that own a lease and have no session any more (`gone`). */
  readonly hosts: readonly HostRow[]
  /** Oldest first; bounded by the lease store. */
  readonly timeline: readonly TransitionRow[]
  /** Oldest first; at most 300. */
  readonly samples: readonly LagSample[]
}

/**
 * - `owned`: a live host works on it; `moving`: it does, and is to hand it over to `target`.
 * - `expired`: its owner's session still stands, but its heartbeat is overdue.
 * - `orphaned`: it had an owner whose session is over, and nobody has taken it.
 * - `free`: nobody has it, on purpose: not taken yet, or released.
 * - `paused`: the same, and the group is paused.
 * - `missing`: the lease was deleted: nobody works on these keys.
 */
export type LeaseState = 'owned' | 'moving' | 'expired' | 'orphaned' | 'free' | 'paused' | 'missing'

/** `id` is the lease token `min-max`; `from` and `to` are its ends (EPK; `from` may be empty). */
export interface LeaseRow extends Row {
  readonly from: string
  readonly to: string
  readonly state: LeaseState
  /** Its host gave up on a batch until somebody acts. */
  readonly halted: boolean
  readonly owner: string | null
  readonly target: string | null
  readonly epoch: number
  readonly lsn: number
  readonly newestLsn: number | null
  readonly changes: number | null
  readonly isExact: boolean
  readonly ageMs: number | null
  /** Tries of its next batch that failed. */
  readonly tries: number
  /** ERR_… or name of what hinders: horizonPassed, invalidPosition, rangeGone. */
  readonly problem: string | null
  /** Last change, of a lease without a live owner; else its host's `heartbeatMs` counts. */
  readonly changedMs: number | null
}

/** `silent`: heartbeat overdue; `leaving`: drains to stop; `gone`: its session is over, and a lease still names it. */
export type HostState = 'live' | 'silent' | 'standby' | 'leaving' | 'gone'

/** `id` is the host's name. */
export interface HostRow extends Row {
  readonly state: HostState
  readonly ranges: number
  readonly weight: number
  readonly minRanges: number
  readonly maxRanges: number | null
  /** Leases that it does not want: its observer hangs there. */
  readonly refuses: readonly string[]
  /** Last heartbeat that the lease store has seen, by the leases that it owns. */
  readonly heartbeatMs: number | null
  readonly summary: HostSummary | null
}

/** From the host's heartbeat. */
export interface HostSummary {
  readonly changesPerSecond: number | null
  readonly batchP50Ms: number | null
  readonly batchP99Ms: number | null
  /** Failed batches since the start. */
  readonly errors: number | null
  readonly lastError: string | null
  readonly lastErrorMs: number | null
  /** Lease tokens. */
  readonly halted: readonly string[]
}

export type TransitionKind =
  | 'acquired'
  | 'released'
  | 'handedOver'
  | 'takenOver'
  | 'split'
  | 'joined'
  | 'fenced'
  | 'moved'
  | 'paused'
  | 'resumed'
  | 'other'

/** One entry of the rebalancing timeline. `id` is its number. */
export interface TransitionRow extends Row {
  readonly atMs: number
  readonly kind: TransitionKind
  /** Lease token; null: of the whole group. */
  readonly lease: string | null
  readonly from: string | null
  readonly to: string | null
  readonly epoch: number | null
}

/** `id` is the number of the sample. */
export interface LagSample extends Row {
  readonly atMs: number
  readonly changes: number
  readonly ageMs: number | null
  /** The worst 12 leases that have something left: lease token and changes. Others have less, or nothing. */
  readonly leases: readonly (readonly [lease: string, changes: number])[]
}

// ---------------------------------------------------------------------------------------------------- Collection

export interface CollectionQuery {
  readonly database: string
  readonly collection: string
}
export type CollectionView = View<CollectionHead, CollectionTables>

export interface CollectionHead extends CollectionQuery {
  readonly partitionKey: readonly string[]
  readonly defaultTtl: number | null
  /** Live documents and their bytes, of all ranges. */
  readonly documents: number
  readonly bytes: number
  /** Documents with an expiry time. */
  readonly withExpiry: number
  /** Expired, invisible, and not a pending delete yet. */
  readonly unswept: number
  readonly pendingDeletes: number
  readonly retentionSeconds: number
  readonly nextExpiryMs: number | null
  /** How many expire within so many seconds from now: 60, 3,600, 86,400, 604,800. The first is the rate in a minute. */
  readonly expiring: readonly { readonly withinSeconds: number; readonly documents: number }[]
  /** The collection keeps the log of all versions. */
  readonly allVersions: boolean
}

export type CollectionTables = {
  /** Ranges in the order of their keys; before them those that are gone, oldest first. */
  readonly ranges: readonly RangeRow[]
  readonly horizons: readonly HorizonRow[]
  readonly waiting: readonly WaitingRow[]
  /** Groups that follow the collection; as in the overview. */
  readonly groups: readonly GroupRow[]
}

/** `id` is that of the pkrange. Gone: it was split or merged, and only its place in the tree is known. */
export interface RangeRow extends Row {
  readonly state: 'live' | 'gone'
  /** Ids of the ranges that it was made of: one for a split, two for a merge, none for a first one. */
  readonly parents: readonly string[]
  readonly from: string | null
  readonly to: string | null
  readonly documents: number | null
  readonly bytes: number | null
  readonly newestLsn: number | null
}

/** Up to `lsn`, something was purged. `id` is `min-max`. */
export interface HorizonRow extends Row {
  readonly lsn: number
}

/** A group that pending deletes wait for. `id` is its name. */
export interface WaitingRow extends Row {
  /** Where it stands, by range `min-max`. Ranges without a position are missing. */
  readonly positions: readonly { readonly range: string; readonly lsn: number }[]
}

/**
 * One of: `id` and `key` (one document), `key` (a partition), `range` or nothing (documents in the order of their keys), or `from`
 * with or without `range` (the feed, in the order of LSNs per range). `key` is JSON: a text, a number, or a list of them.
 * `range` is the id of a pkrange, or `min-max`. `from`: `beginning`, `now`, an ISO time, or `lsn:NUMBER`, which needs `range`.
 * `continuation` is that of the page before, with the same other values. A page has at most 100.
 */
export interface DocumentsQuery extends CollectionQuery {
  readonly id?: string
  readonly key?: string
  readonly range?: string
  readonly from?: string
  readonly continuation?: string
}

export interface DocumentsAnswer {
  readonly documents: readonly DocumentRow[]
  /** Null: there are no more. With `from`, also where later changes will be. */
  readonly continuation: string | null
  readonly caughtUp: boolean
}

/** `id` is unique in an answer; the document's own is `documentId`. */
export interface DocumentRow extends Row {
  readonly kind: 'document' | 'pendingDelete' | 'create' | 'replace' | 'delete'
  readonly documentId: string
  /** JSON of its partition key value. */
  readonly key: string
  readonly lsn: number | null
  /** `_ts` in ms. */
  readonly changedMs: number | null
  /** JSON text, indented, and masked by the server's hook; at most 64 KiB of it. Null: the change has none. */
  readonly text: string | null
  readonly isCut: boolean
}

/**
 * `api/streams/tail` with this query: changes as they come. Events: `changes` (a `TailEvent`) and `problem`. At most 100
 * changes in an event, and 200 in a second.
 */
export interface TailQuery extends CollectionQuery {
  readonly range?: string
  /** As in `DocumentsQuery`. @default now */
  readonly from?: string
}

export interface TailEvent {
  readonly changes: readonly DocumentRow[]
  /** Changes that came too fast to be sent. */
  readonly skipped: number
}

// ---------------------------------------------------------------------------------------------------- Dead letters

/** `collection` is the one that the groups follow; `letters` the one with its letters. @default `<collection>-deadletters` */
export interface LettersQuery extends CollectionQuery {
  readonly letters?: string
  /** @default all groups; the first page then has the oldest of each */
  readonly group?: string
  /** `next` of the page before; needs `group`. */
  readonly after?: string
}
export type LettersView = View<LettersHead, LettersTables>

export interface LettersHead extends CollectionQuery {
  readonly letters: string
  /** Groups that have letters, or had some. */
  readonly groups: readonly string[]
  /** Where the next page begins; null: this was the last, or no group was asked for. */
  readonly next: string | null
  /** There are more than these rows. */
  readonly truncated: boolean
}

export type LettersTables = {
  /** Oldest first, by group. At most 100. */
  readonly letters: readonly LetterRow[]
}

export interface LetterRow extends Row {
  readonly group: string
  readonly state: 'arriving' | 'kept' | 'redriven' | 'leaving'
  readonly lsn: number
  readonly kind: 'document' | 'pendingDelete' | 'version'
  readonly documentId: string
  readonly key: string
  /** `name: message`. */
  readonly error: string
  readonly attempts: number
  readonly host: string
  readonly failedMs: number
  readonly redrives: number
}

export interface LetterQuery extends CollectionQuery {
  readonly letters?: string
  readonly id: string
}

export interface LetterAnswer extends Omit<LetterRow, 'state' | 'redrives'> {
  readonly range: string
  /** With its causes. */
  readonly stack: string | null
  /** The document of the change as JSON, indented and masked. */
  readonly text: string
  readonly isCut: boolean
}

// ---------------------------------------------------------------------------------------------------- Queues and topics

/** `entity`: `queue`, `topic`, or `topic/Subscriptions/name`. */
export interface QueueQuery {
  readonly database: string
  readonly entity: string
}
export type QueueView = View<QueueHead, QueueTables>

/** A queue, topic or subscription. `id` is `database/entity`. Null: a topic does not have that. */
export interface QueueRow extends Row, QueueQuery {
  readonly kind: 'queue' | 'topic' | 'subscription'
  /** Active, Disabled, SendDisabled, ReceiveDisabled. */
  readonly status: string
  readonly requiresSession: boolean | null
  /** Waiting or locked. */
  readonly active: number | null
  readonly locked: number | null
  readonly deferred: number | null
  readonly scheduled: number
  readonly dead: number | null
  /** Active, expired, and not gone yet. */
  readonly expired: number | null
  readonly bytes: number
  readonly oldestMs: number | null
}

export interface QueueHead extends Omit<QueueRow, 'id'> {
  readonly maxDeliveryCount: number | null
  readonly lockMs: number | null
  readonly forwardTo: string | null
}

export type QueueTables = {
  /** Of a topic. */
  readonly subscriptions: readonly QueueRow[]
  /** Of a subscription. `id` is the name, `text` the filter and the action. */
  readonly rules: readonly (Row & { readonly text: string })[]
}

/** Looks at messages in the order of their numbers; changes nothing. */
export interface MessagesQuery extends QueueQuery {
  /** `1`: those of the dead-letter queue. */
  readonly dead?: string
  /** Only messages in this state: `active`, `deferred` or `scheduled`. */
  readonly state?: string
  /** Only messages of this session. */
  readonly session?: string
  /** Number to begin at: `next` of the page before. */
  readonly from?: string
}

export interface MessagesAnswer {
  /** At most 100; with `state` or `session` a page may have fewer, and `next` all the same. */
  readonly messages: readonly MessageRow[]
  readonly next: number | null
}

/** `id` is the sequence number. */
export interface MessageRow extends Row {
  readonly number: number
  readonly state: 'active' | 'deferred' | 'scheduled'
  readonly messageId: string
  readonly session: string | null
  readonly subject: string | null
  readonly enqueuedMs: number
  /** When it will be enqueued, of a scheduled one. */
  readonly scheduledMs: number | null
  readonly expiresMs: number | null
  readonly deliveries: number
  readonly deadReason: string | null
  readonly deadDescription: string | null
  /** JSON of the application properties; masked. */
  readonly properties: string | null
  /** Of the body: JSON or text, masked; bytes as base64. At most 64 KiB. */
  readonly body: string
  readonly isCut: boolean
}

export interface SessionsQuery extends QueueQuery {
  /** `next` of the page before. */
  readonly after?: string
}

export interface SessionsAnswer {
  /** At most 100 session ids, in order. */
  readonly sessions: readonly string[]
  readonly next: string | null
}

// ---------------------------------------------------------------------------------------------------- Actions

/** Bodies of `POST api/actions/NAME`. `dryRun: true` changes nothing and tells what would be done. */
export interface Actions {
  /** Hosts finish their batches, store their positions and give up their leases. */
  readonly pause: GroupRef & DryRun
  readonly resume: GroupRef & DryRun
  /** Moves leases; all, or those of `ranges` (lease tokens `min-max`). `to`: `beginning`, `now`, an ISO time, or a continuation. */
  readonly seek: GroupRef & DryRun & { readonly to: string; readonly ranges?: readonly string[] }
  /** Takes leases from their owners, without the batch that runs. Also ends a halt. */
  readonly release: GroupRef & DryRun & { readonly ranges: readonly string[] }
  readonly redriveLetters: LettersChoice & DryRun
  /** For good. */
  readonly dropLetters: LettersChoice & DryRun
  /** Dead messages go back to their queue or subscription. `numbers`: null means all. */
  readonly redriveMessages: QueueQuery & DryRun & { readonly numbers: readonly number[] | null }
  /** Sends a message to a queue or topic at a time; `atMs: null`: now. `body` that is JSON is sent as that value. */
  readonly schedule: QueueQuery &
    DryRun & {
      readonly body: string
      readonly atMs: number | null
      readonly session?: string
      readonly messageId?: string
    }
  /** Takes scheduled messages back. */
  readonly cancelScheduled: QueueQuery & DryRun & { readonly numbers: readonly number[] }
}
export type ActionName = keyof Actions

export interface DryRun {
  readonly dryRun?: boolean
}

export interface LettersChoice extends CollectionQuery {
  readonly letters?: string
  readonly group: string
  /** Null: all of the group. At most 100. */
  readonly ids: readonly string[] | null
}

export interface ActionAnswer {
  /** False: it was a dry run. */
  readonly done: boolean
  /** For people, to confirm: what is done by this, in a few sentences. */
  readonly text: string
  /** What can be counted, such as `ranges`, `repeated` and `skipped` (LSNs), `letters`, `messages`, `missing`. */
  readonly numbers: { readonly [name: string]: number }
  /** Of `seek`: each lease. */
  readonly moves: readonly MoveRow[]
}

/** `id` is the lease token. Back (`repeats`): changes are delivered again. Ahead (`skips`): they are not delivered. */
export interface MoveRow extends Row {
  readonly fromLsn: number | null
  readonly toLsn: number
  readonly effect: 'repeats' | 'skips' | 'none'
}
