import type { Clock } from '@tidemark/contracts'
import { isDropped, readCatalog } from '../connection/catalog-rows.ts'
import { raiseCatalogVersion } from '../connection/head.ts'
import type { Connection } from '../connection/connection.ts'
import { removeMarksOfOtherBoots } from '../connection/relaxed-marks.ts'
import { retryWhileBusy } from '../connection/retry-while-busy.ts'
import { DATABASE_TABLES } from '../connection/schema.ts'
import { storeError } from '../connection/sqlite-error.ts'
import { beginEpochOfMessages, skipMessageNumbers } from '../messages/begin-message-epoch.ts'
import { rollSegment } from '../writer/range-writes.ts'
import { noteCopy } from './file-copies.ts'
import { createSqliteFile, openSqliteFile } from './sqlite-file.ts'
import type { StoreAccess } from '../store-access.ts'

/**
 * LSNs that a new epoch skips: more than a crash can lose of those that were used but not yet durable (decision 0033).
 */
const EPOCH_JUMP: number = 2 ** 20
/** The same for numbers of collections and databases. */
export const NUMBER_JUMP = 1000

/** Creates a new, empty database file. Durable when this returns, except for its name. */
export function createDatabaseFile(file: string, access: StoreAccess): void {
  try {
    createSqliteFile(file, DATABASE_TABLES, access)
  } catch (error) {
    throw storeError(error, file)
  }
}

/** Whether a file belongs to a deleted database. False for a file that cannot be read now. */
export function isMarkedDeleted(file: string): boolean {
  try {
    const connection = openSqliteFile(file)
    try {
      return isDropped(connection)
    } finally {
      connection.close()
    }
  } catch {
    return false
  }
}

/**
 * Makes a database file ready for use. Checks that it is one, and begins a new epoch if it is a copy, or if commits may
 * have been lost since it was last open.
 */
export async function prepareDatabaseFile(
  file: string,
  use: { readonly bootId: string; readonly clock: Clock },
): Promise<void> {
  await withDatabaseFile(file, use.clock, (connection) =>
    connection.transaction('BEGIN IMMEDIATE', () => {
      beginEpochAfterLoss(connection, use.bootId)
      if (noteCopy(connection, file)) beginEpochOfCopy(connection, use.clock.wallMs())
    }),
  )
}

/**
 * When a process dies, nothing is lost. When a machine dies, everything that was not synced is lost. So a mark of
 * another boot means that used LSNs may no longer exist. None of them is used again.
 */
function beginEpochAfterLoss(connection: Connection, bootId: string): void {
  if (!removeMarksOfOtherBoots(connection, bootId)) return
  connection.run(
    `UPDATE segment SET lsn = lsn + ${EPOCH_JUMP}, epoch = epoch + 1 WHERE state = 'open'`,
  )
  skipMessageNumbers(connection)
  skipCollectionNumbers(connection)
}

/**
 * It is unknown which numbers the store used after the copy was made. So the counters continue at the microseconds
 * since 1970, which is above all of them: no range takes a million commits a second, and an earlier epoch began at an
 * earlier time.
 */
function beginEpochOfCopy(connection: Connection, nowMs: number): void {
  for (const [collection, { ranges }] of readCatalog(connection).collections) {
    for (const range of ranges) {
      const open = range.segments.find(({ id }) => id === range.segment)
      // Slots do not reach that far.
      if (open !== undefined && open.lsn > open.base) rollSegment(connection, { collection, range })
    }
  }
  const atLeast = Math.floor(nowMs * 1000)
  connection.run(
    `UPDATE segment SET base = max(lsn + ${EPOCH_JUMP}, ?), lsn = max(lsn + ${EPOCH_JUMP}, ?), epoch = epoch + 1
     WHERE state = 'open'`,
    atLeast,
    atLeast,
  )
  beginEpochOfMessages(connection, nowMs)
  skipCollectionNumbers(connection)
}

/** Collections may have been lost too, and continuations name them. */
function skipCollectionNumbers(connection: Connection): void {
  connection.run(`UPDATE meta SET value = value + ${NUMBER_JUMP} WHERE name = 'nextCollection'`)
  raiseCatalogVersion(connection)
}

async function withDatabaseFile<Result>(
  file: string,
  clock: Clock,
  act: (connection: Connection) => Result,
): Promise<Result> {
  try {
    return await retryWhileBusy(clock, () => {
      const connection = openSqliteFile(file)
      try {
        return act(connection)
      } finally {
        connection.close()
      }
    })
  } catch (error) {
    throw storeError(error, file)
  }
}
