import type { PartitionKeyRange } from '@tidemark/contracts'

import { rangeSplitEvent, rangesMergedEvent, type EventCollection } from '../events/range-events.ts'
import type { StoreEventEmitter } from '../events/store-event-emitter.ts'
import { mergeRanges, splitRange } from './change-ranges.ts'
import type { FoundRecord } from './change-settings.ts'
import { partitionKeyRange } from './partition-key-range-list.ts'

/** Splits and merges that a caller asks for, with their events. */
export class CollectionRanges {
  readonly #names: EventCollection
  readonly #events: Pick<StoreEventEmitter, 'emit'>

  constructor(location: EventCollection & { readonly events: Pick<StoreEventEmitter, 'emit'> }) {
    this.#names = location
    this.#events = location.events
  }

  async split(
    found: FoundRecord,
    request: { readonly rangeId: string; readonly at?: string | undefined },
  ): Promise<readonly [PartitionKeyRange, PartitionKeyRange]> {
    const children = await splitRange(found, request)
    const { rangeId } = request
    const event = rangeSplitEvent(this.#names, { rangeId, children, cause: 'request' })
    this.#events.emit('rangeSplit', event)
    const [low, high] = children
    return [partitionKeyRange(low, found.record), partitionKeyRange(high, found.record)]
  }

  async merge(found: FoundRecord, rangeIds: readonly [string, string]): Promise<PartitionKeyRange> {
    const range = await mergeRanges(found, rangeIds)
    this.#events.emit('rangesMerged', rangesMergedEvent(this.#names, rangeIds, range))
    return partitionKeyRange(range, found.record)
  }
}
