import { effectivePartitionKey, partitionKeyDefinition } from '@tidemark/contracts'
import { CUSTOMERS, customerOf, orderDocument, orderId } from '../data/order-document.ts'
import { SEGMENTS, type PrototypeWrite } from './prototype-schema.ts'

/** Keys as the store computes them, made once: the prototype is spared the hash. */
export class PrototypeData {
  readonly #epks: readonly string[]

  constructor() {
    const definition = partitionKeyDefinition(['/customerId'])
    this.#epks = Array.from({ length: CUSTOMERS }, (_, index) =>
      effectivePartitionKey([customerOf(index)], definition),
    )
  }

  write(index: number, revision: number): PrototypeWrite {
    const customer = index % CUSTOMERS
    return {
      segment: customer % SEGMENTS,
      epk: this.#epks[customer]!,
      pk: JSON.stringify([customerOf(index)]),
      id: orderId(index),
      body: JSON.stringify(orderDocument(index, revision)),
      expiresAt: index % 4 === 0 ? 4_000_000_000 : 0,
    }
  }
}
