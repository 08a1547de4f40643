import type { Store } from '@tidemark/store'
import { openLeases, type OpenedLeases } from './lease-location.ts'

/** The possible places of leases: the one of `--leases`, else the collections of the store with that name. */
export async function leaseLocations(
  leases: string | undefined,
  store: Store | undefined,
): Promise<readonly string[]> {
  if (leases !== undefined || store === undefined) return leases === undefined ? [] : [leases]
  return (await store.listCollections())
    .filter(({ record }) => record.id === 'leases')
    .map(({ databaseId, record }) => `${databaseId}/${record.id}`)
}

/** The first of the places that has leases of a group; undefined when none has. Rejects as `openLeases`. */
export async function openLeasesOf(
  group: string,
  { leases, store }: { readonly leases: string | undefined; readonly store: Store },
): Promise<OpenedLeases | undefined> {
  for (const location of await leaseLocations(leases, store)) {
    const opened = await openLeases(location, { store, missing: 'fail' })
    try {
      // To open a missing group would create it.
      if ((await opened.store.listGroups()).includes(group)) return opened
    } catch (error) {
      await opened[Symbol.asyncDispose]()
      throw error
    }
    await opened[Symbol.asyncDispose]()
  }
  return undefined
}
