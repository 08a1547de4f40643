import type { Sql } from '../connection/sql.ts'
import type { ReadContext } from '../reader/read-context.ts'
import {
  NOTHING_TO_DO,
  maintenanceTurn,
  type MaintenanceTurn,
  type PieceOutcome,
  type PieceRequest,
} from './piece.ts'

const TAKE = `SELECT other, until_ms, time_ms
FROM :schema.take_maintenance($1, $2, $3, greatest($4::bigint, :now))`

/** Takes or renews the maintenance lease of a database, and does nothing else. */
export async function takeMaintenance(
  context: ReadContext,
  request: PieceRequest,
): Promise<PieceOutcome> {
  const { connections, statements } = context
  const [row = []] = await connections.write(statements.of(TAKE), takeValues(context, request))
  const turn = maintenanceTurn(row, context, request.database)
  return { outcome: 'held' in turn ? turn.held : { kind: 'done', ...NOTHING_TO_DO }, touched: [] }
}

/** The same at the beginning of a transaction. It locks the database's row. */
export async function takeMaintenanceIn(
  sql: Sql,
  context: ReadContext,
  request: PieceRequest,
): Promise<MaintenanceTurn> {
  const [row = []] = await sql.rows(context.statements.of(TAKE), takeValues(context, request))
  return maintenanceTurn(row, context, request.database)
}

function takeValues(
  { clock }: ReadContext,
  { database, holder, leaseMs }: PieceRequest,
): readonly (string | number)[] {
  return [database, holder, leaseMs, clock.atLeastMs()]
}
