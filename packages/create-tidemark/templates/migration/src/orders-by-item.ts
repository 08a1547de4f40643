import { DocumentLeaseStore, migrateCollection } from 'tidemark'
import type { Collection, Database, Migration, MigrationOptions } from 'tidemark'

export interface Order {
  readonly id: string
  readonly customerId: string
  readonly itemId: string
  readonly total: number
}

/** Deletes are followed as long as the job is never interrupted for longer than this. */
const LOG_SECONDS = 7 * 86_400

/** Must always return the same for one document: no clock, no counter. Undefined leaves a document out. */
export function mapOrder(order: Order): Order | undefined {
  return order.itemId === '' ? undefined : order
}

/** The source, with the log of all versions that deletes are read from. */
export async function openOrders(shop: Database): Promise<Collection<Order>> {
  const allVersions = { retentionSeconds: LOG_SECONDS }
  const orders = await shop.createCollectionIfNotExists<Order>({
    id: 'orders',
    partitionKey: '/customerId',
    allVersions,
  })
  await orders.updateSettings({ allVersions }) // if it existed without
  return orders
}

/** One worker of the migration: any number of processes share the work. */
export function migrateOrders(
  shop: Database,
  source: Collection<Order>,
  told: Pick<MigrationOptions<Order, Order>, 'onEvent' | 'onProgress' | 'signal'> = {},
): Migration<Order> {
  return migrateCollection<Order, Order>({
    job: 'orders-by-item',
    source,
    target: { database: shop, id: 'ordersByItem', partitionKey: '/itemId' },
    leases: new DocumentLeaseStore(shop.collection('leases')),
    mapDocument: mapOrder,
    deletes: 'apply',
    ...told,
  })
}
