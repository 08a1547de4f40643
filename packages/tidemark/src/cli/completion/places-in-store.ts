import { homedir } from 'node:os'
import { storeOfEnvironment } from '../arguments/store-argument.ts'
import type { PlaceKind } from './candidates.ts'

/** A shell gives names a meaning that have other characters, so they are not offered. */
const PLAIN = /^[\p{L}\p{N}_.@+][\p{L}\p{N}_.@+,%-]*$/u

/** Names that are offered at most. */
const MAX_NAMES = 1_000

/**
 * Names of databases and collections in a folder. None from PostgreSQL: a key that is pressed must not wait for a
 * network, or ask for a password. None when anything fails.
 */
export async function placesInStore(
  kind: PlaceKind,
  typed: string,
  given: string | undefined,
): Promise<readonly string[]> {
  const where = (given ?? storeOfEnvironment())?.replace(/^~(?=\/)/, homedir())
  if (where === undefined || where.includes('://')) return []
  try {
    const { openExistingStore } = await import('../open-existing-store.ts')
    await using store = await openExistingStore(where, { maintenance: 'manual' })
    const [database = '', collection] = typed.split('/')
    if (collection !== undefined) {
      if (kind === 'database') return []
      const records = await store.database(database).listCollections()
      return plain(records).map((id) => `${database}/${id}`)
    }
    return plain(await store.listDatabases()).flatMap((id) => [
      ...(kind === 'collection' ? [] : [id]),
      ...(kind === 'database' ? [] : [`${id}/`]),
    ])
  } catch {
    return []
  }
}

function plain(records: readonly { readonly id: string }[]): readonly string[] {
  return records
    .map(({ id }) => id)
    .filter((id) => PLAIN.test(id))
    .toSorted()
    .slice(0, MAX_NAMES)
}
