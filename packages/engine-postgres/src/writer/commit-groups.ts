import { StoreUnavailableError, errorCode } from '@tidemark/contracts'
import { eventLoopTurn } from '@tidemark/contracts/internal'
import {
  commitChars,
  planUniqueEntries,
  rangeOfEpk,
  type CommitOutcome,
  type CommitRequest,
} from '@tidemark/store/engine'
import type { RangeRow } from '../catalog/collection-row.ts'
import type { Sql } from '../connection/sql.ts'
import type { ReadContext } from '../reader/read-context.ts'
import type { TouchedRange } from '../wakeup/touched-range.ts'
import type { PostgresMessages } from '../messages/postgres-messages.ts'
import { commitInTurn, writeGroup, writeInTurn } from './commit-in-turn.ts'
import { commitSending } from './commit-sending.ts'
import { entryKeys } from './entry-values.ts'
import {
  COMMIT,
  groupOutcomes,
  groupTimeline,
  groupValues,
  type BatchPlace,
  type GroupOutcome,
  type PlacedCommit,
} from './group-statement.ts'
import { rollSegment } from './range-writes.ts'
import type { UnsyncedCommits } from './unsynced-commits.ts'
import { WriteQueue, documentKeys, type WaitingCommit } from './write-queue.ts'

export interface CommitGroupsOptions {
  readonly context: ReadContext
  readonly database: number
  readonly maxPendingCommits: number
  readonly maxGroupOperations: number
  readonly segmentSlots: number
  readonly messages: Pick<PostgresMessages, 'commit'>
  readonly unsynced: UnsyncedCommits
  /** Called for each commit, once it is visible, and durable unless it need not be. */
  readonly onCommitted: (
    touched: readonly TouchedRange[],
    timeMs: number,
    options: { readonly isSynced: boolean },
  ) => void
}

interface QueuedCommit extends WaitingCommit, PlacedCommit {
  /** Undefined: a segment was closed, nothing was done. */
  readonly resolve: (outcome: CommitOutcome | undefined) => void
  readonly reject: (error: unknown) => void
}

/** Rounds in which a commit looks up its range again: each follows a change of ranges. */
const MAX_ROUNDS = 100
/** Texts of one statement. Beyond a gigabyte PostgreSQL refuses it, and far below that a longer wait gains nothing. */
const MAX_GROUP_CHARS = 8 * 2 ** 20
/** After these errors, the others of a group would fail alone too. */
const FAILURES_OF_ALL: readonly string[] = [
  'ERR_STORE_UNAVAILABLE',
  'ERR_STORE_DAMAGED',
  'ERR_STORE_CLOSED',
]

/**
 * Writes the commits of this process in groups. Commits that arrive for one pkrange while its previous group is being
 * written go together, in one statement with one wait for the disk. Commits of several ranges have groups of their own.
 */
export class CommitGroups {
  readonly #options: CommitGroupsOptions
  /** See `queueKey`. */
  readonly #queues = new Map<number, WriteQueue<QueuedCommit>>()
  readonly #running = new Set<Promise<void>>()
  readonly #pending = new Set<Promise<CommitOutcome>>()

  constructor(options: CommitGroupsOptions) {
    this.#options = options
  }

  /** Resolves when the commit is visible, and durable unless it need not be. */
  async commit(request: CommitRequest): Promise<CommitOutcome> {
    const { maxPendingCommits } = this.#options
    if (this.#pending.size >= maxPendingCommits) {
      throw new StoreUnavailableError(
        `${maxPendingCommits} commits are already waiting for the server`,
      )
    }
    const pending = this.#commit(request)
    this.#pending.add(pending)
    try {
      return await pending
    } finally {
      this.#pending.delete(pending)
    }
  }

  /** Waits for all accepted commits. */
  async drain(): Promise<void> {
    while (this.#pending.size + this.#running.size > 0) {
      await Promise.allSettled([...this.#pending, ...this.#running])
    }
  }

  async #commit(request: CommitRequest): Promise<CommitOutcome> {
    const unique = planUniqueEntries(request.batches)
    const documents = documentKeys(request)
    const isRepeated = request.batches.length > 1 && new Set(documents).size < documents.length
    const keys = unique === undefined ? documents : [...documents, ...entryKeys(unique)]
    for (let round = 0; round < MAX_ROUNDS; round++) {
      const placed = await this.#place(request, round > 0)
      if ('outcome' in placed) return placed.outcome
      const { places } = placed
      const commit = { request, places, unique }
      const outcome = isRepeated
        ? await this.#inTurn(commit)
        : await this.#enqueue({ ...commit, keys })
      if (outcome !== undefined) return outcome
    }
    throw new StoreUnavailableError('the ranges change too fast for a commit')
  }

  /** The place of each batch, from the cache. */
  async #place(
    request: CommitRequest,
    isStale: boolean,
  ): Promise<{ readonly places: readonly BatchPlace[] } | { readonly outcome: CommitOutcome }> {
    const { collections } = this.#options.context
    const places: BatchPlace[] = []
    const refreshed = new Set<number>()
    for (const [batchIndex, { collection: number, epk }] of request.batches.entries()) {
      try {
        const mustRefresh = isStale && !refreshed.has(number)
        refreshed.add(number)
        const known = collections.known(number)
        const name = known?.record ?? { number, id: `number ${number}` }
        const row = mustRefresh ? undefined : known
        const { ranges } = row ?? (await collections.refresh(name))
        const { segment, number: range } = rangeOfEpk(ranges, epk)
        places.push({ segment, range })
      } catch (error) {
        if (errorCode(error) !== 'ERR_NOT_FOUND') throw error
        return { outcome: { kind: 'collectionGone', batchIndex } }
      }
    }
    return { places }
  }

  /** Undefined: a segment was closed, nothing was done. */
  async #inTurn(commit: PlacedCommit): Promise<CommitOutcome | undefined> {
    const { context, database, messages } = this.#options
    const parts = { commit, database }
    const write = async (sql: Sql): Promise<readonly GroupOutcome[] | undefined> => {
      const outcome = await writeInTurn(sql, context, parts)
      return outcome && [outcome]
    }
    const [result] =
      commit.request.sends === undefined
        ? [await commitInTurn(context, parts)]
        : ((await commitSending([commit], { messages, write })) ?? [])
    if (result === undefined) return undefined
    this.#committed(result, { isSynced: true })
    return result.outcome
  }

  #enqueue(
    commit: PlacedCommit & { readonly keys: readonly string[] },
  ): Promise<CommitOutcome | undefined> {
    const key = queueKey(commit)
    const queue = this.#queues.get(key)
    const { promise, resolve, reject } = Promise.withResolvers<CommitOutcome | undefined>()
    const isSynced = this.#mustSync(commit.request)
    const queued = { ...commit, ...sizeOf(commit.request), isSynced, resolve, reject }
    if (queue !== undefined) {
      queue.push(queued)
      return promise
    }
    const begun = new WriteQueue<QueuedCommit>()
    begun.push(queued)
    this.#queues.set(key, begun)
    const running = this.#run(key, begun).finally(() => this.#running.delete(running))
    this.#running.add(running)
    return promise
  }

  /** Writes group after group until no commit waits. Never rejects. */
  async #run(key: number, queue: WriteQueue<QueuedCommit>): Promise<void> {
    while (queue.length > 0) {
      // After one turn of the event loop, callers that just got an answer have their next commit ready.
      await eventLoopTurn()
      const touched = await this.#write(
        queue.take({
          maxOperations: this.#options.maxGroupOperations,
          maxChars: MAX_GROUP_CHARS,
        }),
      )
      await this.#makeRoom(touched)
    }
    this.#queues.delete(key)
  }

  /** Resolves with the ranges that were advanced. Never rejects. */
  async #write(group: readonly QueuedCommit[]): Promise<readonly TouchedRange[]> {
    let outcomes: readonly GroupOutcome[] | undefined
    try {
      outcomes = await this.#send(group)
    } catch (error) {
      const isOfAll = group.length === 1 || FAILURES_OF_ALL.includes(errorCode(error) ?? '')
      if (isOfAll) for (const { reject } of group) reject(error)
      if (isOfAll) return []
      // One of them cannot be carried out; each of the others can, alone.
      const touched: TouchedRange[] = []
      for (const commit of group) touched.push(...(await this.#write([commit])))
      return touched
    }
    // Nothing below may lead to a second attempt: these commits are done.
    for (const [index, { resolve, isSynced }] of group.entries()) {
      const result = outcomes?.[index]
      if (result !== undefined) this.#committed(result, { isSynced })
      resolve(result?.outcome)
    }
    return outcomes?.flatMap(({ touched }) => touched) ?? []
  }

  async #send(group: readonly QueuedCommit[]): Promise<readonly GroupOutcome[] | undefined> {
    const { context, database, messages, unsynced } = this.#options
    if (group[0]?.request.sends !== undefined) {
      const write = (sql: Sql): Promise<readonly GroupOutcome[] | undefined> =>
        writeGroup(sql, context, { commits: group, database })
      return commitSending(group, { messages, write })
    }
    const { connections, statements, clock } = context
    const isSynced = group.some((commit) => commit.isSynced)
    const store = { database, atLeastMs: clock.atLeastMs(), isOwnClock: clock.isOwn, isSynced }
    const before = unsynced.newest
    const [row = []] = await connections.write(statements.of(COMMIT), groupValues(group, store))
    const outcomes = groupOutcomes(row, group)
    if (outcomes?.some(({ outcome }) => outcome.kind === 'committed') === true) {
      if (isSynced) unsynced.synced(before, groupTimeline(row))
      else unsynced.made(groupTimeline(row))
    }
    return outcomes
  }

  /** Fences and messages are always durable. */
  #mustSync({ sync, fence, sends }: CommitRequest): boolean {
    const { noticesLoss } = this.#options.context.statements
    return sync !== false || fence !== undefined || sends !== undefined || !noticesLoss
  }

  #committed({ outcome, touched }: GroupOutcome, options: { readonly isSynced: boolean }): void {
    if (outcome.kind !== 'committed') return
    this.#options.context.clock.heard(outcome.timeMs)
    this.#options.onCommitted(touched, outcome.timeMs, options)
  }

  /** Gives new segments to ranges whose segments are full. Never rejects: the next group tries again. */
  async #makeRoom(touched: readonly TouchedRange[]): Promise<void> {
    const { context, segmentSlots } = this.#options
    const { collections } = context
    const newest = new Map<string, TouchedRange>()
    for (const each of touched) newest.set(`${each.collection}/${each.range}`, each)
    for (const { collection, range: number, lsn } of newest.values()) {
      const row = collections.known(collection)
      const range = row?.ranges.find((each) => each.number === number)
      if (row === undefined || range === undefined) continue
      if (lsn - baseOf(range) < segmentSlots) continue
      // Its collection may have been deleted, or the server may be away.
      await rollSegment(context, { collection: row.record, range: number, segmentSlots }).catch(
        () => {},
      )
    }
  }
}

/**
 * Commits with the same key go together: those of one segment; 0: those that concern several. Below 0: those that send to
 * an entity, the first one if there are several.
 */
function queueKey({ request: { sends }, places }: PlacedCommit): number {
  const entity = sends?.commands[0]?.entity
  if (entity !== undefined) return -entity
  const segments = new Set(places.map(({ segment }) => segment))
  const [only = 0] = segments.size === 1 ? segments : []
  return only
}

function sizeOf({ batches, sends }: CommitRequest): Pick<QueuedCommit, 'operations' | 'chars'> {
  const messages = (sends?.commands ?? []).flatMap(({ parcels }) =>
    parcels.flatMap((parcel) => parcel.messages),
  )
  return {
    operations: batches.reduce((sum, { operations }) => sum + operations.length, messages.length),
    chars: messages.reduce((sum, { bytes }) => sum + bytes, commitChars(batches)),
  }
}

function baseOf({ segments, segment }: RangeRow): number {
  return segments.find(({ id }) => id === segment)?.base ?? 0
}
