import { ResourceNotFoundError } from '@tidemark/contracts'
import {
  runProcedureAsync,
  type AsyncRowRequests,
  type EntityRecord,
  type Procedure,
} from '@tidemark/store/messages'
import type { DatabaseRow } from '../catalog/database-row.ts'
import { numberColumn } from '../connection/columns.ts'
import type { Sql, SqlRow } from '../connection/sql.ts'
import type { ReadContext } from '../reader/read-context.ts'
import type { EntityHints } from './entity-hints.ts'
import { entityRequests } from './entity-requests.ts'
import { firstAnswers, type FirstRequests } from './first-requests.ts'
import { listRequests } from './list-requests.ts'
import { messageOpening } from './message-opening.ts'
import { messageRequests } from './message-requests.ts'
import { MessageSql } from './message-sql.ts'
import { sessionRequests } from './session-requests.ts'

export interface MessageTransactionsParts {
  readonly context: ReadContext
  readonly hints: EntityHints
  /** Other processes begin elsewhere. */
  readonly firstSlot: number
}

/** A transaction that is open. */
export interface MessageTransaction {
  readonly sql: Sql
  /** The store's clock when it began. */
  readonly storeMs: number
  readonly perform: <Result>(procedure: Procedure<Result>) => Promise<Result>
}

export interface Committed<Result> {
  readonly result: Result
  /** Entities with the lowest number of a message that came back, or was moved there. */
  readonly returned: ReadonlyMap<number, number>
}

/** Slots of `entity_size` for an entity. */
const SLOTS = 64
/** Deleted entities are among them. */
const MOST_KNOWN = 10_000

/** Runs procedures on the tables of one database. */
export class MessageTransactions {
  readonly #database: DatabaseRow
  readonly #parts: MessageTransactionsParts
  readonly #lanes: boolean[] = []
  /** Entities of which that is known. It never changes. */
  readonly #withoutSessions = new Set<number>()

  constructor(database: DatabaseRow, parts: MessageTransactionsParts) {
    this.#database = database
    this.#parts = parts
  }

  /** False also when that is not known. */
  hasNoSessions(entity: number): boolean {
    return this.#withoutSessions.has(entity)
  }

  /** Runs `act` again and again while it loses against others. `first` may save requests. */
  async run<Result>(
    first: FirstRequests,
    act: (transaction: MessageTransaction) => Promise<Result>,
  ): Promise<Committed<Result>> {
    const { context, hints } = this.#parts
    const { connections, clock, statements } = context
    const { number: database } = this.#database
    const nowMs = clock.nowMs()
    const due = hints.dueOf(first.place?.entity ?? 0, nowMs)
    const opening = messageOpening(statements, {
      database,
      atLeastMs: Math.floor(clock.atLeastMs()),
      isOwnClock: clock.isOwn,
      first: { ...first, due },
    })
    let storeMs = 0
    let lane: number | undefined
    let messages: MessageSql | undefined
    try {
      const result = await connections.framedTransaction(opening, async (sql, opened) => {
        storeMs = this.#storeTime(opened[0]?.[0])
        lane ??= this.#takeLane()
        messages?.failed()
        messages = new MessageSql({
          sql,
          statements,
          database,
          slot: (this.#parts.firstSlot + lane) % SLOTS,
          first: firstAnswers({ ...first, due }, opened),
          hints,
          nowMs,
        })
        const requests = this.#requests(messages)
        const perform = <Answer>(procedure: Procedure<Answer>): Promise<Answer> =>
          runProcedureAsync(procedure, requests)
        return { result: await act({ sql, storeMs, perform }), closing: messages.closing() }
      })
      clock.heard(storeMs)
      messages?.committed()
      return { result, returned: messages?.returned ?? new Map() }
    } catch (error) {
      messages?.failed()
      throw error
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
        if (place !== undefined) this.#note(place.record)
        return place
      },
    }
  }

  #note({ number, settings }: EntityRecord): void {
    if (settings.requiresSession || this.#withoutSessions.has(number)) return
    if (this.#withoutSessions.size >= MOST_KNOWN) this.#withoutSessions.clear()
    this.#withoutSessions.add(number)
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
}
