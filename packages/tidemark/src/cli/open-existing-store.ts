import { readdir } from 'node:fs/promises'
import { errorCode } from '@tidemark/contracts'
import type { MaintenanceMode, Store } from '@tidemark/store'
import { openStore } from '../open-store.ts'
import { InputError } from './input-error.ts'

/**
 * Opens the store in a folder, and does not make one of a name that was mistyped. Rejects with ERR_INPUT then.
 *
 * @param maintenance `manual` for commands that only look, or are over at once
 */
export async function openExistingStore(
  folder: string,
  { maintenance }: { readonly maintenance?: MaintenanceMode } = {},
): Promise<Store> {
  let entries: readonly string[]
  try {
    entries = await readdir(folder)
  } catch (cause) {
    if (errorCode(cause) !== 'ENOENT') throw cause
    throw new InputError(`--store ${folder}: there is no such folder`, { cause })
  }
  if (entries.length === 0)
    throw new InputError(`--store ${folder}: the folder is empty, not a store`)
  return openStore({ folder, maintenance })
}
