import { ResourceNotFoundError, StoreUnavailableError, type Clock } from '@tidemark/contracts'
import {
  performCommand,
  type CallerTime,
  type CommandAnswers,
  type CommandOf,
  type CommandResult,
  type EntityLook,
  type MessageCatalog,
  type MessageCommand,
  type MessageEngine,
  type MessageTime,
  type Procedure,
  type SessionLook,
} from '@tidemark/store/messages'
import type { DatabaseRow } from '../catalog/database-row.ts'
import { textArray } from '../connection/binary-array.ts'
import { undoable } from '../connection/undoable.ts'
import type { ReadContext } from '../reader/read-context.ts'
import type { TouchedEntity } from '../wakeup/touched-range.ts'
import { EntityHints } from './entity-hints.ts'
import { ENTITY_COLUMNS, entityRecord } from './entity-requests.ts'
import { firstRequests, type FirstRequests } from './first-requests.ts'
import { entityLook, LOOK_ENTITIES, lookValues } from './list-requests.ts'
import {
  MessageTransactions,
  type Committed,
  type MessageTransaction,
} from './message-transactions.ts'
import { MessageWatch, type MessageWatchOptions } from './message-watch.ts'
import { LOOK_SESSIONS, sessionLook } from './session-requests.ts'

export interface PostgresMessagesParts extends MessageWatchOptions {
  readonly context: ReadContext
  readonly clock: Clock
  readonly maxPendingCommits: number
  /** Other processes begin elsewhere. */
  readonly firstSlot: number
  /** Called after each commit, once it is durable. */
  readonly onCommitted: (entities: readonly TouchedEntity[], timeMs: number) => void
}

type Performed = CommandResult & { readonly time: MessageTime }

const CATALOG = `SELECT ${ENTITY_COLUMNS} FROM :schema.database b
LEFT JOIN :schema.entity e ON e.db = b.number AND NOT e.dropped
LEFT JOIN :schema.entity_access a ON a.number = e.number WHERE b.number = $1 ORDER BY e.number`

/** The messages of one database: rows of the store's schema. */
export class PostgresMessages implements MessageEngine {
  readonly #database: DatabaseRow
  readonly #parts: PostgresMessagesParts
  readonly #context: ReadContext
  readonly #watch: MessageWatch
  readonly #running = new Set<Promise<unknown>>()
  readonly #transactions: MessageTransactions
  readonly #hints: EntityHints
  #ended: Error | undefined

  constructor(database: DatabaseRow, parts: PostgresMessagesParts) {
    this.#database = database
    this.#parts = parts
    this.#context = parts.context
    this.#watch = new MessageWatch(parts)
    this.#hints = new EntityHints(parts.clock)
    this.#transactions = new MessageTransactions(database, { ...parts, hints: this.#hints })
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
    const first = firstRequests(command, (entity) => this.#transactions.hasNoSessions(entity))
    const { answer, time } = await undoable<Performed>((undo) =>
      this.commit(first, async ({ perform, storeMs }) => {
        const result = await perform(performCommand(command, { storeMs, caller }))
        // Of commands together, all or none.
        return result.answer.kind === 'notDone' ? undo(result) : result
      }),
    )
    return { answer: answer as CommandAnswers[Kind], time }
  }

  /** Runs `act` as one transaction, again and again while it loses against others, and tells who listens what it touched. */
  async commit<Result extends { readonly touched: readonly number[]; readonly time: MessageTime }>(
    first: FirstRequests,
    act: (transaction: MessageTransaction) => Promise<Result>,
  ): Promise<Result> {
    const { result, returned } = await this.#run(first, act)
    const touched = [...new Set([...result.touched, ...returned.keys()])]
    if (touched.length > 0) this.#watch.tell(touched)
    const entities = touched.map((entity) => ({ entity, returned: returned.get(entity) }))
    this.#parts.onCommitted(entities, result.time.storeMs)
    return result
  }

  /** Runs a procedure as one transaction. Tells nobody of it. */
  async transact<Result>(procedure: (storeMs: number) => Procedure<Result>): Promise<Result> {
    const { result } = await this.#run({}, ({ perform, storeMs }) => perform(procedure(storeMs)))
    return result
  }

  async look(entities: readonly number[]): Promise<readonly EntityLook[]> {
    const { connections, statements } = this.#open()
    const values = lookValues(entities, (entity) => {
      return { ...this.#hints.startOf(entity), ...this.#hints.dueOf(entity, 0) }
    })
    return (await connections.read(statements.of(LOOK_ENTITIES), values)).map(entityLook)
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
  rung(entities: readonly TouchedEntity[] | undefined): void {
    if (this.#ended !== undefined) return
    if (entities === undefined) this.#hints.forget()
    for (const { entity, returned } of entities ?? []) {
      if (returned !== undefined) this.#hints.returned(entity, returned)
    }
    this.#watch.tell(entities?.map(({ entity }) => entity))
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

  async #run<Result>(
    first: FirstRequests,
    act: (transaction: MessageTransaction) => Promise<Result>,
  ): Promise<Committed<Result>> {
    this.#open()
    const { maxPendingCommits } = this.#parts
    if (this.#running.size >= maxPendingCommits) {
      throw new StoreUnavailableError(
        `${maxPendingCommits} commands are already waiting for the server`,
      )
    }
    const running = this.#transactions.run(first, act)
    this.#running.add(running)
    try {
      return await running
    } finally {
      this.#running.delete(running)
    }
  }

  #open(): ReadContext {
    if (this.#ended !== undefined) throw this.#ended
    return this.#context
  }
}
