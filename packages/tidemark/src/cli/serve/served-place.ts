import type { Store } from '@tidemark/store'
import { openStore } from '../../open-store.ts'
import { postgresLocation } from '../../postgres-location.ts'

/** What is served: a folder, a schema of PostgreSQL, or a store in memory. */
export type ServedPlace =
  | { readonly kind: 'folder'; readonly folder: string }
  | { readonly kind: 'postgres'; readonly url: string }
  | { readonly kind: 'memory' }

export type Durability = 'sync' | 'relaxed'

/** The place of an argument; memory without one. Throws ERR_INVALID_OPTION for a malformed URL. */
export function servedPlace(argument: string | undefined): ServedPlace {
  if (argument === undefined) return { kind: 'memory' }
  if (postgresLocation(argument) !== undefined) return { kind: 'postgres', url: argument }
  return { kind: 'folder', folder: argument }
}

/** Opens the place, and creates what is missing. Rejects as `openStore`. */
export function openServedStore(
  place: ServedPlace,
  { durability }: { readonly durability?: Durability | undefined } = {},
): Promise<Store> {
  if (place.kind === 'memory') return openStore(':memory:')
  if (place.kind === 'postgres') return openStore(place.url)
  return openStore({ folder: place.folder, durability })
}

/** For display; a URL is shown without its password. */
export function describePlace(place: ServedPlace): string {
  if (place.kind === 'memory') return 'a store in memory'
  if (place.kind === 'folder') return place.folder
  const { host, pathname } = new URL(place.url)
  return `postgres://${host}${pathname}`
}
