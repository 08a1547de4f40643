import assert from 'node:assert/strict'
import {
  ResourceExistsError,
  ResourceNotFoundError,
  StoreClosedError,
  type Clock,
  type FeedRange,
  type GroupPosition,
} from '@tidemark/contracts'
import { type DocumentVersion } from '@tidemark/contracts/internal'
import {
  type CollectionDefinition,
  type CollectionRecord,
  type CommitBatch,
  type CommitOutcome,
  type CommitRequest,
  type DatabaseEngine,
  type DatabaseRecord,
  type DefinitionChanges,
  type DocumentKey,
  type EngineFeedPage,
  type EngineVersionPage,
  type ExpiryView,
  type FeedCount,
  type FeedCountQuery,
  type FeedPageQuery,
  type MaintenanceOutcome,
  type MaintenanceTask,
  type MaintenanceView,
  type RangeCounter,
  type RangeRecord,
  type ScanPage,
  type ScanQuery,
  type StartQuery,
} from '@tidemark/store/engine'
import type { CallerTime, MessageCommand, MessageEngine } from '@tidemark/store/messages'
import {
  SqliteMessages,
  type MessageNews,
  type PerformedCommand,
} from './messages/sqlite-messages.ts'
import { DatabaseWaits } from './database-waits.ts'
import { PiecewiseReads } from './piecewise-reads.ts'
import { refuse } from './refuse.ts'
import type { DatabasePlace } from './database-place.ts'
import type { DatabaseReader } from './reader/database-reader.ts'
import type { TouchedRange, WriterResult, WriterTask } from './writer/writer-messages.ts'

type CommittedResult = Extract<WriterResult, { kind: 'committed' }>

/** Of a commit that sent nothing: what others did is not known from it. */
const NO_NEWS: MessageNews = { touched: [], news: 0 }

/** One database: its writer and reader, and the readers that wait for commits. */
export class SqliteDatabase implements DatabaseEngine {
  readonly record: DatabaseRecord
  readonly messages: MessageEngine
  readonly flush?: () => Promise<void>
  readonly maxPendingCommits: number | undefined
  readonly #place: DatabasePlace
  readonly #nowMs: (atLeastMs?: number) => number
  readonly #waits: DatabaseWaits
  readonly #piecewise = new PiecewiseReads((act) => this.#read(act))
  #ended: Error | undefined

  constructor(
    record: DatabaseRecord,
    {
      place,
      clock,
      nowMs,
      maxPendingCommits,
    }: {
      readonly place: DatabasePlace
      readonly clock: Clock
      readonly nowMs: (atLeastMs?: number) => number
      readonly maxPendingCommits?: number | undefined
    },
  ) {
    this.record = record
    this.maxPendingCommits = maxPendingCommits
    this.#place = place
    this.#waits = new DatabaseWaits(place, clock)
    this.#nowMs = nowMs
    this.messages = new SqliteMessages({
      perform: (command, caller) =>
        this.#waits.performed(
          () => this.#perform(command, caller),
          (result) => result,
        ),
      read: (act) => this.#read((reader) => reader.messages(act)),
      watch: (listener) => {
        this.#assertOpen()
        return this.#waits.watchMessages(listener)
      },
      nowMs,
    })
    if (place.writer.flush !== undefined) this.flush = () => this.#flush()
    nowMs(place.reader.highestCommitMs())
  }

  listCollections(): Promise<readonly CollectionRecord[]> {
    return this.#read((reader) => reader.collections())
  }

  readCollection(id: string): Promise<CollectionRecord | undefined> {
    return this.#read((reader) => reader.collections().find((record) => record.id === id))
  }

  async createCollection(
    id: string,
    definition: CollectionDefinition,
    ranges: readonly FeedRange[],
  ): Promise<CollectionRecord> {
    const result = await this.#request({
      kind: 'createCollection',
      collectionId: id,
      databaseRid: this.record.rid,
      definition,
      ranges,
    })
    if (result.kind === 'exists') throw new ResourceExistsError('collection', id)
    assert(result.kind === 'created', `unexpected answer ${result.kind}`)
    return result.record
  }

  async deleteCollection(id: string): Promise<void> {
    const result = await this.#request({ kind: 'deleteCollection', collectionId: id })
    if (result.kind === 'missing') throw new ResourceNotFoundError('collection', id)
    this.#waits.catalogChanged()
  }

  async updateCollection(
    { id, number }: CollectionRecord,
    changes: DefinitionChanges,
    { ifMatch }: { readonly ifMatch?: string | undefined } = {},
  ): Promise<CollectionRecord> {
    const task = { kind: 'updateCollection', collection: number, changes, ifMatch } as const
    const result = await this.#request(task)
    if (result.kind === 'updated') return result.record
    return refuse(result, id)
  }

  listRanges(collection: CollectionRecord): Promise<readonly RangeRecord[]> {
    return this.#read((reader) => reader.ranges(collection))
  }

  async splitRange(request: {
    readonly collection: CollectionRecord
    readonly range: number
    readonly at: string
  }): Promise<readonly [RangeRecord, RangeRecord]> {
    const { collection, range, at } = request
    const task = { kind: 'splitRange', collection: collection.number, range, at } as const
    const [left, right] = await this.#changeRanges(collection, task)
    assert(left !== undefined && right !== undefined, 'a split makes two ranges')
    return [left, right]
  }

  async mergeRanges(request: {
    readonly collection: CollectionRecord
    readonly ranges: readonly [number, number]
  }): Promise<RangeRecord> {
    const { collection, ranges } = request
    const task = { kind: 'mergeRanges', collection: collection.number, ranges } as const
    const [merged] = await this.#changeRanges(collection, task)
    assert(merged !== undefined, 'a merge makes one range')
    return merged
  }

  middleEpk(collection: CollectionRecord, range: number): Promise<string | undefined> {
    return this.#piecewise.middle(collection, range)
  }

  measureRange(
    collection: CollectionRecord,
    range: number,
  ): Promise<{ readonly documents: number; readonly bytes: number }> {
    return this.#piecewise.size(collection, range)
  }

  async commit(request: CommitRequest): Promise<CommitOutcome> {
    const result =
      request.sends === undefined
        ? await this.#commit(request)
        : await this.#waits.performed(
            () => this.#commit(request),
            ({ messages }) => messages ?? NO_NEWS,
          )
    if (result.outcome.kind === 'committed') {
      this.#nowMs(result.outcome.timeMs)
      // To ring at other processes costs as much as such a commit: their poll finds it within 10 ms.
      this.#waits.committed(result.touched, { isQuiet: request.sync === false })
    }
    return result.outcome
  }

  async commitEach(batches: readonly CommitBatch[]): Promise<readonly (CommitOutcome | Error)[]> {
    this.#assertOpen()
    const tasks = batches.map((batch) => ({ kind: 'commit', batches: [batch] }) as const)
    const results = await this.#place.writer.requestEach(tasks, this.#nowMs())
    const touched = new Map<string, TouchedRange>()
    const outcomes = results.map((result) => {
      if (result instanceof Error) return result
      if (result.kind === 'databaseGone') return this.#gone()
      assert(result.kind === 'committed', `unexpected answer ${result.kind}`)
      for (const each of result.touched) touched.set(`${each.collection}/${each.range}`, each)
      if (result.outcome.kind === 'committed') this.#nowMs(result.outcome.timeMs)
      return result.outcome
    })
    this.#waits.committed([...touched.values()])
    return outcomes
  }

  readDocument(key: DocumentKey): Promise<DocumentVersion | undefined> {
    return this.#read((reader) => reader.document(key))
  }

  scan(query: ScanQuery): Promise<ScanPage> {
    return this.#piecewise.scan(query)
  }

  countDocuments(collection: CollectionRecord): Promise<number> {
    return this.#piecewise.count(collection)
  }

  readFeedPage(query: FeedPageQuery): Promise<EngineFeedPage> {
    return this.#read((reader) => reader.feedPage(query))
  }

  readVersionPage(query: FeedPageQuery): Promise<EngineVersionPage> {
    return this.#read((reader) => reader.versionPage(query))
  }

  countFeed(query: FeedCountQuery): Promise<FeedCount> {
    return this.#piecewise.countFeed(query)
  }

  resolveStart(query: StartQuery): Promise<RangeCounter> {
    return this.#piecewise.start(query)
  }

  firstOwnLsn(collection: CollectionRecord, range: FeedRange): Promise<number> {
    return this.#read((reader) => reader.firstOwnLsn(collection, range))
  }

  async reportPositions(
    { id, number }: CollectionRecord,
    positions: readonly GroupPosition[],
  ): Promise<void> {
    const result = await this.#request({ kind: 'reportPositions', collection: number, positions })
    if (result.kind !== 'done') refuse(result, id)
  }

  readPositions(collection: CollectionRecord, group: string): Promise<readonly GroupPosition[]> {
    return this.#read((reader) => reader.positions(collection, group))
  }

  readMaintenance(): Promise<MaintenanceView> {
    return this.#read((reader) => reader.maintenance())
  }

  async maintain(request: {
    readonly holder: string
    readonly leaseMs: number
    readonly maxItems: number
    readonly task?: MaintenanceTask | undefined
  }): Promise<MaintenanceOutcome> {
    const { task, ...lease } = request
    const work = task && {
      kind: task.kind,
      collection: task.collection.number,
      range: task.kind === 'fold' ? task.range : undefined,
    }
    const result = await this.#request({ kind: 'maintain', ...lease, work })
    assert(result.kind === 'maintained', `unexpected answer ${result.kind}`)
    this.#waits.committed(result.touched)
    return result.outcome
  }

  async releaseMaintenance(holder: string): Promise<void> {
    await this.#request({ kind: 'releaseMaintenance', holder })
  }

  readExpiry(
    collection: CollectionRecord,
    { withinSeconds }: { readonly withinSeconds: readonly number[] },
  ): Promise<ExpiryView> {
    return this.#piecewise.expiry(collection, withinSeconds)
  }

  async waitForCommit(request: {
    readonly collection: CollectionRecord
    readonly range: FeedRange
    readonly afterLsn: number
    readonly timeoutMs: number
    readonly signal: AbortSignal
  }): Promise<boolean> {
    this.#assertOpen()
    return this.#waits.waitForCommit(request)
  }

  nowMs(): number {
    return this.#nowMs()
  }

  async check(): Promise<readonly string[]> {
    return this.#read(() => this.#place.check())
  }

  /** Wakes readers that commits of other processes concern. Cheap when there were none. */
  recheckWaits(): void {
    this.#waits.recheck()
  }

  /** Marks the database as deleted for every process, then closes it. */
  async drop(): Promise<void> {
    await this.#request({ kind: 'drop' })
    this.#place.announce()
    await this.#end(new ResourceNotFoundError('database', this.record.id))
  }

  /** Finishes accepted calls. All later calls fail. */
  async close(): Promise<void> {
    await this.#end(new StoreClosedError('the store was closed'))
  }

  async #end(error: Error): Promise<void> {
    this.#ended ??= error
    this.#waits.end(error)
    await this.#place.close()
  }

  async #changeRanges(
    { id }: CollectionRecord,
    task: Extract<WriterTask, { kind: 'splitRange' | 'mergeRanges' }>,
  ): Promise<readonly RangeRecord[]> {
    const result = await this.#request(task)
    if (result.kind !== 'ranges') return refuse(result, id)
    this.#waits.catalogChanged()
    return result.ranges
  }

  async #commit(request: CommitRequest): Promise<CommittedResult> {
    const result = await this.#request({ kind: 'commit', ...request })
    assert(result.kind === 'committed', `unexpected answer ${result.kind}`)
    return result
  }

  async #flush(): Promise<void> {
    this.#assertOpen()
    await this.#place.writer.flush?.()
  }

  async #perform(command: MessageCommand, caller: CallerTime): Promise<PerformedCommand> {
    const result = await this.#request({ kind: 'messages', command, caller })
    assert(result.kind === 'performed', `unexpected answer ${result.kind}`)
    this.#nowMs(result.time.storeMs)
    return result
  }

  /** Reads complete at once, on this thread. A caller that only reads still yields to others. */
  async #read<Result>(act: (reader: DatabaseReader) => Result): Promise<Result> {
    this.#assertOpen()
    const turn = this.#place.turns.due()
    if (turn !== undefined) {
      await turn
      this.#assertOpen()
    }
    const result = act(this.#place.reader)
    this.#place.assertReachable()
    return result
  }

  async #request(task: WriterTask): Promise<WriterResult> {
    this.#assertOpen()
    const result = await this.#place.writer.request(task, this.#nowMs())
    if (result.kind === 'databaseGone') throw this.#gone()
    return result
  }

  #gone(): ResourceNotFoundError {
    return new ResourceNotFoundError('database', this.record.id)
  }

  #assertOpen(): void {
    if (this.#ended !== undefined) throw this.#ended
  }
}
