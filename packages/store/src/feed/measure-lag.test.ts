import {
  FULL_RANGE,
  lsn,
  type Continuation,
  type DocumentBody,
  type FeedMode,
} from '@tidemark/contracts'
import { expect, test } from 'vitest'
import type { FeedReader } from './feed-reader.ts'
import { measureLag } from './measure-lag.ts'

const REQUEST = { range: FULL_RANGE, continuation: '' as Continuation }
const POSITION = { range: FULL_RANGE, epoch: 0, lsn: lsn(10), purgeStamp: 1 }

/** A reader at LSN 10, behind which everything up to LSN 20 was removed since it last read. */
function readerOf(mode: FeedMode): FeedReader<DocumentBody> {
  const horizons = [{ range: FULL_RANGE, lsn: 20, stamp: 2 }]
  const count = { newestLsn: 30, rows: 3, isExact: true, oldestMs: undefined, horizons }
  const open = { record: {}, engine: { countFeed: async () => count } }
  // What the measurement asks of it.
  return { mode, open, position: () => POSITION } as unknown as FeedReader<DocumentBody>
}

test.each<readonly [FeedMode, boolean, 'missed' | 'told']>([
  ['latestVersion', true, 'missed'],
  // Who asks for no pending deletes misses none.
  ['latestVersion', false, 'told'],
  // The log has versions besides, and those are gone, too.
  ['allVersions', true, 'missed'],
  ['allVersions', false, 'missed'],
])(
  'TTL-15 PH-9 the lag of a reader that was passed by a horizon: %s, pending deletes %s: %s',
  async (mode, pendingDeletes, outcome) => {
    const lag = measureLag(readerOf(mode), { ...REQUEST, pendingDeletes })
    if (outcome === 'told') expect(await lag).toMatchObject({ remainingChanges: 3 })
    else await expect(lag).rejects.toMatchObject({ code: 'ERR_HORIZON_PASSED' })
  },
)
