import { lstatSync } from 'node:fs'
import { StoreDamagedError } from '@tidemark/contracts'

/**
 * Refuses files that would lead SQLite out of the folder. SQLite follows symbolic links, overwrites what it finds as a
 * log, and deletes files that a rollback journal names. A store never has such a journal: its files are in WAL mode
 * from the start.
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
    throw new StoreDamagedError(`${journal} is not a file of the store: remove it`)
  }
}
