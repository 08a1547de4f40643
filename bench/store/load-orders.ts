import type { Collection } from '@tidemark/store'
import { CUSTOMERS, customerOf, orderDocument, type OrderDocument } from '../data/order-document.ts'
import type { BenchStore } from './open-bench-store.ts'

const BATCH = 100
const CONCURRENT = 16

/** Documents 0 to `count`, in transactions of up to 100, spread over the ranges as they come. */
export async function loadOrders({ orders }: BenchStore, count: number): Promise<void> {
  await loadBatches(orders, batchesOf(count))
}

/** The documents of `batches`, a transaction each; `documentOf` makes them. */
export async function loadBatches(
  orders: Collection<OrderDocument>,
  batches: readonly (readonly number[])[],
  documentOf: (index: number) => OrderDocument = orderDocument,
): Promise<void> {
  let next = 0
  const loop = async (): Promise<void> => {
    for (let batch = batches[next++]; batch !== undefined; batch = batches[next++]) {
      await orders.batch(
        customerOf(batch[0]!),
        batch.map((index) => ({ kind: 'upsert', document: documentOf(index) })),
      )
    }
  }
  await Promise.all(Array.from({ length: CONCURRENT }, loop))
}

/** Indexes of up to 100 documents of one customer each. */
export function batchesOf(count: number, size: number = BATCH): readonly (readonly number[])[] {
  const batches: number[][] = []
  for (let first = 0; first < count; first += CUSTOMERS * size) {
    for (let customer = 0; customer < CUSTOMERS; customer++) {
      const batch: number[] = []
      for (let turn = 0; turn < size; turn++) {
        const index = first + turn * CUSTOMERS + customer
        if (index < count) batch.push(index)
      }
      if (batch.length > 0) batches.push(batch)
    }
  }
  return batches
}
