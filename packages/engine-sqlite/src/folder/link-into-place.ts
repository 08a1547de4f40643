import { closeSync, fsyncSync, openSync } from 'node:fs'
import { link, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { StoreUnavailableError, type Random } from '@tidemark/contracts'

const TEMPORARY = '.tidemark-'

/** A name for a file under construction, in the same folder so that it can be linked. */
export function temporaryFile(folder: string, random: Random): string {
  return join(folder, `${TEMPORARY}${random.hex(8)}`)
}

/** True for files that a process may have left when it died while it created a file. */
export function isTemporary(name: string): boolean {
  return name.startsWith(TEMPORARY)
}

/**
 * Gives a finished file its name, durably: it is never visible half-written. If the name is taken, the first process
 * wins; of several at once, exactly one does.
 */
export async function linkIntoPlace(temporary: string, file: string): Promise<void> {
  try {
    await link(temporary, file)
  } catch (error) {
    if (errnoOf(error) !== 'EEXIST') throw error
  } finally {
    await rm(temporary, { force: true })
  }
  syncFolder(dirname(file))
}

/** The errors of systems where folders cannot be opened (Windows, or no permission to read) or synced. */
const CANNOT_SYNC = new Set(['EINVAL', 'ENOTSUP', 'ENOSYS', 'EISDIR', 'EPERM', 'EACCES'])

/**
 * Makes names in a folder durable, not only the contents of files.
 *
 * @throws ERR_STORE_UNAVAILABLE, as when the disk fails
 */
export function syncFolder(folder: string): void {
  try {
    const handle = openSync(folder, 'r')
    try {
      fsyncSync(handle)
    } finally {
      closeSync(handle)
    }
  } catch (error) {
    // Where folders cannot be synced, the file system orders these changes itself.
    if (CANNOT_SYNC.has(errnoOf(error) ?? '')) return
    const reason = error instanceof Error ? error.message : String(error)
    throw new StoreUnavailableError(`${folder} cannot be synced: ${reason}`, { cause: error })
  }
}

/** `ENOENT` and similar; undefined for errors that are not from the system. */
export function errnoOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('errno' in error) || !('code' in error)) return undefined
  return typeof error.code === 'string' ? error.code : undefined
}
