import { existsSync, rmSync } from 'node:fs'
import { StoreDamagedError, StoreFormatError } from '@tidemark/contracts'
import { numberColumn } from '../connection/column.ts'
import { Connection } from '../connection/connection.ts'
import { SCHEMA_VERSION } from '../connection/schema.ts'

/** How long opening a file waits for another process, blocking the thread. */
const LOCK_TIMEOUT_MS = 5000

/** Makes a new file with tables. Durable when this returns, except for its name. */
export function createSqliteFile(file: string, tables: string): void {
  const connection = new Connection(file, { timeoutMs: LOCK_TIMEOUT_MS, mode: 'create' })
  try {
    connection.exec('PRAGMA journal_mode = WAL')
    connection.exec('PRAGMA synchronous = FULL')
    connection.transaction('BEGIN IMMEDIATE', () => connection.exec(tables))
  } finally {
    connection.close()
  }
}

/**
 * Opens a file that `createSqliteFile` made, for durable changes.
 *
 * @throws ERR_STORE_DAMAGED, ERR_STORE_FORMAT, or as SQLite does
 */
export function openSqliteFile(file: string): Connection {
  if (!existsSync(file)) throw new StoreDamagedError(`${file} is missing`)
  const connection = new Connection(file, { timeoutMs: LOCK_TIMEOUT_MS, mode: 'existing' })
  try {
    connection.exec('PRAGMA synchronous = FULL')
    const table = connection.get(`SELECT 1 FROM sqlite_schema WHERE name = 'meta'`)
    if (table === undefined) throw new StoreDamagedError(`${file} is damaged: it has no tables`)
    const row = connection.get(`SELECT value FROM meta WHERE name = 'schema'`) ?? []
    const schema = numberColumn(row, 0)
    if (schema === SCHEMA_VERSION) return connection
    const advice =
      schema > SCHEMA_VERSION
        ? 'Use a newer Tidemark'
        : 'It was made by one that was never released'
    throw new StoreFormatError(
      `${file} has schema ${schema}; this version reads ${SCHEMA_VERSION}. ${advice}`,
    )
  } catch (error) {
    connection.close()
    throw error
  }
}

export function removeSqliteFile(file: string): void {
  for (const suffix of ['', '-wal', '-shm']) rmSync(`${file}${suffix}`, { force: true })
}
