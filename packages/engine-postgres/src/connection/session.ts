import { StoreUnavailableError } from '@tidemark/contracts'
import type { Deadlines } from './deadlines.ts'
import type { Opening, Openings } from './openings.ts'
import { requestCancel } from './platform/cancel-request.ts'
import { breaksConnection, sqlState, storeError } from './postgres-error.ts'
import type { PostgresAnswer, PostgresClient, PostgresQuery } from './postgres-pool.ts'
import type { SqlRow, SqlValue, Statement } from './sql.ts'

/** A column always arrives as the text that the server sent, whatever the pool has registered for its type. */
const AS_TEXT = { getTypeParser: () => asItIs }

const IN_FAILED_TRANSACTION = '25P02'

export interface SessionOptions {
  readonly deadlines: Deadlines
  /** Maximum duration of a statement here, including the server's own limit. */
  readonly statementLimitMs: number
  /** How long the server has to answer a request to cancel. */
  readonly cancelLimitMs: number
}

/**
 * One connection while it is taken from its pool. Rejects with coded errors (`storeError`), except that an abort
 * rejects with the signal's reason.
 */
export class Session {
  readonly #client: PostgresClient
  readonly #options: SessionOptions
  readonly #onError: (error: Error) => void
  #failure: unknown
  #broken: Error | undefined
  /** Settles when nothing runs on the connection any more. */
  #quiet: Promise<void> | undefined
  #cancelling: Promise<void> | undefined
  #released = false
  #inTransaction = false
  #sent = false

  constructor(client: PostgresClient, options: SessionOptions) {
    this.#client = client
    this.#options = options
    // The last errors of the server or the socket. Without a listener they would end the process.
    this.#onError = (error) => (this.#broken ??= error)
    client.on('error', this.#onError)
  }

  /** The error of `pg` for the last failed statement, apart from later ones that PostgreSQL refuses because of it. */
  get failure(): unknown {
    return this.#failure ?? this.#broken
  }

  /** True when the server may have received the last statement. */
  get sent(): boolean {
    return this.#sent
  }

  async rows(
    statement: Statement,
    values: readonly SqlValue[],
    { prepared, ...options }: RunOptions & { readonly prepared: boolean },
  ): Promise<readonly SqlRow[]> {
    const query: PostgresQuery = {
      text: statement.text,
      values: values.map(parameter),
      rowMode: 'array',
      types: AS_TEXT,
    }
    if (prepared) query.name = statement.name
    const answer = await this.#run(query, options)
    return one(answer).rows
  }

  /** One or several statements without values by the simple protocol. Resolves with the last one's command. */
  async command(text: string, options: RunOptions = {}): Promise<string> {
    const answer = await this.#run({ text, rowMode: 'array', types: AS_TEXT }, options)
    return one(answer).command
  }

  /**
   * From here on, commits of the connection are durable, whatever the server's default. `known` are the connections for
   * which that is set already: it is done once for each.
   */
  async commitDurably(known: WeakSet<PostgresClient>): Promise<void> {
    if (known.has(this.#client)) return
    await this.command(durableCommits('session'))
    known.add(this.#client)
  }

  /** Resolves with the rows of each of the opening's statements. */
  async begin(
    text: string,
    opening: Opening,
    { openings, isDirect }: { readonly openings: Openings; readonly isDirect: boolean },
  ): Promise<readonly (readonly SqlRow[])[]> {
    const begun = openings.begin(this.#client, opening, { isDirect })
    this.#inTransaction = true
    let succeeded = false
    try {
      const texts = begun.text === '' ? text : `${text}; ${begun.text}`
      const answer = await this.#run({ text: texts, rowMode: 'array', types: AS_TEXT }, {})
      succeeded = true
      const answers = Array.isArray(answer) ? answer : [answer]
      return answers.slice(answers.length - opening.statements.length).map(({ rows }) => rows)
    } finally {
      begun.ended(succeeded)
    }
  }

  /**
   * `closing`: statements that go with it. Also rejects when the server rolled back because a statement had failed
   * before.
   */
  async commit(closing = ''): Promise<void> {
    const text = closing === '' ? 'COMMIT' : `${closing}; COMMIT`
    const command = await this.command(text, { cancels: false })
    this.#inTransaction = false
    if (command === 'COMMIT') return
    if (this.#failure !== undefined) throw storeError(this.#failure)
    throw new StoreUnavailableError(`PostgreSQL answered COMMIT by ${command}: nothing was written`)
  }

  /** Never rejects: a connection on which it fails is ended, which also rolls back. */
  async rollback(): Promise<void> {
    if (!this.#inTransaction || this.#broken !== undefined) return
    this.#inTransaction = false
    await this.command('ROLLBACK').catch((error: unknown) => {
      this.#broken ??= asError(error)
    })
  }

  /**
   * Returns the connection, or ends it when it cannot be used again. Never rejects. Resolves with true when the
   * connection was usable.
   */
  async release({ end = false }: { end?: boolean } = {}): Promise<boolean> {
    await this.#quiet
    await this.rollback()
    this.#release(this.#broken ?? end)
    return this.#broken === undefined
  }

  #release(how: Error | boolean): void {
    if (this.#released) return
    this.#released = true
    // The pool listens from here on; an ended connection may still emit errors.
    this.#client.release(how)
    if (how === false) this.#client.removeListener('error', this.#onError)
  }

  async #run(query: PostgresQuery, { cancels, signal }: RunOptions): Promise<Answers> {
    signal?.throwIfAborted()
    // A request to cancel that is still in progress would hit the next statement.
    if (this.#cancelling !== undefined) await this.#cancelling
    this.#sent = this.#broken === undefined
    if (this.#broken !== undefined) throw storeError(this.#broken)
    const running = this.#client.query(query)
    const settled = running.then(
      () => {},
      (error: unknown) => this.#failed(error),
    )
    this.#quiet = settled
    const cancel = (): void => {
      this.#cancelling ??= this.#cancel(settled, { asks: cancels !== false })
      this.#quiet = this.#cancelling
    }
    const removeDeadline = this.#options.deadlines.add(this.#options.statementLimitMs, cancel)
    void settled.then(removeDeadline)
    if (signal === undefined) return running.catch(rethrown)
    const aborted = Promise.withResolvers<never>()
    const abort = (): void => {
      cancel()
      aborted.reject(signal.reason)
    }
    signal.addEventListener('abort', abort, { once: true })
    try {
      return await Promise.race([running.catch(rethrown), aborted.promise])
    } finally {
      signal.removeEventListener('abort', abort)
    }
  }

  /** Resolves when the statement has ended, at the latest with its connection. */
  async #cancel(settled: Promise<void>, { asks }: { asks: boolean }): Promise<void> {
    const timeoutMs = this.#options.cancelLimitMs
    // To cancel a commit would turn its wait for standbys into a success without them.
    if (asks && (await requestCancel(this.#client, { timeoutMs }))) {
      const over = Promise.withResolvers<boolean>()
      const remove = this.#options.deadlines.add(timeoutMs, () => over.resolve(false))
      const ended = await Promise.race([settled.then(() => true), over.promise])
      remove()
      if (ended) {
        this.#cancelling = undefined
        return
      }
    }
    this.#broken ??= new Error('the statement ran too long and could not be cancelled')
    // Ends the socket, and so the statement.
    this.#release(this.#broken)
    await settled
  }

  #failed(error: unknown): void {
    if (sqlState(error) !== IN_FAILED_TRANSACTION) this.#failure = error
    if (!breaksConnection(error)) return
    this.#broken ??= asError(error)
  }
}

/**
 * Makes commits wait for the disk where the server's default does not. Otherwise a crash would lose acknowledged data,
 * and LSNs that readers have seen. Stricter settings stay as they are.
 */
export function durableCommits(until: 'session' | 'transaction'): string {
  return (
    `SELECT set_config('synchronous_commit', 'on', ${until === 'transaction'}) ` +
    `WHERE current_setting('synchronous_commit') = 'off'`
  )
}

interface RunOptions {
  readonly signal?: AbortSignal | undefined
  /** False for statements that must not be cancelled on the server. @default true */
  readonly cancels?: boolean | undefined
}

type Answers = PostgresAnswer | PostgresAnswer[]

function one(answer: Answers): PostgresAnswer {
  if (!Array.isArray(answer)) return answer
  return answer.at(-1) ?? { command: '', rows: [] }
}

function parameter(value: SqlValue): string | number | boolean | null | Buffer {
  if (!(value instanceof Uint8Array) || Buffer.isBuffer(value)) return value
  return Buffer.from(value.buffer, value.byteOffset, value.byteLength)
}

function asItIs(text: string): string {
  return text
}

function rethrown(error: unknown): never {
  throw storeError(error)
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error))
}
