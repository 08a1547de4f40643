import { errorCode, type DocumentBody, type Stored } from '@tidemark/contracts'
import {
  checkOptions,
  option,
  optionHaving,
  optionRule,
  requiredOption,
} from '@tidemark/contracts/internal'
import { newestEntries, type SinkEntry } from '../sink-entry.ts'
import { SinkRefusedError } from '../sink-refused-error.ts'
import { SinkTargetError } from '../sink-target-error.ts'
import { SinkUnavailableError } from '../sink-unavailable-error.ts'
import type { Sink, SinkContext, SinkSource } from '../sink.ts'
import { withinSignal } from '../within-signal.ts'
import {
  FIND_TABLE,
  bindingStatements,
  postgresStatements,
  type PostgresStatements,
} from './postgres-statements.ts'

/** What the sink needs of a `pg` Pool or Client. */
export interface PostgresQueries {
  query(text: string, values?: unknown[]): Promise<{ readonly rows: readonly unknown[] }>
}

/** One column of the table. */
export interface PostgresColumn<T extends DocumentBody> {
  /** Of SQL, such as `numeric`, `timestamptz`, `text[]` or `jsonb`. */
  readonly type: string
  /**
   * What stands there for a document; undefined is NULL. It goes as JSON: a text for dates, a list for arrays. What it
   * throws refuses the change.
   */
  readonly value: (document: Stored<T>) => unknown
}

export interface PostgresSinkOptions<T extends DocumentBody> {
  /** A `pg` Pool, or a Client that nobody else uses. The sink does not end it. */
  readonly pool: PostgresQueries
  /** Its name, with its schema if that is not in the search path: `reports.orders`. Quoted for you. */
  readonly table: string
  /**
   * The columns of the table besides those of the key and the version, by name.
   * @default one column, `document` of type `jsonb`, with the whole document
   */
  readonly columns?: Readonly<Record<string, PostgresColumn<T>>> | undefined
  /**
   * Creates the table if it is missing. Without it, the table must be there, with the columns and the primary key that
   * docs/guide/sinks.md names. @default true
   */
  readonly create?: boolean | undefined
}

/**
 * Keeps one row for each document in a table of PostgreSQL. **Never goes back**: a row is changed only by a higher (epoch, LSN),
 * and a deleted document leaves a row with `deleted_at`, so that whatever is late, repeated or out of order changes
 * nothing. A batch is one statement: all of it, or none. Rows are as durable as the server's commits are.
 *
 * Rejects with ERR_SINK_TARGET when the table cannot be used, ERR_SINK_REFUSED naming a document that does not fit its columns,
 * and ERR_SINK_UNAVAILABLE for everything else that the server or the connection says.
 *
 * @throws ERR_INVALID_OPTION naming the option
 */
export function postgresSink<T extends DocumentBody>(
  options: PostgresSinkOptions<T>,
): Sink<SinkEntry<T>> {
  checkOptions(options, {
    pool: requiredOption(optionHaving('a pg Pool or Client', 'query')),
    table: requiredOption(option.text),
    columns: optionRule('an object of columns, each with a type and a function value', areColumns),
    create: option.flag,
  })
  return new PostgresSink(options)
}

interface Row<T extends DocumentBody> {
  readonly entry: SinkEntry<T>
  readonly text: string
}

class PostgresSink<T extends DocumentBody> implements Sink<SinkEntry<T>> {
  readonly ordersVersions = true
  readonly #options: PostgresSinkOptions<T>
  readonly #statements: PostgresStatements
  readonly #columns: readonly (readonly [string, PostgresColumn<T>])[]

  constructor(options: PostgresSinkOptions<T>) {
    const whole = { type: 'jsonb', value: (document: Stored<T>) => document }
    this.#options = options
    this.#columns = Object.entries(options.columns ?? { document: whole })
    this.#statements = postgresStatements(
      options.table,
      this.#columns.map(([name, { type }]) => ({ name, type })),
    )
  }

  async open(
    { identity, description }: SinkSource,
    { signal }: { readonly signal?: AbortSignal | undefined } = {},
  ): Promise<void> {
    const { table, create = true } = this.#options
    const statements = this.#statements
    try {
      if (create) await this.#create(statements.create, signal)
      // Says whether table, columns, key and rights are there.
      await this.#query(statements.upsert, ['[]'], signal)
      // Whatever the program calls it, it is one table.
      const [found] = await this.#query(FIND_TABLE, [statements.target], signal)
      const [schema, name] = [property(found, 'schema'), property(found, 'name')]
      const binding = bindingStatements(schema)
      if (create) await this.#create(binding.create, signal)
      const values = [name, identity, `${schema}.${name}`]
      const bound = await this.#query(binding.bind, values, signal)
      const other = bound.map((row) => property(row, 'feed')).find((feed) => feed !== identity)
      if (other === undefined) return
      throw new SinkTargetError(
        `table ${schema}.${name} is filled from feed ${other}, and ${description} is ${identity}: ` +
          'their versions cannot be compared',
      )
    } catch (cause) {
      const state = errorCode(cause)
      if (cause instanceof SinkTargetError || signal?.aborted === true) throw cause
      if (state === undefined || !TARGET_STATES.test(state)) throw this.#unavailable(cause)
      throw new SinkTargetError(`table ${table} cannot be used: ${messageOf(cause)}`, { cause })
    }
  }

  async write(batch: readonly SinkEntry<T>[], { signal }: SinkContext): Promise<void> {
    const rows: Row<T>[] = []
    const refused: SinkRefusedError[] = []
    for (const entry of newestEntries(batch)) {
      const text = this.#textOf(entry)
      if (typeof text === 'string') rows.push({ entry, text })
      else refused.push(text)
    }
    if (rows.length > 0) refused.push(...(await this.#apply(rows, signal)))
    const [first] = refused
    if (first !== undefined) throw first
  }

  /** All in one statement. If one of them does not fit, the halves, until it is known which. */
  async #apply(rows: readonly Row<T>[], signal: AbortSignal): Promise<readonly SinkRefusedError[]> {
    try {
      await this.#query(
        this.#statements.upsert,
        [`[${rows.map(({ text }) => text).join()}]`],
        signal,
      )
      return []
    } catch (cause) {
      if (signal.aborted) throw signal.reason
      const state = errorCode(cause) ?? ''
      if (!DATA_STATES.test(state)) throw this.#unavailable(cause)
      const [only, next] = rows
      if (only === undefined) throw cause
      if (next === undefined) return [new SinkRefusedError(only.entry, messageOf(cause), { cause })]
      const half = Math.ceil(rows.length / 2)
      return [
        ...(await this.#apply(rows.slice(0, half), signal)),
        ...(await this.#apply(rows.slice(half), signal)),
      ]
    }
  }

  /** The row as JSON, or why it cannot be made. */
  #textOf(entry: SinkEntry<T>): string | SinkRefusedError {
    const { partitionKeyText, id, epoch, lsn, operation, document } = entry
    const key = { partition_key: partitionKeyText, id, epoch, lsn }
    if (operation === 'delete' || document === undefined) {
      return JSON.stringify({ ...key, deleted: true })
    }
    try {
      const values = this.#columns.map(([name, { value }]) => [name, value(document)] as const)
      return JSON.stringify({ ...Object.fromEntries<unknown>(values), ...key, deleted: false })
    } catch (cause) {
      return new SinkRefusedError(entry, `a column's value could not be made`, { cause })
    }
  }

  async #create(text: string, signal: AbortSignal | undefined): Promise<void> {
    try {
      await this.#query(text, [], signal)
    } catch (error) {
      // IF NOT EXISTS does not see what another worker is making at the same time.
      if (!MADE_MEANWHILE.test(errorCode(error) ?? '')) throw error
    }
  }

  async #query(
    text: string,
    values: unknown[],
    signal: AbortSignal | undefined,
  ): Promise<readonly unknown[]> {
    signal?.throwIfAborted()
    const { rows } = await withinSignal(this.#options.pool.query(text, values), signal)
    return rows
  }

  #unavailable(cause: unknown): SinkUnavailableError {
    const { table } = this.#options
    return new SinkUnavailableError(`table ${table}: ${messageOf(cause)}`, { cause })
  }
}

/** SQLSTATEs of what is wrong with the data: data exceptions, integrity constraints, and limits, as for the size of a key. */
const DATA_STATES = /^(2[23]|54)/
const MADE_MEANWHILE = /^(23505|42P07|42710)$/
/** Of what is wrong with the table: what it lacks, and rights. */
const TARGET_STATES = /^(42|3F)/

function property(row: unknown, name: string): string {
  return String(typeof row === 'object' && row !== null && Reflect.get(row, name))
}

function messageOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause)
}

function areColumns(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  return Object.values(value).every(isColumn)
}

function isColumn(value: unknown): boolean {
  return (
    typeof value === 'object' &&
    value !== null &&
    typeof Reflect.get(value, 'type') === 'string' &&
    typeof Reflect.get(value, 'value') === 'function'
  )
}
