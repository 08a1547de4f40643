import type { Change, IChangeFeedObserver } from 'tidemark'
import type { PointsDatabase } from './points-database.ts'

export interface Order {
  readonly id: string
  readonly customer: string
  readonly total: number
}

/** Runs a statement, or a transaction, in the database. */
export type Query = <R>(work: (database: PointsDatabase) => R) => Promise<R>

/**
 * A point for each order that a customer pays. Orders of one customer come in order, at least once: one whose LSN is not above
 * that in the row was counted already.
 *
 * Can you see the mistake? Most tests do not: it takes a process that ends between two statements.
 */
export class CarelessPoints implements IChangeFeedObserver<Order> {
  readonly #query: Query

  constructor(query: Query) {
    this.#query = query
  }

  async processChanges(_context: unknown, changes: readonly Change<Order>[]): Promise<void> {
    for (const change of changes) {
      if (change.kind !== 'document') continue
      const { customer, total } = change.document
      const counted = await this.#query((database) => database.lsn(customer))
      if (change.lsn <= counted) continue
      await this.#query((database) => database.addPoints(customer, total))
      await this.#query((database) => database.setLsn(customer, change.lsn))
    }
  }
}

/** The same in one transaction. */
export class CarefulPoints implements IChangeFeedObserver<Order> {
  readonly #query: Query

  constructor(query: Query) {
    this.#query = query
  }

  async processChanges(_context: unknown, changes: readonly Change<Order>[]): Promise<void> {
    for (const change of changes) {
      if (change.kind !== 'document') continue
      const { customer, total } = change.document
      await this.#query((database) => {
        if (change.lsn <= database.lsn(customer)) return
        database.addPoints(customer, total)
        database.setLsn(customer, change.lsn)
      })
    }
  }
}
