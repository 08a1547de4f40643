import { errorCode } from '@tidemark/contracts'
import { pendingDeleteAging, versionAging } from '@tidemark/store/engine'
import type { CollectionName } from '../catalog/collection-cache.ts'
import type { ReadContext } from '../reader/read-context.ts'
import { NEXT_VERSION } from '../schema/next-version.ts'
import { lockCollection } from '../writer/lock-collection.ts'
import { readGroupPositions } from './group-positions.ts'
import { takeMaintenanceIn } from './maintenance-lease.ts'
import { NOTHING_TO_DO, type DonePiece, type PieceOutcome, type PieceRequest } from './piece.ts'
import { removeAged, type AgedPiece } from './remove-aged.ts'

/** Removes pending deletes, or entries of the log of all versions, after their retention, in one transaction. */
export async function removeOldRows(
  context: ReadContext,
  request: PieceRequest,
  task: { readonly kind: 'purge' | 'trimVersions'; readonly collection: CollectionName },
): Promise<PieceOutcome> {
  const { connections, statements } = context
  const { database, maxItems } = request
  return connections.transaction(async (sql) => {
    const turn = await takeMaintenanceIn(sql, context, request)
    if ('held' in turn) return { outcome: turn.held, touched: [] }
    const locked = await lockIfPresent(() => lockCollection(context, sql, task.collection))
    const writer = { sql, statements }
    const piece = locked && { ...locked, ...turn, writer, database, maxItems }
    const done = piece === undefined ? NOTHING_TO_DO : await REMOVERS[task.kind](piece)
    return { outcome: { kind: 'done', ...done }, touched: [] }
  })
}

const REMOVERS = { purge: purgePending, trimVersions } as const

/** Purges pending deletes whose retention is over and that every waiting group has passed. */
async function purgePending(piece: AgedPiece): Promise<DonePiece> {
  const { record } = piece.collection
  const positions = await readGroupPositions(piece.writer, record)
  return removeAged(piece, pendingDeleteAging(record, { positions, nowMs: piece.timeMs }))
}

// After the commits that were running when the log was switched off.
const LOCK_OPEN = `SELECT 1 FROM :schema.segment WHERE coll = $1 AND state = 'open' ORDER BY id
FOR NO KEY UPDATE`
const END_LOG = `UPDATE :schema.collection SET logged = false, version = ${NEXT_VERSION} WHERE number = $1
AND NOT EXISTS (SELECT 1 FROM :schema.segment s WHERE s.coll = $1 AND s.state <> 'dropped'
  AND EXISTS (SELECT 1 FROM :schema.log l WHERE l.segment = s.id))`

/** Removes entries after their retention, or all entries after the log was switched off (CF-11). */
async function trimVersions(piece: AgedPiece): Promise<DonePiece> {
  const {
    collection: { record, logged },
    writer: { sql, statements },
  } = piece
  if (!logged) return NOTHING_TO_DO
  const done = await removeAged(piece, versionAging(record, piece.timeMs))
  if (done.items === 0 && record.definition.allVersions === null) {
    await sql.rows(statements.of(LOCK_OPEN), [record.number])
    await sql.rows(statements.of(END_LOG), [record.number])
  }
  return done
}

async function lockIfPresent<Locked>(lock: () => Promise<Locked>): Promise<Locked | undefined> {
  try {
    return await lock()
  } catch (error) {
    // Deleted since the look.
    if (errorCode(error) === 'ERR_NOT_FOUND') return undefined
    throw error
  }
}
