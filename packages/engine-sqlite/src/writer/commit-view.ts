import {
  rangeOfEpk,
  type CommitPlace,
  type CommitView,
  type ExpiringRow,
  type FenceRecord,
  type PlannableBatch,
  type PresentDocument,
  type UniqueClaim,
} from '@tidemark/store/engine'
import type { CatalogRows, CollectionRow, RangeRow } from '../connection/catalog-rows.ts'
import { numberColumn } from '../connection/column.ts'
import type { Connection } from '../connection/connection.ts'
import type { Fences } from './fences.ts'
import type { OpenSegment, OpenSegments } from './open-segments.ts'
import { entryHolder } from './unique-entry-rows.ts'

const FIND = `SELECT seq, lsn, ts, ttl FROM doc
  WHERE coll = ? AND epk = ? AND pk = ? AND id = ? AND kind = 0`

/** A live row. */
export interface PresentRow extends PresentDocument {
  readonly seq: number
}

export interface SegmentPlace extends CommitPlace {
  readonly collection: CollectionRow
  readonly range: RangeRow
  readonly counter: OpenSegment
}

/** The transaction's state of catalog, counters and fences. */
export interface CommitContext {
  readonly connection: Connection
  readonly segments: OpenSegments
  readonly fences: Fences
  readonly catalog: CatalogRows
  /** The store's clock for this commit, epoch ms. */
  readonly timeMs: number
}

/** What a plan reads of the transaction. */
export class TransactionView implements CommitView<SegmentPlace, PresentRow> {
  readonly timeMs: number
  readonly #context: CommitContext

  constructor(context: CommitContext) {
    this.timeMs = context.timeMs
    this.#context = context
  }

  place({ collection: number, epk }: PlannableBatch): SegmentPlace | undefined {
    const { catalog, segments } = this.#context
    const collection = catalog.collections.get(number)
    if (collection === undefined) return undefined
    const range = rangeOfEpk(collection.ranges, epk)
    return { collection, range, counter: segments.get(range.segment) }
  }

  document({ collection, epk, partitionKey }: PlannableBatch, id: string): PresentRow | undefined {
    const row = this.#context.connection.get(FIND, collection, epk, partitionKey, id)
    if (row === undefined) return undefined
    const seq = numberColumn(row, 0)
    const lsn = numberColumn(row, 1)
    return { seq, lsn, ts: numberColumn(row, 2), ttl: numberColumn(row, 3) }
  }

  fences(job: string): readonly FenceRecord[] {
    return this.#context.fences.of(job)
  }

  holder(claim: UniqueClaim): (ExpiringRow & { readonly id: string }) | undefined {
    return entryHolder(this.#context.connection, claim)
  }
}
