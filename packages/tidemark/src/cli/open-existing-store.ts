import { readdir } from 'node:fs/promises'
import { errorCode } from '@tidemark/contracts'
import type { MaintenanceMode, Store } from '@tidemark/store'
import { openStore } from '../open-store.ts'
import { postgresLocation, refuseOtherUrl } from '../postgres-location.ts'
import { InputError } from './input-error.ts'

const WRONG_FOLDER: ReadonlyMap<string | undefined, string> = new Map([
  ['ENOENT', 'there is no such folder: make a store there with `tidemark init`'],
  ['ENOTDIR', 'it is not a folder'],
])

/**
 * Opens the store in a folder or at a `postgres://` URL, and never creates one, because the name may be mistyped. If
 * there is no store, rejects with ERR_INPUT, for a URL with ERR_STORE_FORMAT.
 *
 * @param maintenance `manual` for commands that only read, or end at once
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
    const code = errorCode(cause)
    const why = WRONG_FOLDER.get(code) ?? `the folder cannot be read (${code})`
    throw new InputError(`--store ${where}: ${why}`, { cause })
  }
  if (entries.length === 0)
    throw new InputError(
      `--store ${where}: the folder is empty: make a store there with \`tidemark init\``,
    )
  return openStore({ folder: where, maintenance })
}
