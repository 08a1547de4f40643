import { openTestedEngine } from '@tidemark/engine-sqlite/testing'
import { Store, type Collection } from '@tidemark/store'

export interface PowerDocument {
  readonly id: string
  readonly pk: string
  readonly filler: string
}

export interface PowerStore extends AsyncDisposable {
  readonly store: Store
  readonly documents: Collection<PowerDocument>
}

/** One pkrange, so that LSNs are the order of all commits. */
export async function openPowerStore(place: {
  readonly folder: string
  readonly bootId: string
}): Promise<PowerStore> {
  const { folder, bootId } = place
  const store = await Store.open({
    engine: await openTestedEngine({ folder, bootId }),
    maintenance: 'manual',
  })
  const documents = await store
    .database('power')
    .createCollectionIfNotExists<PowerDocument>({ id: 'documents', partitionKey: '/pk' })
  return { store, documents, [Symbol.asyncDispose]: () => store.close() }
}
