import { errorCode, type Clock } from '@tidemark/contracts'
import { openMessaging, type MessageBroker } from '@tidemark/messaging'
import { DocumentDeadLetters } from '@tidemark/processor'
import type { Collection, Store } from '@tidemark/store'
import { deadLettersId } from '../../open-dead-letters.ts'
import type { Query } from '../requests/query.ts'
import type { CollectionQuery, GroupRef, PageInfo } from '../views.ts'
import type { Groups } from './groups.ts'
import type { LagSampler } from './lag-sampler.ts'
import type { MaskedTexts } from './masked-text.ts'

/** What all that is shown is read from. */
export interface DashboardContext {
  readonly store: Store
  readonly clock: Clock
  readonly groups: Groups
  readonly sampler: LagSampler
  readonly brokers: Brokers
  readonly texts: MaskedTexts
  readonly info: PageInfo
}

/** A broker for each database whose queues somebody looked at. */
export class Brokers {
  readonly #store: Store
  readonly #clock: Clock
  readonly #opened = new Map<string, MessageBroker>()

  constructor(store: Store, clock: Clock) {
    this.#store = store
    this.#clock = clock
  }

  /** Rejects with ERR_NOT_FOUND when there is no such database. */
  async of(database: string): Promise<MessageBroker> {
    try {
      await this.#store.database(database).readRecord()
    } catch (error) {
      if (errorCode(error) === 'ERR_NOT_FOUND') await this.#close(database)
      throw error
    }
    const broker =
      this.#opened.get(database) ??
      openMessaging(this.#store.database(database), { clock: this.#clock })
    this.#opened.set(database, broker)
    return broker
  }

  async close(): Promise<void> {
    await Promise.all([...this.#opened.keys()].map((database) => this.#close(database)))
  }

  async #close(database: string): Promise<void> {
    const broker = this.#opened.get(database)
    this.#opened.delete(database)
    await broker?.close()
  }
}

export function groupOf(query: Query): GroupRef {
  return { leases: query.required('leases'), group: query.required('group') }
}

export function collectionOf(query: Query): CollectionQuery {
  return { database: query.required('database'), collection: query.required('collection') }
}

/** Rejects with ERR_NOT_FOUND. */
export async function existing(
  store: Store,
  { database, collection }: CollectionQuery,
): Promise<Collection> {
  const handle = store.database(database).collection(collection)
  await handle.open()
  return handle
}

/** The dead letters of a collection's groups, and the name of the collection that holds them. Undefined: there are none. */
export async function lettersOf(
  { store, clock }: DashboardContext,
  { database, collection }: CollectionQuery,
  given: string | undefined,
): Promise<{ readonly id: string; readonly letters: DocumentDeadLetters | undefined }> {
  const id = given ?? deadLettersId(collection)
  const { version } = (await (await existing(store, { database, collection })).readRecord())
    .definition.partitionKey
  const present = await store.database(database).listCollections()
  if (!present.some((one) => one.id === id)) return { id, letters: undefined }
  const holding = store.database(database).collection(id)
  const letters = new DocumentDeadLetters(holding, { partitionKeyVersion: version, clock })
  return { id, letters }
}
