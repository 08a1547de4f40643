import type { DatabaseSync, SQLInputValue, SQLOutputValue, StatementSync } from 'node:sqlite'
import { pathToFileURL } from 'node:url'
import { assertPlainFiles } from './assert-plain-files.ts'
import { openFile } from './open-file.ts'
import type { Row } from './column.ts'

/** One connection with its prepared statements; rows come as arrays. */
export class Connection {
  readonly #database: DatabaseSync
  readonly #statements = new Map<string, StatementSync>()

  /**
   * Opens an existing file and sets its connection settings (decision 0021, rule 7). `timeoutMs` is how long SQLite
   * itself waits for a lock, which blocks the thread.
   */
  constructor(file: string, { timeoutMs }: { readonly timeoutMs: number }) {
    assertPlainFiles(file)
    const url = pathToFileURL(file)
    url.searchParams.set('mode', 'rw')
    this.#database = openFile(url, { timeout: timeoutMs })
    try {
      this.#database.exec('PRAGMA cache_size = -16384')
      this.#database.exec('PRAGMA mmap_size = 4294967296')
    } catch (error) {
      this.#database.close()
      throw error
    }
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
