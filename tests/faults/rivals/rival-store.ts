import { openPostgresEngine } from '@tidemark/engine-postgres'
import { Store, type Collection, type Database } from '@tidemark/store'

export interface RivalDocument {
  readonly id: string
  readonly key: string
  readonly count: number
  readonly filler?: string
}

export interface RivalStore extends AsyncDisposable {
  readonly store: Store
  readonly database: Database
  readonly documents: Collection<RivalDocument>
}

/** Opens or makes a collection of one range, which all rivals write to. */
export async function openRivalStore(postgresUrl: string): Promise<RivalStore> {
  const engine = await openPostgresEngine({ url: postgresUrl })
  const store = await Store.open({ engine, maintenance: 'manual' })
  const database = store.database('rivals')
  const documents = await database.createCollectionIfNotExists<RivalDocument>({
    id: 'documents',
    partitionKey: '/key',
  })
  return { store, database, documents, [Symbol.asyncDispose]: () => store.close() }
}
