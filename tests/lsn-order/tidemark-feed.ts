import { openTestedEngine } from '@tidemark/engine-postgres/testing'
import { Store, type Collection, type MaintenanceMode } from '@tidemark/store'
import {
  rowKey,
  type FeedReader,
  type OrderedFeed,
  type SeenPage,
  type SeenRow,
  type WrittenRow,
} from './ordered-feed.ts'

export interface OrderDocument {
  readonly id: string
  readonly group: string
  readonly version: number
}

/** Few, so that the range goes on in new segments all the time. */
const SEGMENT_SLOTS = 4_000
/** Who may do it at most changes hands as soon as its connection was ended. */
const MAINTENANCE: MaintenanceMode = { intervalMs: 100, leaseMs: 1_000, maxItems: 200, pauseMs: 1 }

/** The collection that all processes work on; it begins as one range. */
export class TidemarkFeed implements OrderedFeed {
  readonly store: Store
  readonly documents: Collection<OrderDocument>

  private constructor(store: Store, documents: Collection<OrderDocument>) {
    this.store = store
    this.documents = documents
  }

  static async open({
    url,
    maintains,
  }: {
    readonly url: string
    readonly maintains: 'yes' | 'no'
  }): Promise<TidemarkFeed> {
    const engine = await openTestedEngine({ url, segmentSlots: SEGMENT_SLOTS })
    const maintenance = maintains === 'yes' ? MAINTENANCE : 'manual'
    const store = await Store.open({ engine, maintenance })
    const documents = await store
      .database('order')
      .createCollectionIfNotExists<OrderDocument>({ id: 'rows', partitionKey: '/group' })
    return new TidemarkFeed(store, documents)
  }

  async write(rows: readonly WrittenRow[]): Promise<number> {
    const [first, ...others] = rows
    if (first === undefined) throw new Error('nothing to write')
    // The first version is a create: whatever happened twice would be refused.
    const kind = first.version === 1 ? 'create' : 'upsert'
    if (others.length === 0) return (await this.documents[kind]({ ...first })).lsn
    const operations = rows.map((row) => ({ kind, document: { ...row } }) as const)
    const { lsn } = await this.documents.batch(first.group, operations)
    return lsn ?? -1
  }

  reader(): FeedReader {
    return new TidemarkReader(this.documents)
  }

  async scan(): Promise<readonly SeenRow[]> {
    const rows: SeenRow[] = []
    let continuation: string | undefined
    do {
      const page = await this.documents.readDocuments({ maxItemCount: 1000, continuation })
      for (const document of page.documents) {
        rows.push({ key: rowKey(document), version: document.version, lsn: document._lsn })
      }
      continuation = page.continuation
    } while (continuation !== undefined)
    return rows
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.store.close()
  }
}

class TidemarkReader implements FeedReader {
  readonly #documents: Collection<OrderDocument>
  #continuation: string | undefined

  constructor(documents: Collection<OrderDocument>) {
    this.#documents = documents
  }

  async *read({
    maxItems,
    maxPages,
    signal,
  }: Parameters<FeedReader['read']>[0]): AsyncGenerator<SeenPage, void, undefined> {
    const from =
      this.#continuation === undefined ? 'beginning' : { continuation: this.#continuation }
    const follow = maxPages !== undefined
    let pages = 0
    for await (const page of this.#documents.changes({
      from,
      follow,
      maxItemCount: maxItems,
      ...(signal && { signal }),
    })) {
      this.#continuation = page.continuation
      const { minInclusive, maxExclusive } = page.range
      const rows = page.changes.map((change) => {
        if (change.kind !== 'document') throw new Error(`a ${change.kind} that nobody made`)
        const { document, lsn } = change
        return { key: rowKey(document), version: document.version, lsn }
      })
      yield { range: `${minInclusive}-${maxExclusive}`, rows }
      if (++pages === maxPages) return
    }
  }
}
