import { presentRanges } from '../../inspection/measured-ranges.ts'
import { readTtl } from '../../inspection/read-ttl.ts'
import type { CollectionQuery, CollectionView, RangeRow } from '../views.ts'
import { existing, type DashboardContext } from './dashboard-context.ts'
import { worstFirst, type LookedAtGroups } from './overview.ts'
import { parentsOf } from './range-tree.ts'

/** Rejects with ERR_NOT_FOUND. */
export async function readCollectionView(
  { store, clock }: DashboardContext,
  place: CollectionQuery,
  { groups }: LookedAtGroups,
): Promise<CollectionView> {
  const collection = await existing(store, place)
  const { definition } = await collection.readRecord()
  const ttl = await readTtl(collection)
  const ranges = await presentRanges(collection)
  const parents = parentsOf(ranges)
  const present = new Set(ranges.map(({ id }) => id))
  const gone = [...parents].filter(([id]) => !present.has(id))
  const rows: readonly RangeRow[] = [
    ...gone.map(([id, own]): RangeRow => ({ id, state: 'gone', parents: own, ...UNKNOWN })),
    ...ranges.map(({ id, minInclusive, maxExclusive, documents, bytes, newestLsn }): RangeRow => {
      const size = { documents, bytes, newestLsn }
      const keys = { from: minInclusive, to: maxExclusive }
      return { id, state: 'live', parents: parents.get(id) ?? [], ...keys, ...size }
    }),
  ]
  const name = `${place.database}/${place.collection}`
  return {
    atMs: clock.wallMs(),
    head: {
      ...place,
      partitionKey: definition.partitionKey.paths,
      defaultTtl: ttl.defaultTtl,
      documents: ranges.reduce((sum, { documents }) => sum + documents, 0),
      bytes: ranges.reduce((sum, { bytes }) => sum + bytes, 0),
      withExpiry: ttl.withExpiry,
      unswept: ttl.unswept,
      pendingDeletes: ttl.pendingDeletes,
      retentionSeconds: ttl.retentionSeconds,
      nextExpiryMs: ttl.nextExpiryMs ?? null,
      expiring: ttl.expiring,
      allVersions: definition.allVersions !== null,
    },
    tables: {
      ranges: rows,
      horizons: ttl.horizons.map(({ range, lsn }) => ({ id: range, lsn })),
      waiting: ttl.waitFor.map(({ group, positions }) => ({ id: group, positions })),
      groups: groups
        .map(({ row }) => row)
        .filter((row) => row.collection === name)
        .sort(worstFirst),
    },
  }
}

const UNKNOWN = { from: null, to: null, documents: null, bytes: null, newestLsn: null }
