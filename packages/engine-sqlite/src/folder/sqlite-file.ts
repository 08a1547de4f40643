import { existsSync, rmSync } from 'node:fs'
import { StoreDamagedError, StoreFormatError } from '@tidemark/contracts'
import { numberColumn } from '../connection/column.ts'
import { Connection } from '../connection/connection.ts'
import { TABLES_VERSION } from '../connection/schema.ts'
import { makeFileFor, type StoreAccess } from '../store-access.ts'

/** How long opening a file waits for another process, which blocks the thread. */
const LOCK_TIMEOUT_MS = 5000
/** Documents of 1 KB leave a sixth of SQLite's own pages of 4,096 bytes empty: three fit. Of these, seven fit. */
const PAGE_BYTES = 8192

/** Creates a new file with tables. Durable when this returns, except for its name. */
export function createSqliteFile(file: string, tables: string, access: StoreAccess): void {
  makeFileFor(access, file)
  const connection = Connection.open(file, { timeoutMs: LOCK_TIMEOUT_MS })
  try {
    // Before anything is written: a file keeps its page size.
    connection.exec(`PRAGMA page_size = ${PAGE_BYTES}`)
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
  const connection = Connection.open(file, { timeoutMs: LOCK_TIMEOUT_MS })
  try {
    connection.exec('PRAGMA synchronous = FULL')
    assertOnlyTables(connection, file)
    const table = connection.get(`SELECT 1 FROM sqlite_schema WHERE name = 'meta'`)
    if (table === undefined) throw new StoreDamagedError(`${file} is damaged: it has no tables`)
    assertVersion(connection, file)
    return connection
  } catch (error) {
    connection.close()
    throw error
  }
}

/** A file from somewhere else is data: reading a view or a virtual table would run what it says. @throws ERR_STORE_DAMAGED */
function assertOnlyTables(connection: Connection, file: string): void {
  connection.exec('PRAGMA trusted_schema = OFF')
  const other = connection.get(
    `SELECT type || ' ' || name FROM sqlite_schema
     WHERE type = 'view' OR sql LIKE 'CREATE VIRTUAL%' LIMIT 1`,
  )
  if (other === undefined) return
  throw new StoreDamagedError(
    `${file} is damaged: it has the ${String(other[0])}, which no store has`,
  )
}

/** @throws ERR_STORE_FORMAT */
function assertVersion(connection: Connection, file: string): void {
  const row = connection.get(`SELECT value FROM meta WHERE name = 'tables'`)
  // Tables from before the first release have their number under another name.
  const found = row === undefined ? 'of an unreleased version' : numberColumn(row, 0)
  if (found === TABLES_VERSION) return
  const advice =
    row === undefined
      ? 'Nothing converts it: read it with the program that made it, and begin a new folder'
      : 'Use the Tidemark that made it'
  throw new StoreFormatError(
    `${file} has tables ${found}; this program reads version ${TABLES_VERSION}. ${advice}`,
  )
}

export function removeSqliteFile(file: string): void {
  for (const suffix of ['', '-wal', '-shm', '-journal']) rmSync(`${file}${suffix}`, { force: true })
}
