import { count, DocumentLeaseStore, materializeView, max, sum } from 'tidemark'
import type { Collection, Database, ViewEvent } from 'tidemark'

export interface Order {
  readonly id: string
  readonly customerId: string
  readonly total: number
  readonly cancelled?: boolean
}

export const VIEW = 'customerTotals'

/** The source, with the log of all versions that deletes are read from. */
export async function openOrders(shop: Database): Promise<Collection<Order>> {
  return shop.createCollectionIfNotExists<Order>({
    id: 'orders',
    partitionKey: '/id',
    partitionCount: 4, // as many workers can work at the same time
    allVersions: { retentionSeconds: 7 * 86_400 }, // longer than any interruption of the view
  })
}

/** One worker of the view: any number of processes share the work. */
export function keepTotals(
  shop: Database,
  orders: Collection<Order>,
  told: { readonly signal?: AbortSignal; readonly onEvent?: (event: ViewEvent) => void } = {},
) {
  return materializeView({
    source: orders,
    target: { database: shop, id: VIEW },
    leases: new DocumentLeaseStore(shop.collection('leases')),
    version: '1', // change it with what follows: the view is built again beside the present one
    by: (order) => (order.cancelled === true ? undefined : order.customerId),
    fold: {
      orders: count(),
      total: sum((order: Order) => order.total),
      largest: max((order: Order) => order.total),
    },
    deletes: 'apply',
    ...told,
  })
}
