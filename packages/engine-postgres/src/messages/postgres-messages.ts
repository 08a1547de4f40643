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
import { firstAnswers, firstRequests, type FirstRequests } from './first-requests.ts'
import { entityLook, listRequests, LOOK_ENTITIES } from './list-requests.ts'
import { messageRequests } from './message-requests.ts'
import { messageOpening } from './message-opening.ts'
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

/** The messages of one database: rows of the store's schema. */
export class PostgresMessages implements MessageEngine {
  readonly #database: DatabaseRow
  readonly #parts: PostgresMessagesParts
  readonly #context: ReadContext
  readonly #watch: MessageWatch
  readonly #running = new Set<Promise<unknown>>()
  readonly #lanes: boolean[] = []
  /** Entities of which that is known. It never changes. */
  readonly #withoutSessions = new Set<number>()
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
    const first = firstRequests(command, (entity) => this.#withoutSessions.has(entity))
    const { answer, time, touched } = await this.transact(
      (storeMs) => performCommand(command, { storeMs, caller }),
      first,
    )
    if (touched.length > 0) this.#watch.tell(touched)
    this.#parts.onCommitted(touched, time.storeMs)
    return { answer: answer as CommandAnswers[Kind], time }
  }

  /** Runs a procedure as one transaction, again and again while it loses against others. */
  async transact<Result>(
    procedure: (storeMs: number) => Procedure<Result>,
    first: FirstRequests = {},
  ): Promise<Result> {
    this.#open()
    const { maxPendingCommits } = this.#parts
    if (this.#running.size >= maxPendingCommits) {
      throw new StoreUnavailableError(
        `${maxPendingCommits} commands are already waiting for the server`,
      )
    }
    const running = this.#transact(procedure, first)
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

  async #transact<Result>(
    procedure: (storeMs: number) => Procedure<Result>,
    first: FirstRequests,
  ): Promise<Result> {
    const { connections, clock, statements } = this.#context
    const { number: database } = this.#database
    const atLeastMs = Math.floor(clock.atLeastMs())
    const opening = messageOpening(statements, {
      database,
      atLeastMs,
      isOwnClock: clock.isOwn,
      first,
    })
    let storeMs = 0
    let lane: number | undefined
    try {
      const result = await connections.framedTransaction(opening, async (sql, opened) => {
        storeMs = this.#storeTime(opened[0]?.[0])
        lane ??= this.#takeLane()
        const messages = new MessageSql({
          sql,
          statements,
          database,
          slot: (this.#parts.firstSlot + lane) % SLOTS,
          first: firstAnswers(first, opened),
        })
        const result = await runProcedureAsync(procedure(storeMs), this.#requests(messages))
        return { result, closing: messages.closing() }
      })
      clock.heard(storeMs)
      return result
    } finally {
      if (lane !== undefined) this.#lanes[lane] = false
    }
  }

  /** All requests of a procedure, in one transaction. */
  #requests(sql: MessageSql): AsyncRowRequests {
    const entities = entityRequests(sql)
    return {
      ...entities,
      ...messageRequests(sql),
      ...listRequests(sql),
      ...sessionRequests(sql),
      readPlace: async (entity, options) => {
        const place = await entities.readPlace(entity, options)
        if (place?.record.settings.requiresSession === false) this.#withoutSessions.add(entity)
        return place
      },
    }
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
