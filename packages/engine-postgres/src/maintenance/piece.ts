import { ResourceNotFoundError } from '@tidemark/contracts'
import type { MaintenanceOutcome } from '@tidemark/store/engine'
import { booleanColumn, numberColumn, numberList, textColumn } from '../connection/columns.ts'
import type { SqlRow } from '../connection/sql.ts'
import type { ReadContext } from '../reader/read-context.ts'
import type { TouchedRange } from '../wakeup/touched-range.ts'

/** The holder, place and size of a requested piece of background work. */
export interface PieceRequest {
  /** Number of the database. */
  readonly database: number
  readonly holder: string
  readonly leaseMs: number
  readonly maxItems: number
}

export interface PieceOutcome {
  readonly outcome: MaintenanceOutcome
  /** How far pkranges have come: readers that wait for them can continue. */
  readonly touched: readonly TouchedRange[]
}

export interface DonePiece {
  readonly items: number
  /** True when another piece would find more at once. */
  readonly more: boolean
}

export const NOTHING_TO_DO: DonePiece = { items: 0, more: false }

/** The store time of a piece, or the other process that holds the lease. */
export type MaintenanceTurn =
  | { readonly timeMs: number }
  | { readonly held: Extract<MaintenanceOutcome, { kind: 'held' }> }

/** From a row that begins with `other, until_ms, time_ms`; see `TAKE_MAINTENANCE`. */
export function maintenanceTurn(
  row: SqlRow,
  { clock }: Pick<ReadContext, 'clock'>,
  database: number,
): MaintenanceTurn {
  // A database that is gone has no time.
  if (row[2] === null) throw new ResourceNotFoundError('database', `number ${database}`)
  const timeMs = numberColumn(row, 2)
  clock.heard(timeMs)
  if (row[0] === null) return { timeMs }
  return { held: { kind: 'held', holder: textColumn(row, 0), untilMs: numberColumn(row, 1) } }
}

/** From a row that continues with `items, more` and, if rows got new LSNs, `ranges, lsns`. */
export function pieceOutcome(
  row: SqlRow,
  { turn, collection }: { readonly turn: MaintenanceTurn; readonly collection: number },
): PieceOutcome {
  if ('held' in turn) return { outcome: turn.held, touched: [] }
  const outcome = {
    kind: 'done',
    items: numberColumn(row, 3),
    more: booleanColumn(row, 4),
  } as const
  const ranges = numberList(row[5] ?? '{}')
  const lsns = numberList(row[6] ?? '{}')
  const touched = ranges.map((range, index) => {
    return { collection, range: range ?? -1, lsn: lsns[index] ?? 0 }
  })
  return { outcome, touched }
}
