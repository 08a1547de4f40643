import { CodedError, type FeedRange } from '@tidemark/contracts'
import type { CollectionRecord, PlaceCounter, WaitPlace } from '@tidemark/store/engine'
import { numberColumn } from '../connection/columns.ts'
import type { ReadContext } from './read-context.ts'

const COUNTER = `SELECT s.lsn, c.version FROM :schema.collection c
JOIN :schema.segment s ON s.id = $2 AND s.state = 'open' WHERE c.number = $1`
const COUNTERS = `SELECT id, lsn FROM :schema.segment
WHERE id = ANY($1::integer[]) AND state = 'open'`

/** The newest LSN of the pkrange that holds a range, and which pkrange that is. */
export async function readCounter(
  { connections, statements, collections }: ReadContext,
  record: CollectionRecord,
  wanted: FeedRange,
): Promise<PlaceCounter> {
  return collections.inRange(record, wanted, async ({ range, collection, isFresh }) => {
    const values = [record.number, range.segment]
    // A fresh catalog may name changes that a follower does not have yet: waiting for it here would be a loop without a
    // pause.
    const from = isFresh ? 'primary' : 'replica'
    const [row] = await connections.read(statements.of(COUNTER), values, { from })
    if (row === undefined || numberColumn(row, 1) !== collection.version) return undefined
    return { lsn: numberColumn(row, 0), rangeNumber: range.number }
  })
}

/**
 * The same for many places at once. For a place that is gone, the corresponding error. Places whose segment has not
 * changed cost one statement together.
 */
export async function readCounters(
  context: ReadContext,
  places: readonly WaitPlace[],
): Promise<readonly (PlaceCounter | CodedError)[]> {
  const segments = places.map((place) => openSegment(context, place))
  const asked = new Set(segments.filter((id) => id !== undefined))
  const lsns = await readNewestLsns(context, asked, { from: 'replica' })
  return Promise.all(
    places.map(async ({ collection, range, rangeNumber }, index) => {
      const lsn = lsns.get(segments[index] ?? -1)
      if (lsn !== undefined) return { lsn, rangeNumber }
      try {
        return await readCounter(context, collection, range)
      } catch (error) {
        // The server cannot be asked now: the next round does it.
        if (!(error instanceof CodedError) || error.retryable) throw error
        return error
      }
    }),
  )
}

/** The segment that takes the writes of a place's range, from the cache. */
export function openSegment(
  { collections }: ReadContext,
  { collection, rangeNumber }: WaitPlace,
): number | undefined {
  const ranges = collections.known(collection.number)?.ranges
  return ranges?.find(({ number }) => number === rangeNumber)?.segment
}

/** The newest LSN of each open segment. */
export async function readNewestLsns(
  { connections, statements }: ReadContext,
  segments: ReadonlySet<number>,
  { from }: { readonly from: 'primary' | 'replica' },
): Promise<ReadonlyMap<number, number>> {
  const values = [`{${[...segments].join(',')}}`]
  const rows = await connections.read(statements.of(COUNTERS), values, { from })
  return new Map(rows.map((row) => [numberColumn(row, 0), numberColumn(row, 1)]))
}
