import { errorCode } from '@tidemark/contracts'
import type { Store } from '@tidemark/store'
import { afterEach, describe, expect } from 'vitest'
import { collectionBulk } from './bulk.ts'
import { collectionCatalog } from './catalog.ts'
import { collectionDocuments } from './documents.ts'
import { collectionExpiry } from './expiry.ts'
import { collectionFeed } from './feed.ts'
import {
  START_MS,
  type CollectionConformance,
  type OpenStore,
  type StoreUnderTest,
} from './fixtures.ts'
import { collectionHorizons } from './horizons.ts'
import { collectionLag } from './lag.ts'
import { collectionPendingDeletes } from './pending-deletes.ts'
import { collectionPositions } from './positions.ts'
import { collectionRanges } from './ranges.ts'
import { collectionSettings } from './settings.ts'
import { collectionUniqueKeys } from './unique-keys.ts'
import { collectionVersions } from './versions.ts'
import { collectionWrites } from './writes.ts'
import { SteppedClock } from '../../stepped-clock.ts'

/**
 * What a store's databases and collections must do, whatever engine is below, as vitest suites. Call
 * it at the top level of a test file. After each test the store is asked to check itself.
 */
export function collectionConformance(options: CollectionConformance): void {
  describe(`store: ${options.name}`, () => {
    const opened: StoreUnderTest[] = []
    const open: OpenStore = async (clock = new SteppedClock(START_MS)) => {
      const underTest = await options.open({ clock, maintenance: 'manual' })
      opened.push(underTest)
      return underTest.store
    }

    afterEach(async () => {
      for (const underTest of opened.splice(0)) {
        try {
          expect(await problemsOf(underTest.store)).toEqual([])
        } finally {
          await underTest.dispose()
        }
      }
    })

    collectionCatalog(open)
    collectionDocuments(open)
    collectionWrites(open)
    collectionBulk(open)
    collectionFeed(open)
    collectionSettings(open)
    collectionExpiry(open)
    collectionPendingDeletes(open)
    collectionHorizons(open)
    collectionVersions(open)
    collectionRanges(open)
    collectionPositions(open)
    collectionLag(open)
    collectionUniqueKeys(open)
  })
}

async function problemsOf(store: Store): Promise<readonly string[]> {
  try {
    return await store.check()
  } catch (error) {
    // Tests that close their store leave nothing to ask.
    if (errorCode(error) === 'ERR_STORE_CLOSED') return []
    throw error
  }
}
