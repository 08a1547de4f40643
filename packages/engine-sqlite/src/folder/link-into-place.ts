import { link, open, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Random } from '@tidemark/contracts'

const TEMPORARY = '.tidemark-'

/** A name for a file that is made aside, in the same folder so that it can be linked. */
export function temporaryFile(folder: string, random: Random): string {
  return join(folder, `${TEMPORARY}${random.hex(8)}`)
}

/** True for what a process may have left that died while it made a file. */
export function isTemporary(name: string): boolean {
  return name.startsWith(TEMPORARY)
}

/**
 * Gives a finished file its name, durably: nobody ever sees half of it. If the name is taken, whoever was
 * faster wins; of many processes that do it at once, one does.
 */
export async function linkIntoPlace(temporary: string, file: string): Promise<void> {
  try {
    await link(temporary, file)
  } catch (error) {
    if (errnoOf(error) !== 'EEXIST') throw error
  } finally {
    await rm(temporary, { force: true })
  }
  await syncFolder(dirname(file))
}

/** Makes names in a folder durable, not only what is in the files. */
export async function syncFolder(folder: string): Promise<void> {
  // Windows cannot open folders, and does not need to.
  const handle = await open(folder, 'r').catch(() => undefined)
  try {
    await handle?.sync()
  } catch {
    // A file system that cannot sync folders orders these changes itself.
  } finally {
    await handle?.close()
  }
}

/** `ENOENT` and the like; undefined for what is no error of the system. */
export function errnoOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('errno' in error) || !('code' in error)) return undefined
  return typeof error.code === 'string' ? error.code : undefined
}
