import type { CollectionRecord } from './catalog.ts'
import type {
  CommitBatch,
  CommitOperation,
  CommitOutcome,
  CommitRequest,
  CommittedBatch,
} from './commit.ts'
import { expiredSecond, expirySecond, neverExpires, ttlUntil, type ExpiringRow } from './expiry.ts'
import { refusingEpoch, type FenceRecord } from './fence-check.ts'
import {
  planUniqueEntries,
  uniqueBreach,
  type UniqueClaim,
  type UniquePlan,
} from './unique-entries.ts'
import { conditionHolds } from './write-condition.ts'

/** A stored document that no pending delete has replaced yet. It may have expired. */
export interface PresentDocument extends ExpiringRow {
  readonly lsn: number
}

/** Where a batch writes. */
export interface CommitPlace {
  /** As of this transaction. */
  readonly collection: { readonly record: CollectionRecord }
  /** One object for each pkrange; `lsn` is the last one that the range gave out. */
  readonly counter: { readonly lsn: number }
}

/** What a plan reads, inside the write transaction. */
export interface CommitView<Place extends CommitPlace, Document extends PresentDocument> {
  /** The store's clock for this commit, epoch ms. */
  readonly timeMs: number
  /** Undefined when the collection is gone. */
  place(batch: CommitBatch): Place | undefined
  document(batch: CommitBatch, id: string): Document | undefined
  fencesOf(job: string): readonly FenceRecord[]
  /** The document that an entry is stored with. */
  holder(claim: UniqueClaim): (ExpiringRow & { readonly id: string }) | undefined
}

/** A document's text that is written. */
export interface PlannedPut<Document> extends PresentDocument {
  readonly operation: Extract<CommitOperation, { kind: 'put' }>
  /** The number of the range's counter that this write took. That of a batch's last write is the batch's LSN. */
  readonly taken: number
  /** The live document that goes. An earlier batch of the commit may have put it. */
  readonly replaces: Document | PlannedPut<Document> | undefined
  /** A `ttl` that the commit computed, and that the text does not have (JB-2). */
  readonly made: number | null
  /** Second at which it expires; 0 = never. */
  readonly expirySecond: number
}

/** A live document that is deleted. */
export interface PlannedDelete<Document> {
  readonly operation: Extract<CommitOperation, { kind: 'delete' }>
  readonly taken: number
  readonly replaces: Document | PlannedPut<Document>
}

/** The pending delete of an expired document that a put is about to replace (TTL-16). */
export interface PlannedExpiry<Document> {
  readonly id: string
  readonly document: Document
  /** Epoch second at which it expired. */
  readonly second: number
  readonly lsn: number
}

/** Carried out in this order: expiries, then writes. */
export interface PlannedBatch<Place, Document> extends CommittedBatch {
  readonly batch: CommitBatch
  readonly place: Place
  readonly expiries: readonly PlannedExpiry<Document>[]
  /** A delete of a document that is not there took a number, and is not among them. */
  readonly writes: readonly (PlannedPut<Document> | PlannedDelete<Document>)[]
}

export interface CommitPlan<Place, Document> {
  readonly outcome: CommitOutcome
  /** None unless the outcome is `committed`. */
  readonly batches: readonly PlannedBatch<Place, Document>[]
  /** Undefined in collections without unique keys. */
  readonly unique: UniquePlan | undefined
}

type CommitFailure = Extract<CommitOutcome, { kind: 'refused' | 'invalidTtl' }>

/**
 * Judges one commit and hands out its LSNs, without changing anything. The only place where this is decided; the SQL
 * of the engine on PostgreSQL is compared with it call by call (decision 0029).
 *
 * Of several reasons to refuse, the first counts: a collection that is gone, the fence, then conditions and values of
 * `ttl` in the order of operations, then unique keys. Each batch sees the effects of those before it, and one refusal
 * refuses all.
 *
 * LSNs (ST-5): a batch takes from its range's counter one number for each expired document that it puts again, then
 * one for each put and delete, whether or not a document is there to be deleted. Each pending delete has the LSN that
 * it took. All documents of the batch share the last number, which is also the range's counter afterwards.
 */
export function planCommit<Place extends CommitPlace, Document extends PresentDocument>(
  view: CommitView<Place, Document>,
  { batches, fence }: CommitRequest,
): CommitPlan<Place, Document> {
  const places: Place[] = []
  for (const [batchIndex, batch] of batches.entries()) {
    const place = view.place(batch)
    if (place === undefined) return refused({ kind: 'collectionGone', batchIndex })
    places.push(place)
  }
  const currentEpoch = fence && refusingEpoch(view.fencesOf(fence.job), fence)
  if (currentEpoch !== undefined) return refused({ kind: 'fenced', currentEpoch })
  const planner = new BatchPlanner(view, batches.length > 1)
  const planned: PlannedBatch<Place, Document>[] = []
  for (const [batchIndex, place] of places.entries()) {
    const batch = batches[batchIndex]
    if (batch === undefined) continue
    const plan = planner.plan(batch, { batchIndex, place })
    if ('kind' in plan) return refused(plan)
    planned.push(plan)
  }
  const unique = planUniqueEntries(batches)
  const breach =
    unique &&
    uniqueBreach(unique, (claim) => {
      const holder = view.holder(claim)
      const place = places[claim.batchIndex]
      if (holder === undefined || place === undefined) return undefined
      return expiredIn(place, holder, view.timeMs) === 0 ? holder.id : undefined
    })
  if (breach !== undefined) return refused({ kind: 'notUnique', ...breach })
  const committed = planned.map(({ lsn, existed }) => ({ lsn, existed }))
  const outcome: CommitOutcome = { kind: 'committed', timeMs: view.timeMs, batches: committed }
  return { outcome, batches: planned, unique }
}

/** Second at which a document of the collection expired; 0 while it lives (TTL-4). */
function expiredIn({ collection: { record } }: CommitPlace, row: ExpiringRow, ms: number): number {
  const policy = { defaultTtl: record.definition.defaultTtl, eras: record.ttlEras }
  return neverExpires(policy) ? 0 : expiredSecond(row, policy, ms)
}

function refused(outcome: CommitOutcome): CommitPlan<never, never> {
  return { outcome, batches: [], unique: undefined }
}

/** The batches of one commit, in order. */
class BatchPlanner<Place extends CommitPlace, Document extends PresentDocument> {
  readonly #view: CommitView<Place, Document>
  /** What earlier batches wrote; undefined = they deleted it. A single batch names each id once. */
  readonly #written: Map<string, PlannedPut<Document> | undefined> | undefined
  readonly #counters: Map<Place['counter'], number> | undefined

  constructor(view: CommitView<Place, Document>, hasSeveral: boolean) {
    this.#view = view
    this.#written = hasSeveral ? new Map() : undefined
    this.#counters = hasSeveral ? new Map() : undefined
  }

  plan(
    batch: CommitBatch,
    { batchIndex, place }: { readonly batchIndex: number; readonly place: Place },
  ): PlannedBatch<Place, Document> | CommitFailure {
    const { timeMs } = this.#view
    const hasTtl = place.collection.record.definition.defaultTtl !== null
    const before = this.#counters?.get(place.counter) ?? place.counter.lsn
    const present: (Document | PlannedPut<Document> | undefined)[] = []
    const expiries: PlannedExpiry<Document>[] = []
    let lsn = before
    for (const [operationIndex, operation] of batch.operations.entries()) {
      const { kind, id, condition } = operation
      let live: Document | PlannedPut<Document> | undefined
      if (this.#written?.has(documentKey(batch, id)) === true) {
        live = this.#written.get(documentKey(batch, id))
      } else {
        const document = this.#view.document(batch, id)
        const second = document === undefined ? 0 : expiredIn(place, document, timeMs)
        if (second === 0) live = document
        else if (kind === 'put' && document !== undefined) {
          expiries.push({ id, document, second, lsn: before + expiries.length + 1 })
        }
      }
      if (!conditionHolds(condition, live?.lsn)) {
        return { kind: 'refused', batchIndex, operationIndex, presentLsn: live?.lsn }
      }
      if (kind === 'put' && operation.ttl === 'invalid' && hasTtl) {
        return { kind: 'invalidTtl', batchIndex, operationIndex }
      }
      present.push(live)
      if (kind !== 'check') lsn++
    }
    lsn += expiries.length
    this.#counters?.set(place.counter, lsn)
    const writes = this.#writes(batch, { place, present, lsn, taken: before + expiries.length })
    const existed = present.map((document) => document !== undefined)
    return { batch, place, lsn, existed, expiries, writes }
  }

  #writes(
    batch: CommitBatch,
    {
      place,
      present,
      lsn,
      taken,
    }: {
      readonly place: Place
      readonly present: readonly (Document | PlannedPut<Document> | undefined)[]
      readonly lsn: number
      taken: number
    },
  ): PlannedBatch<Place, Document>['writes'] {
    const writes: (PlannedPut<Document> | PlannedDelete<Document>)[] = []
    const ts = Math.floor(this.#view.timeMs / 1000)
    for (const [index, operation] of batch.operations.entries()) {
      if (operation.kind === 'check') continue
      taken++
      const replaces = present[index]
      if (operation.kind === 'put') {
        const until = operation.expirySecond
        const made = until === undefined ? null : ttlUntil(until, ts)
        const ttl = made ?? (operation.ttl === 'invalid' ? 0 : operation.ttl)
        const second = expirySecond({ ts, ttl }, place.collection.record.definition.defaultTtl)
        const put = { operation, taken, replaces, lsn, ts, ttl, made, expirySecond: second }
        this.#written?.set(documentKey(batch, operation.id), put)
        writes.push(put)
      } else if (replaces !== undefined) {
        // An expired document is left to the sweep, or to the next writer of its key.
        this.#written?.set(documentKey(batch, operation.id), undefined)
        writes.push({ operation, taken, replaces })
      }
    }
    return writes
  }
}

function documentKey({ collection, partitionKey }: CommitBatch, id: string): string {
  return `${collection}\n${partitionKey}\n${id}`
}
