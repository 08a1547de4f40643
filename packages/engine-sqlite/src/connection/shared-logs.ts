import { existsSync, linkSync, rmSync, statSync } from 'node:fs'
import process from 'node:process'
import { threadId } from 'node:worker_threads'
import { accessOfMode, makeFileFor } from '../store-access.ts'

/**
 * Makes the log and the shared memory of a database that a group uses. SQLite makes them by the umask, and gives them the rights of
 * the database after that: a member who opens them in between may only read them, and then the store, until it is opened again.
 */
export function makeSharedLogs(file: string): void {
  if (accessOfMode(statSync(file).mode) !== 'group') return
  for (const log of [`${file}-wal`, `${file}-shm`]) {
    if (existsSync(log)) continue
    const made = `${log}.${process.pid}-${threadId}`
    try {
      makeFileFor('group', made)
      // Never in the place of one that another process has just made.
      linkSync(made, log)
    } catch {
      // It is there, or cannot be made here: SQLite says what it lacks.
    } finally {
      rmSync(made, { force: true })
    }
  }
}
