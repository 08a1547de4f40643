import { HorizonPassedError, type FeedRange } from '@tidemark/contracts'
import { readPresentRecord } from '../catalog/change-settings.ts'
import type { OpenCollection } from '../documents/open-collection.ts'
import type { RangeCounter } from '../engine/feed-query.ts'

/**
 * Makes sure that the log of all versions holds everything from a moment on (CF-11). That is so in three cases: nothing
 * of the range was ever trimmed; an older entry still exists; or the log has been kept under the present retention
 * since then, and the moment is within it.
 *
 * @throws ERR_HORIZON_PASSED
 */
export async function assertLogReaches(
  open: OpenCollection,
  {
    range,
    timeMs,
    counter,
  }: { readonly range: FeedRange; readonly timeMs: number; readonly counter: RangeCounter },
): Promise<void> {
  const { lsn, horizon } = counter
  if (horizon === 0) return
  const second = Math.floor(timeMs / 1000)
  const { definition, ts: changedAt } = await readPresentRecord(open)
  const retentionSeconds = definition.allVersions?.retentionSeconds ?? 0
  const keptSince = Math.ceil(open.engine.nowMs() / 1000) - retentionSeconds
  if (second > changedAt && second >= keptSince) return
  const oldest = await open.engine.readVersionPage({
    collection: open.record,
    range,
    afterLsn: horizon,
    maxItems: 1,
    maxChars: 1,
  })
  const [entry] = oldest.rows
  if (entry !== undefined && entry.commitMs < second * 1000) return
  throw new HorizonPassedError({ range, lsn, horizon })
}
