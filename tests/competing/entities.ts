import { openMessaging, type MessageBroker } from '@tidemark/messaging'
import { Store } from '@tidemark/store'
import { openEngineAt, type StorePlace } from '../crash/store-place.ts'

export const WORK = 'work'
export const CARTS = 'carts'
/** Shorter than a process is stopped. */
export const LOCK_MS = 400
const SEGMENT_SLOTS = 5_000

export async function openBroker(
  place: StorePlace,
): Promise<
  AsyncDisposable & { readonly broker: MessageBroker; check(): Promise<readonly string[]> }
> {
  const engine = await openEngineAt(place, { segmentSlots: SEGMENT_SLOTS })
  const store = await Store.open({ engine })
  const database = await store.createDatabaseIfNotExists('competing')
  const broker = openMessaging(database, { limits: { minLockDuration: LOCK_MS } })
  return {
    broker,
    check: () => database.check(),
    [Symbol.asyncDispose]: async () => {
      await broker.close()
      await store.close()
    },
  }
}
