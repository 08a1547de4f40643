import { lstatSync } from 'node:fs'
import { StoreDamagedError } from '@tidemark/contracts'

/**
 * Refuses what would lead SQLite out of the folder: it follows symbolic links, writes over what it finds as a log, and
 * deletes files that a rollback journal names. A store has no such journal: its files are in WAL mode from the first.
 *
 * @throws ERR_STORE_DAMAGED
 */
export function assertPlainFiles(file: string): void {
  for (const path of [file, `${file}-wal`, `${file}-shm`]) {
    const found = lstatSync(path, { throwIfNoEntry: false })
    if (found !== undefined && !found.isFile()) {
      throw new StoreDamagedError(`${path} is a link or a device, not a file of the store`)
    }
  }
  const journal = `${file}-journal`
  if (lstatSync(journal, { throwIfNoEntry: false }) !== undefined) {
    throw new StoreDamagedError(`${journal} is no file of the store: remove it`)
  }
}
