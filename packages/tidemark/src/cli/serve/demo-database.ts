import type { Store } from '@tidemark/store'

/** The demo data of `tidemark dev`. */
export const DEMO = {
  database: 'demo',
  collection: 'orders',
  documents: 24,
  queue: 'tasks',
  topic: 'news',
  subscription: 'all',
  visits: 'visits',
  leases: 'leases',
  group: 'visitors',
} as const

interface DemoOrder {
  readonly id: string
  readonly customerId: string
  readonly status: string
  readonly total: number
}

const CUSTOMERS = ['ada', 'grace', 'edsger', 'barbara', 'alan', 'katherine']
const STATUSES = ['placed', 'paid', 'shipped']

/** Creates the demo database with some orders, if it does not exist. */
export async function makeDemoDatabase(store: Store): Promise<void> {
  const database = await store.createDatabaseIfNotExists(DEMO.database)
  const present = await database.listCollections()
  if (present.some(({ id }) => id === DEMO.collection)) return
  const orders = await database.createCollectionIfNotExists<DemoOrder>({
    id: DEMO.collection,
    partitionKey: '/customerId',
    partitionCount: 2,
    defaultTtl: -1,
  })
  for (let n = 1; n <= DEMO.documents; n++) {
    await orders.upsert({
      id: `order-${n}`,
      customerId: CUSTOMERS[n % CUSTOMERS.length] ?? '',
      status: STATUSES[n % STATUSES.length] ?? '',
      total: 10 * n + 0.5,
    })
  }
}
