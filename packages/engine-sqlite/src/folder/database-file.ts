import { existsSync, rmSync } from 'node:fs'
import { StoreDamagedError } from '@tidemark/contracts'
import { raiseCatalogVersion } from '../connection/catalog-rows.ts'
import { numberColumn } from '../connection/column.ts'
import { Connection } from '../connection/connection.ts'
import { DATABASE_SCHEMA, SCHEMA_VERSION } from '../connection/schema.ts'
import { withStoreErrors } from '../connection/sqlite-error.ts'
import { newerSchema } from './database-catalog.ts'

/** Rows of `meta` of processes that write with relaxed durability: name prefix, value = boot id. */
const RELAXED = 'relaxed:'
/**
 * LSNs that a new epoch skips: more than a crash can have lost of those that were given out but not
 * yet durable (engine findings, rule 3).
 */
const EPOCH_JUMP: number = 2 ** 20
/** The same for numbers of collections. */
const NUMBER_JUMP = 1000
const LOCK_TIMEOUT_MS = 5000

/** Makes a new, empty database file. Durable when this returns. */
export function createDatabaseFile(file: string): void {
  withConnection(file, 'create', (connection) => {
    connection.exec('PRAGMA journal_mode = WAL')
    connection.exec('PRAGMA synchronous = FULL')
    connection.transaction('BEGIN IMMEDIATE', () => connection.exec(DATABASE_SCHEMA))
  })
}

/**
 * Makes a database file ready for use: checks that it is one, and begins a new epoch if commits may
 * have been lost since it was last open.
 *
 * @throws ERR_STORE_DAMAGED, ERR_STORE_FORMAT, ERR_STORE_IN_USE
 */
export function prepareDatabaseFile(
  file: string,
  use: {
    readonly durability: 'sync' | 'relaxed'
    readonly bootId: string
    readonly processId: string
  },
): void {
  if (!existsSync(file)) throw new StoreDamagedError(`${file} is missing`)
  withConnection(file, 'existing', (connection) => {
    connection.exec('PRAGMA synchronous = FULL')
    const table = connection.get(`SELECT 1 FROM sqlite_schema WHERE name = 'meta'`)
    if (table === undefined) throw new StoreDamagedError(`${file} is damaged: it has no tables`)
    const schema = numberColumn(
      connection.get(`SELECT value FROM meta WHERE name = 'schema'`) ?? [],
      0,
    )
    if (schema > SCHEMA_VERSION) throw newerSchema(file, schema)
    connection.transaction('BEGIN IMMEDIATE', () => {
      beginEpochAfterLoss(connection, use.bootId)
      if (use.durability === 'relaxed') {
        connection.run(
          'INSERT OR REPLACE INTO meta VALUES (?, ?)',
          `${RELAXED}${use.processId}`,
          use.bootId,
        )
      }
    })
  })
}

/** After the last relaxed commit of this process: makes all of them durable and says so. */
export function endRelaxedUse(file: string, processId: string): void {
  withConnection(file, 'existing', (connection) => {
    connection.exec('PRAGMA synchronous = FULL')
    connection.exec('PRAGMA wal_checkpoint(TRUNCATE)')
    connection.run('DELETE FROM meta WHERE name = ?', `${RELAXED}${processId}`)
  })
}

export function removeDatabaseFile(file: string): void {
  for (const suffix of ['', '-wal', '-shm']) rmSync(`${file}${suffix}`, { force: true })
}

/**
 * A process that dies loses nothing, a machine that dies loses what was not synced. So a mark of another
 * boot means that LSNs may have been given out that no longer exist: none of them is given out again.
 */
function beginEpochAfterLoss(connection: Connection, bootId: string): void {
  const lost = connection.run(
    `DELETE FROM meta WHERE name LIKE '${RELAXED}%' AND value <> ?`,
    bootId,
  )
  if (lost === 0) return
  connection.run(
    `UPDATE segment SET lsn = lsn + ${EPOCH_JUMP}, epoch = epoch + 1 WHERE state = 'open'`,
  )
  // Collections may have been lost too, and continuations name them.
  connection.run(`UPDATE meta SET value = value + ${NUMBER_JUMP} WHERE name = 'nextCollection'`)
  raiseCatalogVersion(connection)
}

function withConnection<Result>(
  file: string,
  mode: 'existing' | 'create',
  act: (connection: Connection) => Result,
): Result {
  return withStoreErrors(file, () => {
    const connection = new Connection(file, { timeoutMs: LOCK_TIMEOUT_MS, mode })
    try {
      return act(connection)
    } finally {
      connection.close()
    }
  })
}
