import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import {
  ResourceExistsError,
  ResourceNotFoundError,
  StoreDamagedError,
  type Clock,
  type Random,
} from '@tidemark/contracts'
import {
  annotatedDatabase,
  databaseRid,
  recordEtag,
  type DatabaseRecord,
} from '@tidemark/store/engine'
import { numberColumn, textColumn, type Row } from '../connection/column.ts'
import type { Connection } from '../connection/connection.ts'
import { retryWhileBusy } from '../connection/retry-while-busy.ts'
import { CATALOG_TABLES } from '../connection/schema.ts'
import { storeError, withStoreErrors } from '../connection/sqlite-error.ts'
import { createDatabaseFile, isMarkedDeleted, NUMBER_JUMP } from './database-file.ts'
import { noteCopy } from './file-copies.ts'
import { FileIdentity } from '../connection/file-identity.ts'
import { linkIntoPlace, syncFolder, temporaryFile } from './link-into-place.ts'
import { createSqliteFile, openSqliteFile, removeSqliteFile } from './sqlite-file.ts'
import type { StoreAccess } from '../store-access.ts'

export const CATALOG_NAME = 'catalog.sqlite'
/** Rows of `meta` with the annotations of databases: name prefix, then the `_rid`. */
const ANNOTATION = 'annotation:'
/** Rows of `meta` that name the databases whose files may be marked as deleted: name prefix, then the `_rid`. */
const REMOVAL = 'removal:'
/** Rows of `meta` that name files without a database, for the next process to remove: name prefix, then the file. */
const UNUSED = 'unused:'
/** Row of `meta` where the store's clock is ahead of the machine's: the boot, and store time less the machine's monotonic time. */
const CLOCK = 'clock'
const ENTRIES = `SELECT d.id, d.rid, d.etag, d.ts, d.file, m.value, r.name
  FROM database d LEFT JOIN meta m ON m.name = '${ANNOTATION}' || d.rid
  LEFT JOIN meta r ON r.name = '${REMOVAL}' || d.rid`
const DATABASE_FILE_NAME: RegExp = /^db-[0-9a-f]+\.sqlite$/

export interface CatalogEntry {
  readonly record: DatabaseRecord
  /** The name of its file in the folder, from the list. Open it only as `fileOf` returns it. */
  readonly file: string
}

export interface CatalogOptions {
  readonly storeId: string
  /** For new files. */
  readonly access: StoreAccess
  readonly clock: Clock
  readonly random: Random
}

/**
 * The list of a folder's databases. A database exists while it is listed and its file is not marked as deleted. A
 * process that dies while it creates or deletes one leaves a note here, and the next process that opens the folder
 * finishes the work.
 */
export class DatabaseCatalog {
  readonly #folder: string
  readonly #file: string
  readonly #storeId: string
  readonly #access: StoreAccess
  readonly #connection: Connection
  readonly #identity: FileIdentity

  private constructor(folder: string, { storeId, access }: CatalogOptions, connection: Connection) {
    this.#folder = folder
    this.#file = join(folder, CATALOG_NAME)
    this.#storeId = storeId
    this.#access = access
    this.#connection = connection
    this.#identity = new FileIdentity(this.#file)
  }

  /** Rejects with ERR_STORE_DAMAGED when there are databases but no list of them. */
  static async open(folder: string, options: CatalogOptions): Promise<DatabaseCatalog> {
    const { access, clock, random } = options
    const file = join(folder, CATALOG_NAME)
    try {
      // In this order: another process that is creating the store now writes its catalog first.
      const databases = readdirSync(folder).some((name) => DATABASE_FILE_NAME.test(name))
      if (!existsSync(file)) {
        if (databases) {
          throw new StoreDamagedError(`${file} is missing, but the folder has databases`)
        }
        await createCatalog(folder, file, { access, random })
      }
      // Another process may have created these files just now, and may be about to create the list.
      syncFolder(folder)
      const connection = await retryWhileBusy(clock, () => openCatalog(file))
      return new DatabaseCatalog(folder, options, connection)
    } catch (error) {
      throw storeError(error, file)
    }
  }

  list(): readonly CatalogEntry[] {
    const rows = this.#read(() => this.#connection.all(`${ENTRIES} ORDER BY d.number`))
    return rows.filter((row) => !this.#isDeleted(row)).map(catalogEntry)
  }

  find(id: string): CatalogEntry | undefined {
    const row = this.#read(() => this.#connection.get(`${ENTRIES} WHERE d.id = ?`, id))
    return row && !this.#isDeleted(row) ? catalogEntry(row) : undefined
  }

  /** Store time less the machine's monotonic time, as a process of this boot noted it. */
  notedClock(bootId: string): number | undefined {
    const row = this.#read(() =>
      this.#connection.get('SELECT value FROM meta WHERE name = ?', CLOCK),
    )
    const [boot, aheadMs] = row === undefined ? [] : textColumn(row, 0).split(' ')
    return boot === bootId ? Number(aheadMs) : undefined
  }

  noteClock(bootId: string, aheadMs: number): void {
    const value = `${bootId} ${aheadMs}`
    this.#write(() =>
      this.#connection.run('INSERT OR REPLACE INTO meta VALUES (?, ?)', CLOCK, value),
    )
  }

  /**
   * The path of a database's file. A folder can come from anywhere, so the list is refused when it names a file that is
   * not a database of this folder, or belongs to another database.
   *
   * @throws ERR_STORE_DAMAGED
   */
  fileOf({ record: { id }, file }: CatalogEntry): string {
    assertDatabaseFileName(this.#file, { id, file })
    if (this.#read(() => this.#namesOf(file)) > 1) {
      throw new StoreDamagedError(`${this.#file} gives database ${id} the file of another, ${file}`)
    }
    return join(this.#folder, file)
  }

  /**
   * Creates a database with its file: both or, after any failure, none.
   *
   * @throws ERR_EXISTS, ERR_STORE_IN_USE, ERR_STORE_UNAVAILABLE
   */
  create(
    id: string,
    file: string,
    about: { readonly ts: number; readonly annotation: string | undefined },
  ): DatabaseRecord {
    let record: DatabaseRecord | undefined
    try {
      while (record === undefined) {
        this.#write(() => {
          this.#assertFree(id)
          this.#connection.run('INSERT OR IGNORE INTO meta VALUES (?, 1)', `${UNUSED}${file}`)
        })
        record = this.#write(() => this.#makeNoted(id, file, about))
      }
      return record
    } catch (error) {
      this.removeUnused()
      throw error
    }
  }

  /** Undefined when a process that opened the folder removed the note because it assumed that this process had died. */
  #makeNoted(
    id: string,
    file: string,
    about: { readonly ts: number; readonly annotation: string | undefined },
  ): DatabaseRecord | undefined {
    this.#assertFree(id)
    if (this.#connection.run('DELETE FROM meta WHERE name = ?', `${UNUSED}${file}`) === 0) return
    // Under the catalog's lock, no process removes it. The file comes first: a listed database is complete.
    createDatabaseFile(join(this.#folder, file), this.#access)
    syncFolder(this.#folder)
    return this.#add(id, file, about)
  }

  #add(
    id: string,
    file: string,
    { ts, annotation }: { readonly ts: number; readonly annotation: string | undefined },
  ): DatabaseRecord {
    const number = numberColumn(
      this.#connection.get(`SELECT value FROM meta WHERE name = 'nextDatabase'`) ?? [],
      0,
    )
    const rid = databaseRid(this.#storeId, number)
    const record: DatabaseRecord = { id, rid, etag: recordEtag(rid, ts), ts }
    this.#connection.run(`UPDATE meta SET value = ? WHERE name = 'nextDatabase'`, number + 1)
    this.#connection.run(
      'INSERT INTO database VALUES (?, ?, ?, ?, ?, ?)',
      number,
      id,
      rid,
      record.etag,
      ts,
      file,
    )
    if (annotation === undefined) return record
    this.#keepAnnotation(rid, annotation)
    return { ...record, annotation }
  }

  /** @throws ERR_NOT_FOUND, also when another database has the name; ERR_PRECONDITION_FAILED */
  annotate(
    { id, rid }: DatabaseRecord,
    annotation: string,
    when: { readonly nowMs: number; readonly ifMatch: string | undefined },
  ): DatabaseRecord {
    return this.#write(() => {
      const present = this.find(id)?.record
      if (present?.rid !== rid) throw new ResourceNotFoundError('database', id)
      const changed = annotatedDatabase(present, annotation, when)
      const { etag, ts } = changed
      this.#connection.run('UPDATE database SET etag = ?, ts = ? WHERE rid = ?', etag, ts, rid)
      this.#keepAnnotation(rid, annotation)
      return changed
    })
  }

  /** Call it before a database's file is marked as deleted. From now on, processes look for the mark. */
  beginRemoval({ record }: CatalogEntry): void {
    this.#write(() =>
      this.#connection.run('INSERT OR IGNORE INTO meta VALUES (?, 1)', `${REMOVAL}${record.rid}`),
    )
  }

  /** Removes a database from the list, and then its file. */
  endRemoval(entry: CatalogEntry): void {
    this.#write(() => this.#unlist(entry))
    this.removeUnused()
  }

  /**
   * Finishes the work of processes that died. What cannot be done now is left to the next process that opens the
   * folder.
   */
  finishRemovals(): void {
    try {
      const deleted = this.#connection.all(ENTRIES).filter((row) => this.#isDeleted(row))
      for (const row of deleted) this.endRemoval(catalogEntry(row))
      this.removeUnused()
    } catch {
      // These databases are no longer visible, and their files do no harm.
    }
  }

  /** Under the catalog's lock, so that no other process is creating one of these files at the same time. */
  removeUnused(): void {
    const noted = `SELECT name FROM meta WHERE name LIKE '${UNUSED}%'`
    try {
      if (this.#connection.get(noted) === undefined) return
      this.#write(() => {
        for (const row of this.#connection.all(noted)) {
          const name = textColumn(row, 0)
          const file = name.slice(UNUSED.length)
          const isUnused = DATABASE_FILE_NAME.test(file) && this.#namesOf(file) === 0
          if (isUnused) removeSqliteFile(join(this.#folder, file))
          this.#connection.run('DELETE FROM meta WHERE name = ?', name)
        }
      })
    } catch {
      // The note stays. Windows, for example, cannot remove a file that another process has open.
    }
  }

  close(): void {
    this.#connection.close()
  }

  /** @throws ERR_EXISTS */
  #assertFree(id: string): void {
    const row = this.#connection.get(`${ENTRIES} WHERE d.id = ?`, id)
    if (row === undefined) return
    if (!this.#isDeleted(row)) throw new ResourceExistsError('database', id)
    this.#unlist(catalogEntry(row))
  }

  #unlist({ record, file }: CatalogEntry): void {
    // By its number in the store: another database may have the name by now.
    if (this.#connection.run('DELETE FROM database WHERE rid = ?', record.rid) === 0) return
    for (const prefix of [ANNOTATION, REMOVAL]) {
      this.#connection.run('DELETE FROM meta WHERE name = ?', `${prefix}${record.rid}`)
    }
    this.#connection.run('INSERT OR IGNORE INTO meta VALUES (?, 1)', `${UNUSED}${file}`)
  }

  #isDeleted(row: Row): boolean {
    if (row[6] === null) return false
    const { file } = catalogEntry(row)
    return DATABASE_FILE_NAME.test(file) && isMarkedDeleted(join(this.#folder, file))
  }

  /** Number of listed databases with this file. */
  #namesOf(file: string): number {
    const row = this.#connection.get('SELECT count(*) FROM database WHERE file = ?', file) ?? []
    return numberColumn(row, 0)
  }

  #keepAnnotation(rid: string, annotation: string): void {
    this.#connection.run(
      'INSERT OR REPLACE INTO meta VALUES (?, ?)',
      `${ANNOTATION}${rid}`,
      annotation,
    )
  }

  #read<Result>(act: () => Result): Result {
    return withStoreErrors(this.#file, () => {
      this.#identity.assertSame()
      return act()
    })
  }

  #write<Result>(act: () => Result): Result {
    return withStoreErrors(this.#file, () =>
      this.#connection.transaction('BEGIN IMMEDIATE', () => {
        const result = act()
        this.#identity.assertSame()
        return result
      }),
    )
  }
}

/** @throws ERR_STORE_DAMAGED for a name that no database's file can have */
export function assertDatabaseFileName(
  catalog: string,
  { id, file }: { readonly id: string; readonly file: string },
): void {
  if (DATABASE_FILE_NAME.test(file)) return
  throw new StoreDamagedError(
    `${catalog} gives database ${id} the file ${JSON.stringify(file)}, which does not belong to the store`,
  )
}

/** A copy may have lost databases, and continuations contain their numbers. */
function openCatalog(file: string): Connection {
  const connection = openSqliteFile(file)
  try {
    connection.transaction('BEGIN', () => {
      if (!noteCopy(connection, file)) return
      connection.run(`UPDATE meta SET value = value + ${NUMBER_JUMP} WHERE name = 'nextDatabase'`)
    })
    return connection
  } catch (error) {
    connection.close()
    throw error
  }
}

/** Of several concurrent processes, one creates it: concurrent changes of a file's journal mode are not safe. */
async function createCatalog(
  folder: string,
  file: string,
  { access, random }: { readonly access: StoreAccess; readonly random: Random },
): Promise<void> {
  const temporary = temporaryFile(folder, random)
  try {
    createSqliteFile(temporary, CATALOG_TABLES, access)
    await linkIntoPlace(temporary, file)
  } finally {
    removeSqliteFile(temporary)
  }
}

function catalogEntry(row: Row): CatalogEntry {
  const isAnnotated = row[5] !== null
  return {
    record: {
      id: textColumn(row, 0),
      rid: textColumn(row, 1),
      etag: textColumn(row, 2),
      ts: numberColumn(row, 3),
      ...(isAnnotated && { annotation: textColumn(row, 5) }),
    },
    file: textColumn(row, 4),
  }
}
