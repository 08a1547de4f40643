import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import {
  ResourceExistsError,
  ResourceNotFoundError,
  StoreDamagedError,
  type Clock,
  type Random,
} from '@tidemark/contracts'
import { annotatedDatabase, databaseRid, recordEtag, type DatabaseRecord } from '@tidemark/store'
import { numberColumn, textColumn, type Row } from '../connection/column.ts'
import type { Connection } from '../connection/connection.ts'
import { retryWhileBusy } from '../connection/retry-while-busy.ts'
import { CATALOG_FILE, CATALOG_TABLES } from '../connection/schema.ts'
import { storeError, withStoreErrors } from '../connection/sqlite-error.ts'
import { linkIntoPlace, temporaryFile } from './link-into-place.ts'
import { createSqliteFile, openSqliteFile, removeSqliteFile } from './sqlite-file.ts'

const CATALOG_NAME = 'catalog.sqlite'
/** Rows of `meta` that hold databases' annotations: name prefix, then the `_rid`. */
const ANNOTATION = 'annotation:'
const ENTRIES = `SELECT d.id, d.rid, d.etag, d.ts, d.file, m.value
  FROM database d LEFT JOIN meta m ON m.name = '${ANNOTATION}' || d.rid`
const DATABASE_FILE = /^db-[0-9a-f]+\.sqlite$/

export interface CatalogEntry {
  readonly record: DatabaseRecord
  /** Name of its file in the folder. */
  readonly file: string
}

/** The list of a folder's databases. */
export class DatabaseCatalog {
  readonly #file: string
  readonly #storeId: string
  readonly #connection: Connection

  private constructor(file: string, storeId: string, connection: Connection) {
    this.#file = file
    this.#storeId = storeId
    this.#connection = connection
  }

  /** Rejects with ERR_STORE_DAMAGED when databases are there and the list of them is not. */
  static async open(
    folder: string,
    {
      storeId,
      clock,
      random,
    }: { readonly storeId: string; readonly clock: Clock; readonly random: Random },
  ): Promise<DatabaseCatalog> {
    const file = join(folder, CATALOG_NAME)
    try {
      // In this order: another process that is making the store now writes its catalog first.
      const databases = readdirSync(folder).some((name) => DATABASE_FILE.test(name))
      if (!existsSync(file)) {
        if (databases) {
          throw new StoreDamagedError(`${file} is missing, but there are databases beside it`)
        }
        await createCatalog(folder, file, random)
      }
      const connection = await retryWhileBusy(clock, () => openSqliteFile(file, CATALOG_FILE))
      return new DatabaseCatalog(file, storeId, connection)
    } catch (error) {
      throw storeError(error, file)
    }
  }

  list(): readonly CatalogEntry[] {
    return withStoreErrors(this.#file, () =>
      this.#connection.all(`${ENTRIES} ORDER BY d.number`).map(catalogEntry),
    )
  }

  find(id: string): CatalogEntry | undefined {
    return withStoreErrors(this.#file, () => {
      const row = this.#connection.get(`${ENTRIES} WHERE d.id = ?`, id)
      return row && catalogEntry(row)
    })
  }

  /** @throws ERR_EXISTS */
  add(
    id: string,
    file: string,
    { ts, annotation }: { readonly ts: number; readonly annotation: string | undefined },
  ): DatabaseRecord {
    return this.#write(() => {
      if (this.find(id) !== undefined) throw new ResourceExistsError('database', id)
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
    })
  }

  /** @throws ERR_NOT_FOUND, also when another database has the name; ERR_PRECONDITION_FAILED */
  annotate(
    { id, rid }: DatabaseRecord,
    annotation: string,
    when: { readonly nowMs: number; readonly ifEtag: string | undefined },
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

  /** @throws ERR_NOT_FOUND */
  remove(id: string): void {
    this.#write(() => {
      const present = this.find(id)?.record
      if (present === undefined) throw new ResourceNotFoundError('database', id)
      this.#connection.run('DELETE FROM database WHERE id = ?', id)
      this.#connection.run('DELETE FROM meta WHERE name = ?', `${ANNOTATION}${present.rid}`)
    })
  }

  close(): void {
    this.#connection.close()
  }

  #keepAnnotation(rid: string, annotation: string): void {
    this.#connection.run(
      'INSERT OR REPLACE INTO meta VALUES (?, ?)',
      `${ANNOTATION}${rid}`,
      annotation,
    )
  }

  #write<Result>(act: () => Result): Result {
    return withStoreErrors(this.#file, () => this.#connection.transaction('BEGIN IMMEDIATE', act))
  }
}

/** One of the processes that do this at once makes it; setting a file's journal mode is not safe among many. */
async function createCatalog(folder: string, file: string, random: Random): Promise<void> {
  const temporary = temporaryFile(folder, random)
  try {
    createSqliteFile(temporary, CATALOG_TABLES)
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
