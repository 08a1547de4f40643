import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import {
  ResourceExistsError,
  ResourceNotFoundError,
  StoreDamagedError,
  StoreFormatError,
} from '@tidemark/contracts'
import { databaseRid, recordEtag, type DatabaseRecord } from '@tidemark/store'
import { numberColumn, textColumn, type Row } from '../connection/column.ts'
import { Connection } from '../connection/connection.ts'
import { CATALOG_SCHEMA, SCHEMA_VERSION } from '../connection/schema.ts'
import { withStoreErrors } from '../connection/sqlite-error.ts'

const CATALOG_FILE = 'catalog.sqlite'
const DATABASE_FILE = /^db-[0-9a-f]+\.sqlite$/
/** Catalog writes are rare and short; this thread may wait for another process' one. */
const LOCK_TIMEOUT_MS = 5000

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

  /** @throws ERR_STORE_DAMAGED when databases are there and the list of them is not */
  constructor(folder: string, storeId: string) {
    this.#file = join(folder, CATALOG_FILE)
    this.#storeId = storeId
    // In this order: another process that is making the store now writes its catalog first.
    if (readdirSync(folder).some((name) => DATABASE_FILE.test(name)) && !existsSync(this.#file)) {
      throw new StoreDamagedError(`${this.#file} is missing, but there are databases beside it`)
    }
    this.#connection = withStoreErrors(this.#file, () => this.#open())
  }

  list(): readonly CatalogEntry[] {
    return withStoreErrors(this.#file, () =>
      this.#connection
        .all('SELECT id, rid, etag, ts, file FROM database ORDER BY number')
        .map(catalogEntry),
    )
  }

  find(id: string): CatalogEntry | undefined {
    return withStoreErrors(this.#file, () => {
      const row = this.#connection.get(
        'SELECT id, rid, etag, ts, file FROM database WHERE id = ?',
        id,
      )
      return row && catalogEntry(row)
    })
  }

  /** @throws ERR_EXISTS */
  add(id: string, file: string, ts: number): DatabaseRecord {
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
      return record
    })
  }

  /** @throws ERR_NOT_FOUND */
  remove(id: string): void {
    this.#write(() => {
      if (this.#connection.run('DELETE FROM database WHERE id = ?', id) === 0) {
        throw new ResourceNotFoundError('database', id)
      }
    })
  }

  close(): void {
    this.#connection.close()
  }

  #open(): Connection {
    const connection = new Connection(this.#file, { timeoutMs: LOCK_TIMEOUT_MS, mode: 'create' })
    try {
      connection.exec('PRAGMA journal_mode = WAL')
      connection.exec('PRAGMA synchronous = FULL')
      connection.transaction('BEGIN IMMEDIATE', () => {
        const made = connection.get(`SELECT 1 FROM sqlite_schema WHERE name = 'meta'`)
        if (made === undefined) connection.exec(CATALOG_SCHEMA)
      })
      const schema = numberColumn(
        connection.get(`SELECT value FROM meta WHERE name = 'schema'`) ?? [],
        0,
      )
      if (schema > SCHEMA_VERSION) throw newerSchema(this.#file, schema)
      return connection
    } catch (error) {
      connection.close()
      throw error
    }
  }

  #write<Result>(act: () => Result): Result {
    return withStoreErrors(this.#file, () => this.#connection.transaction('BEGIN IMMEDIATE', act))
  }
}

export function newerSchema(file: string, schema: number): StoreFormatError {
  return new StoreFormatError(
    `${file} has schema ${schema}; this version reads up to ${SCHEMA_VERSION}. Use a newer Tidemark`,
  )
}

function catalogEntry(row: Row): CatalogEntry {
  return {
    record: {
      id: textColumn(row, 0),
      rid: textColumn(row, 1),
      etag: textColumn(row, 2),
      ts: numberColumn(row, 3),
    },
    file: textColumn(row, 4),
  }
}
