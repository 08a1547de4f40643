import { ResourceNotFoundError, StoreUnavailableError, type Clock } from '@tidemark/contracts'
import {
  performCommand,
  runProcedureAsync,
  type AsyncRowRequests,
  type CallerTime,
  type CommandAnswers,
  type CommandOf,
  type EntityLook,
  type MessageCatalog,
  type MessageCommand,
  type MessageEngine,
  type MessageTime,
  type Procedure,
  type SessionLook,
} from '@tidemark/store/messages'
import type { DatabaseRow } from '../catalog/database-row.ts'
import { integerArray, textArray } from '../connection/binary-array.ts'
import { numberColumn } from '../connection/columns.ts'
import type { SqlRow } from '../connection/sql.ts'
import type { ReadContext } from '../reader/read-context.ts'
import { ENTITY_COLUMNS, entityRecord, entityRequests } from './entity-requests.ts'
import { entityLook, listRequests, LOOK_ENTITIES } from './list-requests.ts'
import { messageRequests } from './message-requests.ts'
import { MessageSql } from './message-sql.ts'
import { MessageWatch, type MessageWatchOptions } from './message-watch.ts'
import { LOOK_SESSIONS, sessionLook, sessionRequests } from './session-requests.ts'

export interface PostgresMessagesParts extends MessageWatchOptions {
  readonly context: ReadContext
  readonly clock: Clock
  readonly maxPendingCommits: number
  /** Other processes begin elsewhere. */
  readonly firstSlot: number
  /** Called after each commit, once it is durable. */
  readonly onCommitted: (entities: readonly number[], timeMs: number) => void
}

const CATALOG = `SELECT ${ENTITY_COLUMNS} FROM :schema.database b
LEFT JOIN :schema.entity e ON e.db = b.number AND NOT e.dropped
LEFT JOIN :schema.entity_access a ON a.number = e.number WHERE b.number = $1 ORDER BY e.number`

/** Slots of `entity_size` for an entity. */
const SLOTS = 64

/**
 * The statements of a transaction are planned once for each connection, perhaps while the tables are empty: then each
 * plan but that of the right index would look as cheap.
 */
const SETTINGS = [
  'plan_cache_mode = force_generic_plan',
  'enable_seqscan = off',
  'enable_bitmapscan = off',
  'enable_hashjoin = off',
  'enable_mergejoin = off',
  'jit = off',
].map((setting) => `SET LOCAL ${setting}`)

/** The messages of one database: rows of the store's schema. */
export class PostgresMessages implements MessageEngine {
  readonly #database: DatabaseRow
  readonly #parts: PostgresMessagesParts
  readonly #context: ReadContext
  readonly #watch: MessageWatch
  readonly #running = new Set<Promise<unknown>>()
  readonly #lanes: boolean[] = []
  #ended: Error | undefined

  constructor(database: DatabaseRow, parts: PostgresMessagesParts) {
    this.#database = database
    this.#parts = parts
    this.#context = parts.context
    this.#watch = new MessageWatch(parts)
  }

  async readCatalog(): Promise<MessageCatalog> {
    const { connections, statements } = this.#open()
    const { number, record } = this.#database
    const rows = await connections.read(statements.of(CATALOG), [number])
    if (rows.length === 0) throw new ResourceNotFoundError('database', record.id)
    return { entities: rows.filter((row) => row[0] !== null).map(entityRecord) }
  }

  async perform<Kind extends MessageCommand['kind']>(
    command: CommandOf<Kind>,
    caller: CallerTime,
  ): Promise<{ readonly answer: CommandAnswers[Kind]; readonly time: MessageTime }> {
    const { answer, time, touched } = await this.transact((storeMs) =>
      performCommand(command, { storeMs, caller }),
    )
    if (touched.length > 0) this.#watch.tell(touched)
    this.#parts.onCommitted(touched, time.storeMs)
    return { answer: answer as CommandAnswers[Kind], time }
  }

  /** Runs a procedure as one transaction, again and again while it loses against others. */
  async transact<Result>(procedure: (storeMs: number) => Procedure<Result>): Promise<Result> {
    this.#open()
    const { maxPendingCommits } = this.#parts
    if (this.#running.size >= maxPendingCommits) {
      throw new StoreUnavailableError(
        `${maxPendingCommits} commands are already waiting for the server`,
      )
    }
    const running = this.#transact(procedure)
    this.#running.add(running)
    try {
      return await running
    } finally {
      this.#running.delete(running)
    }
  }

  async look(entities: readonly number[]): Promise<readonly EntityLook[]> {
    const { connections, statements } = this.#open()
    const rows = await connections.read(statements.of(LOOK_ENTITIES), [integerArray(entities)])
    return rows.map(entityLook)
  }

  async lookSessions(entity: number, sessions: readonly string[]): Promise<readonly SessionLook[]> {
    const { connections, statements } = this.#open()
    const values = [entity, textArray(sessions)]
    return (await connections.read(statements.of(LOOK_SESSIONS), values)).map(sessionLook)
  }

  watch(listener: (entities: readonly number[] | undefined) => void): () => void {
    this.#open()
    return this.#watch.add(listener)
  }

  nowMs(): number {
    return this.#context.clock.nowMs()
  }

  /** Another process has changed something in these entities. Undefined: anything may have changed. */
  rung(entities: readonly number[] | undefined): void {
    if (this.#ended === undefined) this.#watch.tell(entities)
  }

  /** Commits of other processes are not reported from here on. */
  deafened(): void {
    if (this.#ended === undefined) this.#watch.deafened()
  }

  /** Finishes accepted commands. All later calls fail with `error`. */
  async end(error: Error): Promise<void> {
    this.#ended ??= error
    await this.#watch.end()
    while (this.#running.size > 0) await Promise.allSettled(this.#running)
  }

  async #transact<Result>(procedure: (storeMs: number) => Procedure<Result>): Promise<Result> {
    const { connections, clock } = this.#context
    let storeMs = 0
    let lane: number | undefined
    try {
      const result = await connections.framedTransaction(this.#opening(), async (sql, [row]) => {
        storeMs = this.#storeTime(row)
        lane ??= this.#takeLane()
        const messages = new MessageSql({
          sql,
          statements: this.#context.statements,
          database: this.#database.number,
          slot: (this.#parts.firstSlot + lane) % SLOTS,
        })
        const result = await runProcedureAsync(procedure(storeMs), rowRequests(messages))
        return { result, closing: messages.closing() }
      })
      clock.heard(storeMs)
      return result
    } finally {
      if (lane !== undefined) this.#lanes[lane] = false
    }
  }

  /** Goes with BEGIN, and answers the store's time. */
  #opening(): string {
    const { statements, clock } = this.#context
    const { number } = this.#database
    const atLeastMs = Math.floor(clock.atLeastMs())
    // Where processes have clocks of their own, each commit stores its time, as those of documents do.
    const keep = `UPDATE :schema.database SET clock = ${atLeastMs} WHERE number = ${number} AND clock < ${atLeastMs}`
    const time = `SELECT greatest(b.clock, ${atLeastMs}, :now) FROM :schema.database b WHERE b.number = ${number}`
    return statements.fill([...SETTINGS, ...(clock.isOwn ? [keep] : []), time].join('; '))
  }

  #storeTime(row: SqlRow | undefined): number {
    if (row === undefined) throw new ResourceNotFoundError('database', this.#database.record.id)
    return numberColumn(row, 0)
  }

  /** The lowest number that no running transaction of this process has. */
  #takeLane(): number {
    const free = this.#lanes.indexOf(false)
    const lane = free === -1 ? this.#lanes.length : free
    this.#lanes[lane] = true
    return lane
  }

  #open(): ReadContext {
    if (this.#ended !== undefined) throw this.#ended
    return this.#context
  }
}

/** All requests of a procedure, in one transaction. */
export function rowRequests(sql: MessageSql): AsyncRowRequests {
  return {
    ...entityRequests(sql),
    ...messageRequests(sql),
    ...listRequests(sql),
    ...sessionRequests(sql),
  }
}
