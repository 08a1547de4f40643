import { readdir } from 'node:fs/promises'
import { errorCode } from '@tidemark/contracts'
import type { MaintenanceMode, Store } from '@tidemark/store'
import { openStore } from '../open-store.ts'
import { postgresLocation, refuseOtherUrl } from '../postgres-location.ts'
import { InputError } from './input-error.ts'

/**
 * Opens the store in a folder or at a `postgres://` URL, and does not make one of a name that was mistyped. Rejects
 * with ERR_INPUT then, for a URL with ERR_STORE_FORMAT.
 *
 * @param maintenance `manual` for commands that only look, or are over at once
 */
export async function openExistingStore(
  where: string,
  { maintenance }: { readonly maintenance?: MaintenanceMode } = {},
): Promise<Store> {
  const location = postgresLocation(where)
  if (location !== undefined) {
    return openStore({ ...location, schemaManagement: 'none', maintenance })
  }
  refuseOtherUrl(where)
  let entries: readonly string[]
  try {
    entries = await readdir(where)
  } catch (cause) {
    if (errorCode(cause) !== 'ENOENT') throw cause
    throw new InputError(`--store ${where}: there is no such folder`, { cause })
  }
  if (entries.length === 0)
    throw new InputError(`--store ${where}: the folder is empty, not a store`)
  return openStore({ folder: where, maintenance })
}
