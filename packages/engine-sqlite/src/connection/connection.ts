import process from 'node:process'
import type {
  DatabaseSync,
  DatabaseSyncOptions,
  SQLInputValue,
  SQLOutputValue,
  StatementSync,
} from 'node:sqlite'
import { pathToFileURL } from 'node:url'
import { makeSharedLogs } from './shared-logs.ts'
import { assertPlainFiles } from './assert-plain-files.ts'
import type { Row } from './column.ts'

/** One connection with its prepared statements; rows come as arrays. */
export class Connection {
  readonly #database: DatabaseSync
  readonly #statements = new Map<string, StatementSync>()

  private constructor(database: DatabaseSync) {
    this.#database = database
  }

  /**
   * Opens an existing file and sets its connection settings (decision 0021, rule 7). `timeoutMs` is how long SQLite
   * itself waits for a lock, which blocks the thread.
   */
  static open(file: string, { timeoutMs }: { readonly timeoutMs: number }): Connection {
    assertPlainFiles(file)
    makeSharedLogs(file)
    const url = pathToFileURL(file)
    url.searchParams.set('mode', 'rw')
    const connection = new Connection(openSqlite(url, { timeout: timeoutMs }))
    try {
      connection.exec('PRAGMA cache_size = -16384')
      connection.exec('PRAGMA mmap_size = 4294967296')
      return connection
    } catch (error) {
      connection.close()
      throw error
    }
  }

  /** A new database in the memory of this process, with tables. It ends with the connection. */
  static inMemory(tables: string): Connection {
    const connection = new Connection(openSqlite(':memory:', {}))
    connection.transaction('BEGIN', () => connection.exec(tables))
    return connection
  }

  exec(sql: string): void {
    this.#database.exec(sql)
  }

  /** All rows. */
  all(sql: string, ...values: readonly SQLInputValue[]): readonly Row[] {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- setReturnArrays(true) changes what all() returns, which its type does not say
    return this.#prepare(sql).all(...values) as unknown as SQLOutputValue[][]
  }

  /** The first row. */
  get(sql: string, ...values: readonly SQLInputValue[]): Row | undefined {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- as in all()
    return this.#prepare(sql).get(...values) as unknown as SQLOutputValue[] | undefined
  }

  /** Number of rows changed. */
  run(sql: string, ...values: readonly SQLInputValue[]): number {
    return Number(this.#prepare(sql).run(...values).changes)
  }

  /** Runs `act` in one transaction, and rolls back when it throws. */
  transaction<Result>(begin: 'BEGIN' | 'BEGIN IMMEDIATE', act: () => Result): Result {
    this.#database.exec(begin)
    try {
      const result = act()
      this.#database.exec('COMMIT')
      return result
    } catch (error) {
      this.rollback()
      throw error
    }
  }

  rollback(): void {
    // A failed statement may have ended the transaction already.
    if (this.#database.isTransaction) this.#database.exec('ROLLBACK')
  }

  close(): void {
    this.#statements.clear()
    if (this.#database.isOpen) this.#database.close()
  }

  #prepare(sql: string): StatementSync {
    let statement = this.#statements.get(sql)
    if (statement === undefined) {
      statement = this.#database.prepare(sql)
      statement.setReturnArrays(true)
      this.#statements.set(sql, statement)
    }
    return statement
  }
}

/**
 * Opens a file, or `:memory:`, with Node's own SQLite. It is loaded only here, so that an older Node can load the rest
 * and report what it lacks.
 */
function openSqlite(place: URL | ':memory:', options: DatabaseSyncOptions): DatabaseSync {
  const { DatabaseSync: Database } = process.getBuiltinModule('node:sqlite')
  return new Database(place, options)
}
