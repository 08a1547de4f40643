import { closeSync, constants, fdatasyncSync, openSync } from 'node:fs'
import type { SyncedFile } from '../writer/unsynced-commits.ts'

/**
 * Opens a file to put on disk what any process wrote to it. The descriptor stays open: the system tells each one of a
 * failure that comes while it is open, whoever meets it first, and a new one of none. Closing it releases the locks
 * that this process has on the file, so that it is for files that nobody locks.
 */
export function openSyncedFile(file: string): SyncedFile {
  // Absent on Windows.
  const noFollow = (constants.O_NOFOLLOW as number | undefined) ?? 0
  const descriptor = openSync(file, constants.O_RDWR | noFollow)
  return { sync: () => fdatasyncSync(descriptor), close: () => closeSync(descriptor) }
}
