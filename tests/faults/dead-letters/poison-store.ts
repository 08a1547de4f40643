import { join } from 'node:path'
import { openSqliteEngine } from '@tidemark/engine-sqlite'
import { DocumentDeadLetters, DocumentLeaseStore } from '@tidemark/processor'
import { Store, type Collection } from '@tidemark/store'

export interface PoisonOrder {
  /** `key:number`. */
  readonly id: string
  readonly key: string
}

export interface PoisonStore extends AsyncDisposable {
  readonly orders: Collection<PoisonOrder>
  readonly leases: DocumentLeaseStore
  readonly letters: DocumentDeadLetters
}

export const GROUP = 'mirror'
export const KEYS = 100
export const PER_KEY = 100
export const POISON = 'k37:57'

/** What a process of the host is started with. */
export interface PoisonHostTask {
  readonly historyFile: string
  readonly folder: string
  /** The observer accepts the poison too. */
  readonly isMended: boolean
  /** Does not return from a call with the poison and at most so many changes, so that the process can be killed in it. */
  readonly hangAt: number
  /** Dies when the letter is kept, and the position is not. */
  readonly diesAtLetter: boolean
}

/** Opens or makes the collection, the leases and the dead letters. */
export async function openPoisonStore(folder: string): Promise<PoisonStore> {
  // A process that is killed loses nothing of it, a machine that is would.
  const engine = await openSqliteEngine({ folder: join(folder, 'store'), durability: 'relaxed' })
  const store = await Store.open({ engine })
  const shop = await store.createDatabaseIfNotExists('shop')
  const orders = await shop.createCollectionIfNotExists<PoisonOrder>({
    id: 'orders',
    partitionKey: '/key',
    partitionCount: 4,
  })
  const options = { id: 'orders-deadletters', partitionKey: '/partitionKey' }
  const letters = new DocumentDeadLetters(await shop.createCollectionIfNotExists(options))
  const leases = new DocumentLeaseStore(shop.collection('leases'))
  return { orders, leases, letters, [Symbol.asyncDispose]: () => store.close() }
}

/** 10,000 documents; those of a key have numbers in the order in which they are written. */
export async function writeOrders({ orders }: PoisonStore): Promise<void> {
  for (let n = 0; n < KEYS; n += 1) {
    const key = `k${n}`
    const documents = Array.from({ length: PER_KEY }, (_, index) => ({
      id: `${key}:${index}`,
      key,
    }))
    // Several transactions, so that a batch of the feed can be cut everywhere.
    for (let from = 0; from < PER_KEY; from += 10) {
      await orders.batch(
        key,
        documents.slice(from, from + 10).map((document) => ({ kind: 'create', document })),
      )
    }
  }
}
