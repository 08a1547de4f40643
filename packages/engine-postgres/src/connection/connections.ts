import { StoreClosedError } from '@tidemark/contracts'
import { backoffMs } from './backoff.ts'
import { ConnectionGate } from './connection-gate.ts'
import {
  resolveConnectionOptions,
  type ConnectionOptions,
  type ResolvedConnectionOptions,
} from './connection-options.ts'
import { Deadlines } from './deadlines.ts'
import { PoolSource } from './pool-source.ts'
import { NO_OPENING, Openings, type Opening } from './openings.ts'
import {
  failureKind,
  isConnectionLost,
  isLostStatement,
  leavesOutcomeOpen,
  sqlState,
  unknownOutcome,
} from './postgres-error.ts'
import type { PostgresClient, PostgresPool } from './postgres-pool.ts'
import { readServerVersion, type ServerInfo } from './server-version.ts'
import { durableCommits, type Session } from './session.ts'
import type { SqlRow, SqlValue, Statement } from './sql.ts'
import { TransactionSql } from './transaction-sql.ts'

export interface ReadOptions {
  /** Cancels the statement on the server. The call rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined
  /** `replica`: on a replica if there is one and it answers, otherwise on the primary. @default 'primary' */
  readonly from?: 'primary' | 'replica' | undefined
}

/** How often to run a transaction again that loses against others. */
const CONFLICT_LIMIT = 12
/** How long a replica that failed is not used. */
const REPLICA_REST_MS = 1_000
/** Attempts of one call are at most about 0.15 s apart. */
const LONGEST_STEP = 4
/** How much earlier than this process the server ends a statement. */
const SERVER_FIRST_MS = 1_000

/**
 * The connections of one process to one database. Their number is limited, and lost ones are replaced. It works the
 * same with your own pool and behind a pooler. All failures are coded errors; see `storeError`.
 *
 * The wait for a free connection has no limit. Do not call it inside `transaction` or `snapshot`, whose end it might
 * await.
 */
export class Connections implements AsyncDisposable {
  readonly #options: ResolvedConnectionOptions
  readonly #deadlines: Deadlines
  readonly #primary: Place
  readonly #replica: Place | undefined
  #replicaRestsUntilMs = 0
  readonly #never = new AbortController().signal
  #prepared: boolean
  /** A server that took writes and then refuses them is failing over. One that never took any is the wrong server. */
  #wrote = false
  readonly #durable = new WeakSet<PostgresClient>()
  readonly #openings = new Openings()
  #calls = 0
  #closed: Promise<void> | undefined
  #lastCall: PromiseWithResolvers<void> | undefined

  /** Does not connect yet. Throws `InvalidOptionError`. */
  constructor(options: ConnectionOptions) {
    const resolved = resolveConnectionOptions(options)
    this.#options = resolved
    this.#prepared = resolved.preparedStatements
    this.#deadlines = new Deadlines(resolved.clock)
    this.#primary = this.#place(resolved.primary, resolved.outageTimeoutMs)
    // The primary answers instead of a replica that does not, so no caller has to wait for it.
    if (resolved.replica !== undefined) this.#replica = this.#place(resolved.replica, 0)
  }

  /**
   * Checks that the servers can be used. Rejects at once with ERR_STORE_UNAVAILABLE when the primary cannot be reached
   * or a server refuses the connection, with ERR_SERVER_UNSUPPORTED when one is older than `oldestVersion`.
   */
  open({ oldestVersion = 150_000 }: { oldestVersion?: number } = {}): Promise<ServerInfo> {
    return this.#call(async () => {
      const version = await this.#version(this.#primary, oldestVersion)
      if (this.#replica !== undefined) {
        await this.#version(this.#replica, oldestVersion).catch((error: unknown) => {
          // It may be down for now, but a wrong password stays wrong.
          if (!isConnectionLost(error)) throw error
        })
      }
      return { version }
    })
  }

  /** Whether the replica is not used at the moment. */
  get replicaRests(): boolean {
    return this.#options.clock.monotonicMs() < this.#replicaRestsUntilMs
  }

  /** Does not use the replica for a second: the primary answers instead. */
  restReplica(): void {
    this.#replicaRestsUntilMs = this.#options.clock.monotonicMs() + REPLICA_REST_MS
  }

  /** One reading statement. Sent again when the connection is lost meanwhile. */
  read(
    statement: Statement,
    values: readonly SqlValue[] = [],
    { signal, from }: ReadOptions = {},
  ): Promise<readonly SqlRow[]> {
    return this.#reading({ signal, from }, async (session) => ({
      result: await session.rows(statement, values, { prepared: this.#prepared, signal }),
    }))
  }

  /**
   * One statement that writes, in a transaction of its own. It is sent again only when it certainly had no effect: it
   * lost against others, or a server that shuts down refused it. If the connection is lost meanwhile, rejects with
   * ERR_STORE_UNAVAILABLE and a message that the outcome is unknown.
   */
  write(statement: Statement, values: readonly SqlValue[] = []): Promise<readonly SqlRow[]> {
    // Without a statement_timeout of the connection, a transaction has to set it.
    if (!this.#primary.source.keepsSettings) {
      return this.transaction((sql) => sql.rows(statement, values))
    }
    return this.#writing(async (session) => {
      await session.commitDurably(this.#durable)
      return committing(session, () =>
        session.rows(statement, values, { prepared: this.#prepared, cancels: false }),
      )
    })
  }

  /**
   * A READ COMMITTED transaction. `act` is run again as a whole after a deadlock or a serialisation failure, and when
   * the connection is lost before COMMIT is sent. So it must do nothing but use `sql`. Rolled back when `act` rejects,
   * with the same error. For a connection lost during COMMIT, see `write`.
   */
  transaction<Result>(act: (sql: TransactionSql) => Promise<Result>): Promise<Result> {
    const framed = async (sql: TransactionSql) => ({ result: await act(sql), closing: '' })
    return this.framedTransaction(NO_OPENING, framed)
  }

  /** The same with fewer round trips. `act` gets the rows of the opening; `closing` are statements that go with COMMIT. */
  framedTransaction<Result>(
    opening: Opening,
    act: (
      sql: TransactionSql,
      opened: readonly (readonly SqlRow[])[],
    ) => Promise<{ readonly result: Result; readonly closing: string }>,
  ): Promise<Result> {
    return this.#writing(async (session, place) => {
      if (place.source.keepsSettings) await session.commitDurably(this.#durable)
      const framed = { mode: 'READ COMMITTED', place, act, opening }
      const { result, closing } = await this.#within(session, framed)
      return committing(session, async () => {
        await session.commit(closing)
        return result
      })
    })
  }

  /** A REPEATABLE READ READ ONLY transaction: all statements see one snapshot. Run again as a whole, like a read. */
  snapshot<Result>(
    act: (sql: TransactionSql) => Promise<Result>,
    { signal, from }: ReadOptions = {},
  ): Promise<Result> {
    return this.#reading({ signal, from }, async (session, place) => {
      const mode = 'REPEATABLE READ READ ONLY'
      const result = await this.#within(session, { mode, place, act, signal })
      await session.commit()
      return { result }
    })
  }

  /** Runs statements without values, all or none of them. */
  script(text: string): Promise<void> {
    return this.transaction((sql) => sql.script(text))
  }

  /**
   * Resolves when all running calls have ended and connections of its own are closed. Later calls reject with
   * ERR_STORE_CLOSED, as do calls that wait for a server that is down.
   */
  close(): Promise<void> {
    this.#closed ??= this.#close()
    return this.#closed
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  async #close(): Promise<void> {
    this.#primary.gate.shut()
    this.#replica?.gate.shut()
    if (this.#calls > 0) {
      this.#lastCall = Promise.withResolvers()
      await this.#lastCall.promise
    }
    await Promise.all([this.#primary.gate.end(), this.#replica?.gate.end()])
    await this.#deadlines.stop()
  }

  /** Counts the running calls. Every result that callers see passes through here. */
  async #call<Result>(act: () => Promise<Result>): Promise<Result> {
    if (this.#closed !== undefined) throw new StoreClosedError('the store was closed')
    this.#calls++
    try {
      return await act()
    } finally {
      this.#calls--
      if (this.#calls === 0) this.#lastCall?.resolve()
    }
  }

  #reading<Result>({ signal, from }: ReadOptions, attempt: Attempt<Result>): Promise<Result> {
    return this.#call(async () => {
      if (from === 'replica' && this.#replica !== undefined) {
        const answer = await this.#onReplica(this.#replica, { signal, attempt })
        if (answer !== undefined) return answer.result
      }
      return this.#untilDone(attempt, { signal, writes: false })
    })
  }

  #writing<Result>(attempt: Attempt<Result>): Promise<Result> {
    return this.#call(async () => {
      const result = await this.#untilDone(attempt, { writes: true })
      this.#wrote = true
      return result
    })
  }

  /** Undefined when the primary has to answer. */
  async #onReplica<Result>(
    place: Place,
    { signal, attempt }: { signal: AbortSignal | undefined; attempt: Attempt<Result> },
  ): Promise<{ readonly result: Result } | undefined> {
    if (this.replicaRests) return undefined
    const { gate } = place
    let session: Session | undefined
    try {
      session = await gate.take({ signal })
      const outcome = await attempt(session, place)
      if ('result' in outcome) return outcome
    } catch (error) {
      signal?.throwIfAborted()
      const failure = session === undefined ? error : session.failure
      // `act` itself failed, or the statement takes too long. On the primary it would be the same.
      if (failure === undefined || sqlState(failure) === '57014') throw error
      this.#noteLostStatements(failure)
      if (session === undefined || isConnectionLost(failure)) {
        this.restReplica()
      }
    } finally {
      if (session !== undefined) gate.give(session)
    }
    return undefined
  }

  /** Repeats `attempt` on the primary until it succeeds, or fails in a way that would repeat. */
  async #untilDone<Result>(
    attempt: Attempt<Result>,
    { signal, writes }: { signal?: AbortSignal | undefined; writes: boolean },
  ): Promise<Result> {
    const { clock, random, outageTimeoutMs } = this.#options
    const { gate } = this.#primary
    let giveUpAtMs: number | undefined
    for (let count = 1; ; count++) {
      const session = await gate.take({ signal, giveUpAtMs })
      let outcome: Outcome<Result>
      try {
        outcome = await attempt(session, this.#primary)
      } catch (error) {
        signal?.throwIfAborted()
        const kind = failureKind(session.failure, { takesWrites: writes && this.#wrote })
        if (kind === 'lasting' || (kind === 'conflict' && count >= CONFLICT_LIMIT)) throw error
        const nowMs = clock.monotonicMs()
        if (kind === 'outage') giveUpAtMs ??= nowMs + outageTimeoutMs
        if (giveUpAtMs !== undefined && nowMs >= giveUpAtMs) throw error
        this.#noteLostStatements(session.failure)
        outcome = { again: true }
      } finally {
        gate.give(session)
      }
      if ('result' in outcome) return outcome.result
      if ('unknown' in outcome) throw outcome.unknown
      // While the server is down, the gate itself waits longer.
      const delayMs = backoffMs(Math.min(count, LONGEST_STEP), random)
      await clock.sleep(delayMs, signal ?? this.#never)
    }
  }

  /** Runs `act` in a transaction that is still open when this resolves, and rolled back when it rejects. */
  async #within<Result>(
    session: Session,
    { mode, place, act, opening = NO_OPENING, signal }: Within<Result>,
  ): Promise<Result> {
    const prepared = (): boolean => this.#prepared
    const opened = await session.begin(this.#begin(mode, place), opening, {
      openings: this.#openings,
      isDirect: place.source.keepsSettings,
    })
    const sql = new TransactionSql(session, { prepared, signal })
    try {
      return await act(sql, opened)
    } catch (error) {
      // After an abort, the connection is cleaned up without the caller.
      if (signal?.aborted !== true) await session.rollback()
      throw error
    } finally {
      sql.end()
    }
  }

  #begin(mode: string, { source }: Place): string {
    const begin = `BEGIN ISOLATION LEVEL ${mode}`
    if (source.keepsSettings) return begin
    const { statementTimeoutMs, idleInTransactionTimeoutMs, applicationName } = this.#options
    return [
      begin,
      `SET LOCAL statement_timeout = ${statementTimeoutMs}`,
      `SET LOCAL idle_in_transaction_session_timeout = ${idleInTransactionTimeoutMs}`,
      `SET LOCAL application_name = '${applicationName.replaceAll("'", "''")}'`,
      'SET LOCAL array_nulls = on',
      durableCommits('transaction'),
    ].join('; ')
  }

  #noteLostStatements(failure: unknown): void {
    if (isLostStatement(failure) && !this.#openings.giveUp()) this.#prepared = false
  }

  async #version({ gate }: Place, oldestVersion: number): Promise<number> {
    const session = await gate.take()
    try {
      return await readServerVersion(session, oldestVersion)
    } finally {
      gate.give(session)
    }
  }

  #place(from: string | PostgresPool, outageTimeoutMs: number): Place {
    const { clock, random, statementTimeoutMs, connectTimeoutMs, ...rest } = this.#options
    const { maxConnections, applicationName, idleInTransactionTimeoutMs } = rest
    const settings = { statementTimeoutMs, idleInTransactionTimeoutMs }
    const source = new PoolSource(from, {
      maxConnections,
      connectTimeoutMs,
      applicationName,
      settings,
    })
    const deadlines = this.#deadlines
    const gate = new ConnectionGate(source, {
      clock,
      random,
      outageTimeoutMs,
      deadlines,
      sessionOptions: () => ({
        deadlines,
        // The server ends it first if it can, so this is for a server that does not answer.
        statementLimitMs: statementTimeoutMs + (source.keepsSettings ? SERVER_FIRST_MS : 0),
        cancelLimitMs: connectTimeoutMs,
      }),
      endLimitMs: connectTimeoutMs,
    })
    return { source, gate }
  }
}

interface Place {
  readonly source: PoolSource
  readonly gate: ConnectionGate
}

interface Within<Result> {
  readonly mode: string
  readonly place: Place
  readonly act: (sql: TransactionSql, opened: readonly (readonly SqlRow[])[]) => Promise<Result>
  readonly opening?: Opening | undefined
  readonly signal?: AbortSignal | undefined
}

/** `unknown`: it may or may not have happened, so it is not tried again. */
type Outcome<Result> =
  | { readonly result: Result }
  | { readonly unknown: Error }
  | { readonly again: true }

/** Rejects with a coded error, or with what the caller's code threw. */
type Attempt<Result> = (session: Session, place: Place) => Promise<Outcome<Result>>

/** Runs what commits. */
async function committing<T>(session: Session, act: () => Promise<T>): Promise<Outcome<T>> {
  try {
    return { result: await act() }
  } catch (error) {
    if (session.sent && leavesOutcomeOpen(error)) return { unknown: unknownOutcome(error) }
    throw error
  }
}
