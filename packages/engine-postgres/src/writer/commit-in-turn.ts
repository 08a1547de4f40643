import {
  planUniqueEntries,
  type CommitOutcome,
  type CommittedBatch,
  type UniquePlan,
} from '@tidemark/store/engine'
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

/**
 * A commit whose batches name one document more than once. Writes batch by batch in one transaction, so that each sees
 * the effects of those before it. Undefined: a segment is closed, and nothing was done.
 */
export async function commitInTurn(
  { connections, statements, clock }: ReadContext,
  {
    commit: { request, places },
    database,
  }: { readonly commit: PlacedCommit; readonly database: number },
): Promise<GroupOutcome | undefined> {
  let ended: CommitOutcome | 'moved' | undefined
  const segments = `{${places.map(({ segment }) => segment).join(',')}}`
  const store = { database, atLeastMs: clock.atLeastMs(), isOwnClock: clock.isOwn }
  try {
    return await connections.transaction(async (sql) => {
      ended = undefined
      const batches: CommittedBatch[] = []
      const touched: TouchedRange[] = []
      let timeMs = 0
      // In the order of every commit: where it advances the clock itself, that comes before the segments.
      if (clock.isOwn) await sql.rows(statements.of(LOCK_CLOCK), [database])
      await sql.rows(statements.of(LOCK), [segments])
      let breach: CommitOutcome | undefined
      for (const [batchIndex, batch] of request.batches.entries()) {
        const place = places[batchIndex]
        const commit = async (
          unique: UniquePlan | undefined,
        ): Promise<GroupOutcome | undefined> => {
          const single: PlacedCommit = {
            request: { batches: [batch], fence: request.fence },
            places: place === undefined ? [] : [place],
            unique,
          }
          const [row = []] = await sql.rows(statements.of(COMMIT), groupValues([single], store))
          return groupOutcomes(row, [single])?.[0]
        }
        let result = await commit(breach === undefined ? planUniqueEntries([batch]) : undefined)
        if (result?.outcome.kind === 'notUnique') {
          // Conditions take precedence, also those of later batches: judge them as if there were no breach.
          breach = ofBatch(result.outcome, batchIndex)
          result = await commit(undefined)
        }
        if (result?.outcome.kind !== 'committed') {
          ended = result === undefined ? 'moved' : ofBatch(result.outcome, batchIndex)
          // Undoes what the batches before it wrote.
          throw new Error('a batch was refused')
        }
        batches.push(...result.outcome.batches)
        touched.push(...result.touched)
        timeMs = result.outcome.timeMs
      }
      if (breach !== undefined) {
        ended = breach
        throw new Error('a batch breaks a unique key')
      }
      return { outcome: { kind: 'committed', timeMs, batches }, touched }
    })
  } catch (error) {
    if (ended === 'moved') return undefined
    if (ended !== undefined) return { outcome: ended, touched: [] }
    throw error
  }
}

function ofBatch(outcome: CommitOutcome, batchIndex: number): CommitOutcome {
  return 'batchIndex' in outcome ? { ...outcome, batchIndex } : outcome
}
