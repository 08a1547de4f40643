import assert from 'node:assert/strict'
import type { ExpiryView } from '@tidemark/store/engine'
import type { CollectionRow } from '../connection/catalog-rows.ts'
import { numberColumn } from '../connection/column.ts'
import type { Connection } from '../connection/connection.ts'
import { readRangeHead } from './range-head.ts'

/** Entries of an index that one step reads. */
const ENTRIES_A_STEP = 5000

const NEXT_EXPIRING = `SELECT exp, seq FROM doc INDEXED BY expiry
  WHERE coll = ? AND kind = 0 AND exp > 0 AND (exp, seq) > (?, ?) ORDER BY exp, seq LIMIT ${ENTRIES_A_STEP}`
const NEXT_PENDING = `SELECT count(*), max(seq) FROM (SELECT seq FROM doc INDEXED BY pending
  WHERE coll = ? AND kind = 1 AND seq > ? ORDER BY seq LIMIT ${ENTRIES_A_STEP})`

/** How far a walk over the indexes of expiry and of pending deletes has come. */
export interface ExpiryWalk {
  readonly withinSeconds: readonly number[]
  /** The last entry that was read. */
  readonly expiring: { readonly second: number; readonly seq: number }
  readonly pendingSeq: number
  /** The result so far, for the store's time at the first step. */
  readonly view: ExpiryView | undefined
  readonly isAtEnd: boolean
}

/** Each step is a snapshot of its own: for what changes meanwhile, the view may count either state, or both. */
export async function readExpiryView(
  withinSeconds: readonly number[],
  step: (walk: ExpiryWalk) => Promise<ExpiryWalk>,
): Promise<ExpiryView> {
  const expiring = { second: 0, seq: 0 }
  let walk: ExpiryWalk = { withinSeconds, expiring, pendingSeq: 0, view: undefined, isAtEnd: false }
  while (!walk.isAtEnd) walk = await step(walk)
  assert(walk.view !== undefined, 'a step has found something')
  return walk.view
}

/** One step of finding what expires when. Counts entries of indexes, and reads no documents. */
export function walkExpiry(
  connection: Connection,
  collection: CollectionRow,
  { walk, nowMs }: { readonly walk: ExpiryWalk; readonly nowMs: number },
): ExpiryWalk {
  const { withinSeconds } = walk
  const { number } = collection.record
  const view = walk.view ?? emptyView(nowMs, withinSeconds)
  const now = Math.floor(view.nowMs / 1000)
  const { second, seq } = walk.expiring
  const rows = connection.all(NEXT_EXPIRING, number, second, seq)
  const seconds = rows.map((row) => numberColumn(row, 0))
  const ahead = seconds.filter((each) => each > now)
  const [next] = ahead
  const last = rows.at(-1)
  const pending = connection.get(NEXT_PENDING, number, walk.pendingSeq) ?? []
  const pendingDeletes = numberColumn(pending, 0)
  return {
    withinSeconds,
    expiring: last ? { second: numberColumn(last, 0), seq: numberColumn(last, 1) } : walk.expiring,
    pendingSeq: pendingDeletes === 0 ? walk.pendingSeq : numberColumn(pending, 1),
    view: {
      nowMs: view.nowMs,
      expiring: view.expiring.map((found, index) => {
        const until = now + (withinSeconds[index] ?? 0)
        return found + ahead.filter((each) => each <= until).length
      }),
      withExpiry: view.withExpiry + ahead.length,
      unswept: view.unswept + seconds.length - ahead.length,
      pendingDeletes: view.pendingDeletes + pendingDeletes,
      nextExpiryMs: view.nextExpiryMs ?? (next === undefined ? undefined : next * 1000),
      horizons: collection.ranges.flatMap((range) => readRangeHead(connection, range).horizons),
      isReindexing: collection.reindex !== undefined,
    },
    isAtEnd: rows.length < ENTRIES_A_STEP && pendingDeletes < ENTRIES_A_STEP,
  }
}

function emptyView(nowMs: number, withinSeconds: readonly number[]): ExpiryView {
  return {
    nowMs,
    expiring: withinSeconds.map(() => 0),
    withExpiry: 0,
    unswept: 0,
    pendingDeletes: 0,
    nextExpiryMs: undefined,
    horizons: [],
    isReindexing: false,
  }
}
