import { openTestedEngine as openPostgresEngine } from '@tidemark/engine-postgres/testing'
import { openTestedEngine as openSqliteEngine } from '@tidemark/engine-sqlite/testing'
import type { StorageEngine } from '@tidemark/store'

/** Where the store of a crash run is; goes to its processes as it is. */
export type StorePlace =
  | {
      readonly kind: 'folder'
      readonly folder: string
      readonly durability: 'sync' | 'relaxed'
    }
  | { readonly kind: 'postgres'; readonly url: string }

/** The same for those who read: they have no use for relaxed writes. */
export function safely(place: StorePlace): StorePlace {
  return place.kind === 'folder' ? { ...place, durability: 'sync' } : place
}

export function openEngineAt(
  place: StorePlace,
  { segmentSlots }: { readonly segmentSlots: number },
): Promise<StorageEngine> {
  if (place.kind === 'postgres') return openPostgresEngine({ url: place.url, segmentSlots })
  const { folder, durability } = place
  return openSqliteEngine({ folder, durability, segmentSlots })
}

/**
 * Codes that a write may be refused with although nothing is wrong with it: a server that went away does not say
 * whether it happened. A folder does not go away.
 */
export function outageCodes({ kind }: StorePlace): readonly string[] {
  return kind === 'postgres' ? ['ERR_STORE_UNAVAILABLE'] : []
}
