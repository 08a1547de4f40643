import type { Change, IChangeFeedObserver, ObserverContext } from 'tidemark'

export interface Order {
  readonly id: string
  readonly customerId: string
  readonly total: number
}

export interface Receipt {
  readonly orderId: string
  readonly to: string
  readonly total: number
}

/** What sends receipts. It has to ignore a key that it has seen before: after a crash, the last changes come again. */
export interface Mailer {
  send(key: string, receipt: Receipt): Promise<void>
}

/** Sends a receipt for each version of an order. */
export class SendReceipts implements IChangeFeedObserver<Order> {
  readonly #mailer: Mailer

  constructor(mailer: Mailer) {
    this.#mailer = mailer
  }

  async processChanges(context: ObserverContext, changes: readonly Change<Order>[]): Promise<void> {
    for (const change of changes) {
      // Another worker may have these keys soon: what is not done by now comes again, there.
      context.signal.throwIfAborted()
      if (change.kind !== 'document') continue
      const { id, customerId, total } = change.document
      await this.#mailer.send(`${id}:${change.lsn}`, { orderId: id, to: customerId, total })
    }
  }
}
