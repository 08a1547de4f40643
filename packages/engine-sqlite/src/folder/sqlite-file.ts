import { existsSync, rmSync } from 'node:fs'
import { StoreDamagedError, StoreFormatError } from '@tidemark/contracts'
import { numberColumn } from '../connection/column.ts'
import { Connection } from '../connection/connection.ts'
import type { FileSchema } from '../connection/schema.ts'
import { makeFileFor, type StoreAccess } from './store-access.ts'

/** How long opening a file waits for another process, which blocks the thread. */
const LOCK_TIMEOUT_MS = 5000

/** Creates a new file with tables. Durable when this returns, except for its name. */
export function createSqliteFile(file: string, tables: string, access: StoreAccess): void {
  makeFileFor(access, file)
  const connection = new Connection(file, { timeoutMs: LOCK_TIMEOUT_MS })
  try {
    connection.exec('PRAGMA journal_mode = WAL')
    connection.exec('PRAGMA synchronous = FULL')
    connection.transaction('BEGIN IMMEDIATE', () => connection.exec(tables))
  } finally {
    connection.close()
  }
}

/**
 * Opens a file that `createSqliteFile` made, for durable changes. Migrates tables of an older version; older programs
 * then no longer open the file.
 *
 * @throws ERR_STORE_DAMAGED, ERR_STORE_FORMAT, or as SQLite does
 */
export function openSqliteFile(file: string, schema: FileSchema): Connection {
  if (!existsSync(file)) throw new StoreDamagedError(`${file} is missing`)
  const connection = new Connection(file, { timeoutMs: LOCK_TIMEOUT_MS })
  try {
    connection.exec('PRAGMA synchronous = FULL')
    assertOnlyTables(connection, file)
    const table = connection.get(`SELECT 1 FROM sqlite_schema WHERE name = 'meta'`)
    if (table === undefined) throw new StoreDamagedError(`${file} is damaged: it has no tables`)
    if (versionOf(connection) !== schema.version) migrate(connection, file, schema)
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

/** All steps or none. Another process may be faster. */
function migrate(connection: Connection, file: string, { version, steps }: FileSchema): void {
  connection.transaction('BEGIN IMMEDIATE', () => {
    for (let from = versionOf(connection); from !== version; from++) {
      const step = steps.get(from)
      if (step === undefined) {
        const advice =
          from > version ? 'Use a newer Tidemark' : 'It was made by an unreleased version'
        throw new StoreFormatError(
          `${file} has schema ${from}; this version reads ${version}. ${advice}`,
        )
      }
      connection.exec(step)
      connection.run(`UPDATE meta SET value = ? WHERE name = 'schema'`, from + 1)
    }
  })
}

function versionOf(connection: Connection): number {
  return numberColumn(connection.get(`SELECT value FROM meta WHERE name = 'schema'`) ?? [], 0)
}

export function removeSqliteFile(file: string): void {
  for (const suffix of ['', '-wal', '-shm', '-journal']) rmSync(`${file}${suffix}`, { force: true })
}
