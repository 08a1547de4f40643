import type {
  ExpiryView,
  StoreEventListener,
  StoreEventName,
  StoreEventSource,
} from '@tidemark/store'
import { ATTRIBUTE, OWN } from './attributes.ts'
import { errorTypeOf } from './error-type.ts'
import {
  meterOf,
  observing,
  shared,
  type InstrumentOptions,
  type ReadingOptions,
} from './instruments.ts'
import { counterOf } from './metrics.ts'

/** What is needed of a `Store`. */
export interface InstrumentedStore {
  readonly events: StoreEventSource
}

/** A collection and its expiry, as `readExpiry({ withinSeconds: [] })` gives it. */
export interface CollectionExpiry extends Pick<ExpiryView, 'pendingDeletes' | 'unswept'> {
  readonly databaseId: string
  readonly collectionId: string
}

/** Counts what the store's maintenance in this process does, until it is disposed. Only one process maintains a database. */
export function instrumentStore(
  { events }: InstrumentedStore,
  options: InstrumentOptions = {},
): Disposable {
  const meter = meterOf(options)
  const stops: (() => void)[] = []
  const on = <Name extends StoreEventName>(
    name: Name,
    listener: StoreEventListener<Name>,
  ): void => {
    events.on(name, listener)
    stops.push(() => events.off(name, listener))
  }
  const expired = counterOf(meter, 'tidemark.documents.expired')
  on('swept', ({ documents, ...place }) => expired.add(documents, placeOf(place)))
  const purged = counterOf(meter, 'tidemark.pending_deletes.purged')
  on('purged', ({ pendingDeletes, ...place }) => purged.add(pendingDeletes, placeOf(place)))
  const trimmed = counterOf(meter, 'tidemark.versions.trimmed')
  on('versionsTrimmed', ({ entries, ...place }) => trimmed.add(entries, placeOf(place)))
  const changes = counterOf(meter, 'tidemark.range.changes')
  on('rangeSplit', (place) => changes.add(1, { ...placeOf(place), [OWN.rangeChange]: 'split' }))
  on('rangesMerged', (place) => changes.add(1, { ...placeOf(place), [OWN.rangeChange]: 'merge' }))
  const errors = counterOf(meter, 'tidemark.maintenance.errors')
  on('maintenanceFailed', ({ work, error }) =>
    errors.add(1, { [OWN.work]: work, [ATTRIBUTE.errorType]: errorTypeOf(error) }),
  )
  return { [Symbol.dispose]: () => stops.forEach((stop) => stop()) }
}

/** Reads what collections still have to purge when metrics are collected, at most every 5 s, until it is disposed. */
export function instrumentExpiry(
  read: () => Promise<readonly CollectionExpiry[]>,
  options: ReadingOptions = {},
): Disposable {
  const views = shared(read, options)
  return observing(meterOf(options), {
    gauges: ['tidemark.collection.pending_deletes', 'tidemark.collection.unswept'],
    observe: async (observe) => {
      for (const { pendingDeletes, unswept, ...place } of await views.get()) {
        observe('tidemark.collection.pending_deletes', pendingDeletes, placeOf(place))
        observe('tidemark.collection.unswept', unswept, placeOf(place))
      }
    },
  })
}

/** As the description of a collection's feed has it. */
function placeOf({
  databaseId,
  collectionId,
}: Pick<CollectionExpiry, 'databaseId' | 'collectionId'>): Record<string, string> {
  return { [ATTRIBUTE.destination]: `${databaseId}/${collectionId}` }
}
