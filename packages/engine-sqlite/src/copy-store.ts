import { closeSync, fsyncSync, openSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { InvalidOptionError, StoreInUseError, systemRandom } from '@tidemark/contracts'
import { textColumn } from './connection/column.ts'
import { Connection } from './connection/connection.ts'
import { removeRelaxedMarks } from './connection/relaxed-marks.ts'
import { withStoreErrors } from './connection/sqlite-error.ts'
import { assertDatabaseFileName, CATALOG_NAME } from './folder/database-catalog.ts'
import { isMarkedDeleted } from './folder/database-file.ts'
import { markCopied } from './folder/file-copies.ts'
import { syncFolder } from './folder/link-into-place.ts'
import { makeFileFor, type StoreAccess } from './store-access.ts'
import { openSqliteFile } from './folder/sqlite-file.ts'
import {
  createMarker,
  makeEmptyFolder,
  readMarker,
  type FoundMarker,
} from './folder/store-folder.ts'

const LOCK_TIMEOUT_MS = 30_000

export interface CopiedStore {
  readonly storeId: string
  readonly databases: readonly string[]
}

/**
 * Copies a store into a missing or empty folder, while any number of processes use it. Each database is copied as of
 * one moment, with all commits before it and none after. The copy is a store with the same identity. The first process
 * that opens it begins an epoch, so that no LSN is used twice. To restore a backup, copy it back.
 *
 * Blocks the thread while it copies a database. Rejects with ERR_INVALID_OPTION (there is no store), ERR_STORE_IN_USE
 * (`to` is not empty), ERR_STORE_FORMAT, ERR_STORE_DAMAGED or ERR_STORE_UNAVAILABLE.
 */
export async function copySqliteStore({
  from,
  to,
}: {
  readonly from: string
  readonly to: string
}): Promise<CopiedStore> {
  const [source, target] = [resolve(from), resolve(to)]
  const { marker, access } = await markerOf(source)
  if (`${target}/`.startsWith(`${source}/`)) {
    throw new StoreInUseError(`${target} is inside the store to copy`)
  }
  await makeEmptyFolder(target, access)
  // Copy the list first: a database that is created meanwhile is not in the copy, and one that is deleted is removed
  // from its list.
  copyFile(source, target, { name: CATALOG_NAME, access })
  const databases = changeCopy(join(target, CATALOG_NAME), (catalog) =>
    listed(catalog, source).filter(({ id, file }) => {
      if (copyDatabase(source, target, { name: file, access })) return true
      catalog.run('DELETE FROM database WHERE id = ?', id)
      return false
    }),
  )
  syncFolder(target)
  // Write it last: an unfinished copy is not a store.
  await createMarker(target, marker, { access, random: systemRandom })
  return { storeId: marker.storeId, databases: databases.map(({ id }) => id) }
}

/**
 * Marks a store as restored from a copy that was made by other means: a snapshot of the volume, or files that were
 * copied over the old ones. The next process that opens each database begins an epoch. Rejects as `copySqliteStore`.
 */
export async function markSqliteStoreRestored(folder: string): Promise<CopiedStore> {
  const source = resolve(folder)
  const { storeId } = (await markerOf(source)).marker
  const databases = changeCopy(join(source, CATALOG_NAME), (catalog) => listed(catalog, source))
  for (const { file } of databases) {
    changeCopy(join(source, file), () => undefined)
  }
  return { storeId, databases: databases.map(({ id }) => id) }
}

async function markerOf(folder: string): Promise<FoundMarker> {
  const found = await readMarker(folder)
  if (found === undefined) throw new InvalidOptionError(`${folder} is not a store`)
  return found
}

interface ListedDatabase {
  readonly id: string
  readonly file: string
}

/** @throws ERR_STORE_DAMAGED when one has a file that does not belong to the store */
function listed(catalog: Connection, folder: string): readonly ListedDatabase[] {
  const databases = catalog
    .all('SELECT id, file FROM database ORDER BY number')
    .map((row) => ({ id: textColumn(row, 0), file: textColumn(row, 1) }))
  for (const each of databases) assertDatabaseFileName(join(folder, CATALOG_NAME), each)
  return databases
}

/** A file to copy, and who can use the copy. */
interface CopiedFile {
  readonly name: string
  readonly access: StoreAccess
}

/** False when it was deleted meanwhile. */
function copyDatabase(source: string, target: string, copied: CopiedFile): boolean {
  const { name } = copied
  const catalog = join(source, CATALOG_NAME)
  const isListed = (): boolean =>
    withStoreErrors(catalog, () => {
      const connection = openSqliteFile(catalog)
      try {
        return listed(connection, source).some(({ file }) => file === name)
      } finally {
        connection.close()
      }
    })
  try {
    copyFile(source, target, copied)
  } catch (error) {
    if (isListed()) throw error
    return false
  }
  const copy = join(target, name)
  if (isMarkedDeleted(copy)) return false
  // It is on disk as a whole.
  changeCopy(copy, removeRelaxedMarks)
  return true
}

/**
 * Copies a file as of one moment, without its log, while writes continue. Durable when this returns, except for its
 * name.
 */
function copyFile(source: string, target: string, { name, access }: CopiedFile): void {
  const [from, to] = [join(source, name), join(target, name)]
  withStoreErrors(from, () => {
    const connection = Connection.open(from, { timeoutMs: LOCK_TIMEOUT_MS })
    try {
      // Into an empty file, because SQLite would create one that all users can read.
      makeFileFor(access, to)
      connection.run('VACUUM INTO ?', to)
    } finally {
      connection.close()
    }
  })
  withStoreErrors(to, () => {
    const copy = Connection.open(to, { timeoutMs: LOCK_TIMEOUT_MS })
    try {
      copy.exec('PRAGMA journal_mode = WAL')
    } finally {
      copy.close()
    }
  })
  const handle = openSync(to, 'r+')
  try {
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
}

/** Marks a file as a copy and makes the other changes, in one transaction. */
function changeCopy<Result>(file: string, act: (connection: Connection) => Result): Result {
  return withStoreErrors(file, () => {
    const connection = openSqliteFile(file)
    try {
      return connection.transaction('BEGIN IMMEDIATE', () => {
        markCopied(connection)
        return act(connection)
      })
    } finally {
      connection.close()
    }
  })
}
