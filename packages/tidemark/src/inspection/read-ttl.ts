import { feedRangeId } from '@tidemark/contracts'
import type { Collection, CollectionRecord, ExpiryView } from '@tidemark/store'

/** What `tidemark ttl` shows for a collection. */
export interface ShownTtl extends Omit<ExpiryView, 'expiring' | 'horizons'> {
  readonly defaultTtl: number | null
  /** Documents that expire within this number of seconds. */
  readonly expiring: readonly { readonly withinSeconds: number; readonly documents: number }[]
  readonly retentionSeconds: number
  readonly waitFor: readonly WaitedGroup[]
  /** Highest LSN up to which something was purged, by range. */
  readonly horizons: readonly { readonly range: string; readonly lsn: number }[]
}

interface WaitedGroup {
  readonly group: string
  /** Its positions. Ranges for which it never reported one are missing. */
  readonly positions: readonly { readonly range: string; readonly lsn: number }[]
}

const WITHIN_SECONDS: readonly number[] = [60, 3_600, 86_400, 7 * 86_400]

/** Reads the data of `tidemark ttl`. Changes nothing. */
export async function readTtl(collection: Collection): Promise<ShownTtl> {
  const { definition } = await collection.readRecord()
  const view = await collection.readExpiry({ withinSeconds: WITHIN_SECONDS })
  return {
    defaultTtl: definition.defaultTtl,
    ...view,
    expiring: view.expiring.map((documents, index) => {
      return { withinSeconds: WITHIN_SECONDS[index] ?? 0, documents }
    }),
    retentionSeconds: definition.pendingDeletes.retentionSeconds,
    waitFor: await readGroups(collection, definition),
    horizons: view.horizons.map(({ range, lsn }) => ({ range: feedRangeId(range), lsn })),
  }
}

function readGroups(
  { positions }: Collection,
  { pendingDeletes }: CollectionRecord['definition'],
): Promise<readonly WaitedGroup[]> {
  return Promise.all(
    pendingDeletes.waitFor.map(async (group) => {
      const known = await positions.read(group)
      return {
        group,
        positions: known.map(({ range, lsn }) => ({ range: feedRangeId(range), lsn })),
      }
    }),
  )
}
