import type { ReadContext } from '../reader/read-context.ts'
import { maintenanceTurn, pieceOutcome, type PieceOutcome, type PieceRequest } from './piece.ts'

const SWEEP = piece('sweep_expired')
const FILE_EXPIRY = piece('file_expiry')

/** Turns expired documents into pending deletes; see `SWEEP_EXPIRED` and `FILE_EXPIRY`. */
export async function expireDocuments(
  context: ReadContext,
  { database, holder, leaseMs, maxItems }: PieceRequest,
  { kind, collection }: { readonly kind: 'sweep' | 'expiryIndex'; readonly collection: number },
): Promise<PieceOutcome> {
  const { connections, statements, clock } = context
  const values = [database, holder, leaseMs, clock.atLeastMs(), collection, maxItems]
  const [row = []] = await connections.write(
    statements.of(kind === 'sweep' ? SWEEP : FILE_EXPIRY),
    values,
  )
  const turn = maintenanceTurn(row, context, database)
  return pieceOutcome(row, { turn, collection })
}

function piece(name: string): string {
  return `SELECT other, until_ms, time_ms, items, more, ranges, lsns
FROM :schema.${name}($1, $2, $3, greatest($4::bigint, :now), $5, $6)`
}
