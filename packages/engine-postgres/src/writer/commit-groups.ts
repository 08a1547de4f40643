import { StoreUnavailableError, errorCode } from '@tidemark/contracts'
import {
  commitChars,
  planUniqueEntries,
  rangeOfEpk,
  type CommitOutcome,
  type CommitRequest,
} from '@tidemark/store/engine'
import type { RangeRow } from '../catalog/collection-row.ts'
import { nextTurn } from '../platform/next-turn.ts'
import type { ReadContext } from '../reader/read-context.ts'
import type { TouchedRange } from '../wakeup/touched-range.ts'
import { commitInTurn } from './commit-in-turn.ts'
import { entryKeys } from './entry-values.ts'
import {
  COMMIT,
  groupOutcomes,
  groupValues,
  type BatchPlace,
  type GroupOutcome,
  type PlacedCommit,
} from './group-statement.ts'
import { rollSegment } from './range-writes.ts'
import { WriteQueue, documentKeys, type WaitingCommit } from './write-queue.ts'

export interface CommitGroupsOptions {
  readonly context: ReadContext
  readonly database: number
  readonly maxPendingCommits: number
  readonly maxGroupOperations: number
  readonly segmentSlots: number
  /** Told of each commit, once it is durable. */
  readonly onCommitted: (touched: readonly TouchedRange[], timeMs: number) => void
}

interface QueuedCommit extends WaitingCommit, PlacedCommit {
  /** Undefined: a segment was closed, nothing was done. */
  readonly resolve: (outcome: CommitOutcome | undefined) => void
  readonly reject: (error: unknown) => void
}

/** Rounds in which a commit looks for its range anew: each follows a change of ranges. */
const MAX_ROUNDS = 100
/** Texts of one statement: beyond a gigabyte PostgreSQL refuses it, and long before nobody gains by waiting for it. */
const MAX_GROUP_CHARS = 8 * 2 ** 20
/** After these the others of a group would fare no better alone. */
const FAILURES_OF_ALL: readonly string[] = [
  'ERR_STORE_UNAVAILABLE',
  'ERR_STORE_DAMAGED',
  'ERR_STORE_CLOSED',
]

/**
 * Writes the commits of this process in groups: those that come for one pkrange while its group before is on
 * the way go together, in one statement and with one wait for the disk. Commits of several ranges share
 * groups of their own, beside them.
 */
export class CommitGroups {
  readonly #options: CommitGroupsOptions
  /** By segment; 0: of commits that concern several. */
  readonly #queues = new Map<number, WriteQueue<QueuedCommit>>()
  readonly #running = new Set<Promise<void>>()
  readonly #pending = new Set<Promise<CommitOutcome>>()

  constructor(options: CommitGroupsOptions) {
    this.#options = options
  }

  /** Resolves when the commit is durable and visible. */
  async commit(request: CommitRequest): Promise<CommitOutcome> {
    const { maxPendingCommits } = this.#options
    if (this.#pending.size >= maxPendingCommits) {
      throw new StoreUnavailableError(`${maxPendingCommits} commits wait for the server already`)
    }
    const pending = this.#commit(request)
    this.#pending.add(pending)
    try {
      return await pending
    } finally {
      this.#pending.delete(pending)
    }
  }

  /** Waits for everything that was accepted. */
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
      const outcome = isRepeated
        ? await this.#inTurn({ request, places, unique })
        : await this.#enqueue({ request, places, unique, keys })
      if (outcome !== undefined) return outcome
    }
    throw new StoreUnavailableError('the ranges change faster than a commit can follow')
  }

  /** Where each batch goes, as far as this process knows. */
  async #place(
    request: CommitRequest,
    isStale: boolean,
  ): Promise<{ readonly places: readonly BatchPlace[] } | { readonly outcome: CommitOutcome }> {
    const { collections } = this.#options.context
    const places: BatchPlace[] = []
    const refreshed = new Set<number>()
    for (const [batchIndex, { collection, epk }] of request.batches.entries()) {
      try {
        const mustRefresh = isStale && !refreshed.has(collection.number)
        refreshed.add(collection.number)
        const row = mustRefresh
          ? await collections.refresh(collection)
          : (collections.known(collection.number) ?? (await collections.refresh(collection)))
        const { segment, number } = rangeOfEpk(row.ranges, epk)
        places.push({ segment, range: number })
      } catch (error) {
        if (errorCode(error) !== 'ERR_NOT_FOUND') throw error
        return { outcome: { kind: 'collectionGone', batchIndex } }
      }
    }
    return { places }
  }

  /** Undefined: a segment was closed, nothing was done. */
  async #inTurn(commit: PlacedCommit): Promise<CommitOutcome | undefined> {
    const { context, database } = this.#options
    const result = await commitInTurn(context, { commit, database })
    if (result === undefined) return undefined
    this.#committed(result.outcome, result.touched)
    return result.outcome
  }

  #enqueue(
    commit: PlacedCommit & { readonly keys: readonly string[] },
  ): Promise<CommitOutcome | undefined> {
    const segments = new Set(commit.places.map(({ segment }) => segment))
    const [only = 0] = segments.size === 1 ? segments : []
    const queue = this.#queues.get(only)
    const { promise, resolve, reject } = Promise.withResolvers<CommitOutcome | undefined>()
    const operations = commit.request.batches.reduce((sum, each) => sum + each.operations.length, 0)
    const queued = {
      ...commit,
      operations,
      chars: commitChars(commit.request.batches),
      resolve,
      reject,
    }
    if (queue !== undefined) {
      queue.push(queued)
      return promise
    }
    const begun = new WriteQueue<QueuedCommit>()
    begun.push(queued)
    this.#queues.set(only, begun)
    const running = this.#run(only, begun).finally(() => this.#running.delete(running))
    this.#running.add(running)
    return promise
  }

  /** Writes group after group until none waits. Never rejects. */
  async #run(key: number, queue: WriteQueue<QueuedCommit>): Promise<void> {
    while (queue.length > 0) {
      // Whoever was answered just now has his next commit ready after a turn.
      await nextTurn()
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

  /** Answers what was moved on. Never rejects. */
  async #write(group: readonly QueuedCommit[]): Promise<readonly TouchedRange[]> {
    let outcomes: readonly GroupOutcome[] | undefined
    try {
      outcomes = await this.#send(group)
    } catch (error) {
      const isOfAll = group.length === 1 || FAILURES_OF_ALL.includes(errorCode(error) ?? '')
      if (isOfAll) for (const { reject } of group) reject(error)
      if (isOfAll) return []
      // One of them cannot be carried out; alone, each of the others can.
      const touched: TouchedRange[] = []
      for (const commit of group) touched.push(...(await this.#write([commit])))
      return touched
    }
    // Nothing below may lead to a second attempt: these are durable.
    for (const [index, { resolve }] of group.entries()) {
      const result = outcomes?.[index]
      if (result !== undefined) this.#committed(result.outcome, result.touched)
      resolve(result?.outcome)
    }
    return outcomes?.flatMap(({ touched }) => touched) ?? []
  }

  async #send(group: readonly QueuedCommit[]): Promise<readonly GroupOutcome[] | undefined> {
    const { context, database } = this.#options
    const { connections, statements, clock } = context
    const store = { database, atLeastMs: clock.atLeastMs(), isOwnClock: clock.isOwn }
    const [row = []] = await connections.write(statements.of(COMMIT), groupValues(group, store))
    return groupOutcomes(row, group)
  }

  #committed(outcome: CommitOutcome, touched: readonly TouchedRange[]): void {
    if (outcome.kind !== 'committed') return
    this.#options.context.clock.heard(outcome.timeMs)
    this.#options.onCommitted(touched, outcome.timeMs)
  }

  /** Gives ranges whose segments have run full new ones. Never rejects: the next group tries again. */
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
      // Its collection may have been deleted, or the server be away.
      await rollSegment(context, { collection: row.record, range: number, segmentSlots }).catch(
        () => {},
      )
    }
  }
}

function baseOf({ segments, segment }: RangeRow): number {
  return segments.find(({ id }) => id === segment)?.base ?? 0
}
