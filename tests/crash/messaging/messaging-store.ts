import { openMessaging, type MessageBroker, type SubscriptionName } from '@tidemark/messaging'
import { Store, type Collection } from '@tidemark/store'
import { openEngineAt, type StorePlace } from '../store-place.ts'
import type { MessagePlaces } from './look-everywhere.ts'

/** Short, so that locks of killed workers end within a run. */
const LOCK_DURATION = 'PT0.4S'
const BRIEF_TTL = 'PT0.05S'
const SEGMENT_SLOTS = 5_000

export const WORK = 'work'
export const BRIEF = 'brief'
export const LATER = 'later'
export const CARTS = 'carts'
export const NEWS = 'news'
/** Its messages go with documents, in a collection of this name. */
export const ORDERS = 'orders'
export const ALL: SubscriptionName = { topic: NEWS, subscription: 'all' }
export const ODD: SubscriptionName = { topic: NEWS, subscription: 'odd' }

export const PLACES: MessagePlaces = [
  [WORK, WORK],
  [BRIEF, BRIEF],
  [LATER, LATER],
  [CARTS, CARTS],
  [ORDERS, ORDERS],
  ['news/all', ALL],
  ['news/odd', ODD],
]

export interface Order {
  readonly id: string
  readonly customer: string
}

export interface MessagingStore extends AsyncDisposable {
  readonly broker: MessageBroker
  readonly orders: Collection<Order>
  check(): Promise<readonly string[]>
}

export async function openMessagingStore(place: StorePlace): Promise<MessagingStore> {
  const engine = await openEngineAt(place, { segmentSlots: SEGMENT_SLOTS })
  const store = await Store.open({ engine })
  const database = await store.createDatabaseIfNotExists('crash')
  const broker = openMessaging(database, { limits: { minLockDuration: 'PT0.1S' } })
  return {
    broker,
    orders: database.collection<Order>(ORDERS),
    check: () => database.check(),
    [Symbol.asyncDispose]: async () => {
      await broker.close()
      await store.close()
    },
  }
}

/** Makes the entities of a run, and the collection. */
export async function createEntities({ broker, orders }: MessagingStore): Promise<void> {
  await orders.createIfNotExists({ partitionKey: '/customer' })
  const lock = { lockDuration: LOCK_DURATION }
  await broker.createQueue(WORK, { ...lock, maxDeliveryCount: 3 })
  await broker.createQueue(BRIEF, {
    ...lock,
    defaultMessageTimeToLive: BRIEF_TTL,
    deadLetteringOnMessageExpiration: true,
  })
  await broker.createQueue(LATER, lock)
  await broker.createQueue(ORDERS, lock)
  await broker.createQueue(CARTS, { ...lock, requiresSession: true, maxDeliveryCount: 1000 })
  await broker.createTopic(NEWS)
  await broker.createSubscription(ALL, lock)
  await broker.createSubscription(ODD, {
    ...lock,
    rules: [{ name: 'odd', filter: { sqlExpression: 'n % 2 = 1' } }],
  })
}
