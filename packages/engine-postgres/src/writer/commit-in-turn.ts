import {
  planUniqueEntries,
  type CommitOutcome,
  type CommittedBatch,
  type UniquePlan,
} from '@tidemark/store/engine'
import type { Sql } from '../connection/sql.ts'
import { undoable } from '../connection/undoable.ts'
import type { ReadContext } from '../reader/read-context.ts'
import {
  COMMIT,
  groupOutcomes,
  groupValues,
  type GroupOutcome,
  type PlacedCommit,
} from './group-statement.ts'
import type { TouchedRange } from '../wakeup/touched-range.ts'

const LOCK_CLOCK = 'SELECT 1 FROM :schema.database WHERE number = $1 FOR NO KEY UPDATE'
// All at once and in the order of ids, as in every commit.
const LOCK =
  'SELECT id FROM :schema.segment WHERE id = ANY($1::integer[]) ORDER BY id FOR NO KEY UPDATE'

export interface CommitInTransaction {
  readonly commit: PlacedCommit
  /** Its number. */
  readonly database: number
}

/** As `writeInTurn`, in a transaction of its own. */
export function commitInTurn(
  context: ReadContext,
  commit: CommitInTransaction,
): Promise<GroupOutcome | undefined> {
  return undoable((undo) =>
    context.connections.transaction(async (sql) => {
      const result = await writeInTurn(sql, context, commit)
      return result?.outcome.kind === 'committed' ? result : undo(result)
    }),
  )
}

/** Writes a group of commits within a transaction, which is synced. Undefined: a segment is closed, and nothing was done. */
export async function writeGroup(
  sql: Sql,
  { statements, clock }: ReadContext,
  { commits, database }: { readonly commits: readonly PlacedCommit[]; readonly database: number },
): Promise<readonly GroupOutcome[] | undefined> {
  const store = { database, atLeastMs: clock.atLeastMs(), isOwnClock: clock.isOwn, isSynced: true }
  const [row = []] = await sql.rows(statements.of(COMMIT), groupValues(commits, store))
  return groupOutcomes(row, commits)
}

/**
 * Writes a commit whose batches name one document more than once: batch by batch, so that each sees the effects of those
 * before it. The transaction is of no use any more unless the outcome is `committed`.
 */
export async function writeInTurn(
  sql: Sql,
  context: ReadContext,
  { commit: { request, places }, database }: CommitInTransaction,
): Promise<GroupOutcome | undefined> {
  const { statements, clock } = context
  const batches: CommittedBatch[] = []
  const touched: TouchedRange[] = []
  let timeMs = 0
  // In the order of every commit: where it advances the clock itself, that comes before the segments.
  if (clock.isOwn) await sql.rows(statements.of(LOCK_CLOCK), [database])
  await sql.rows(statements.of(LOCK), [`{${places.map(({ segment }) => segment).join(',')}}`])
  let breach: CommitOutcome | undefined
  for (const [batchIndex, batch] of request.batches.entries()) {
    const place = places[batchIndex]
    const write = async (unique: UniquePlan | undefined): Promise<GroupOutcome | undefined> => {
      const single: PlacedCommit = {
        request: { batches: [batch], fence: request.fence },
        places: place === undefined ? [] : [place],
        unique,
      }
      return (await writeGroup(sql, context, { commits: [single], database }))?.[0]
    }
    let result = await write(breach === undefined ? planUniqueEntries([batch]) : undefined)
    if (result?.outcome.kind === 'notUnique') {
      // Conditions take precedence, also those of later batches: judge them as if there were no breach.
      breach = ofBatch(result.outcome, batchIndex)
      result = await write(undefined)
    }
    if (result === undefined) return undefined
    if (result.outcome.kind !== 'committed') {
      return { outcome: ofBatch(result.outcome, batchIndex), touched: [] }
    }
    batches.push(...result.outcome.batches)
    touched.push(...result.touched)
    timeMs = result.outcome.timeMs
  }
  if (breach !== undefined) return { outcome: breach, touched: [] }
  return { outcome: { kind: 'committed', timeMs, batches }, touched }
}

function ofBatch(outcome: CommitOutcome, batchIndex: number): CommitOutcome {
  return 'batchIndex' in outcome ? { ...outcome, batchIndex } : outcome
}
