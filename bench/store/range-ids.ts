import type { Collection } from '@tidemark/store'
import type { OrderDocument } from '../data/order-document.ts'

/** Ids of the present pkranges, in EPK order. */
export async function rangeIds(orders: Collection<OrderDocument>): Promise<readonly string[]> {
  return (await orders.readPartitionKeyRanges()).ranges.map(({ id }) => id)
}

/** Splits the only range in the middle. */
export async function splitOnly(
  orders: Collection<OrderDocument>,
  options: { readonly at?: string } = {},
): ReturnType<Collection['split']> {
  const [range, ...others] = await rangeIds(orders)
  if (range === undefined || others.length > 0) throw new Error('there is not one range')
  return orders.split(range, options)
}

/** Merges the only two ranges. */
export async function mergeBoth(orders: Collection<OrderDocument>): Promise<void> {
  const [low, high, ...others] = await rangeIds(orders)
  if (low === undefined || high === undefined || others.length > 0) {
    throw new Error('there are not two ranges')
  }
  await orders.merge(low, high)
}
