import type { Change, ISingleChangeObserver, ObserverContext } from 'tidemark'

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
export class SendReceipts implements ISingleChangeObserver<Order> {
  readonly #mailer: Mailer

  constructor(mailer: Mailer) {
    this.#mailer = mailer
  }

  async processChange(_context: ObserverContext, change: Change<Order>): Promise<void> {
    if (change.kind !== 'document') return
    const { id, customerId, total } = change.document
    await this.#mailer.send(`${id}:${change.lsn}`, { orderId: id, to: customerId, total })
  }
}
