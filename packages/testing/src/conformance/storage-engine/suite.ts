import type { StorageEngine } from '@tidemark/store'
import { afterEach, describe, expect } from 'vitest'
import { storageEngineCatalog } from './catalog.ts'
import { storageEngineCommit } from './commit.ts'
import { storageEngineConcurrency } from './concurrency.ts'
import { storageEngineCounts } from './counts.ts'
import { storageEngineExpiry } from './expiry.ts'
import { storageEngineFeed } from './feed.ts'
import type { StorageEngineConformance, StorageEngineUnderTest } from './fixtures.ts'
import { storageEngineRanges } from './ranges.ts'
import { storageEngineReopening } from './reopening.ts'
import { storageEngineSharing } from './sharing.ts'
import { storageEngineStamps } from './stamps.ts'
import { storageEngineInheritance } from './inheritance.ts'
import { storageEngineMaintenance } from './maintenance.ts'
import { storageEnginePendingDeletes } from './pending-deletes.ts'
import { storageEngineUniqueKeys } from './unique-keys.ts'
import { storageEngineVersions } from './versions.ts'
import { SteppedClock } from '../../stepped-clock.ts'

/**
 * What every storage engine must do, as vitest suites. Call it at the top level of a test file.
 *
 * After each test every database of the engine is asked to check itself.
 */
export function storageEngineConformance(options: StorageEngineConformance): void {
  describe(`storage engine: ${options.name}`, () => {
    const opened: StorageEngineUnderTest[] = []
    const openUnderTest = async (clock = new SteppedClock()): Promise<StorageEngineUnderTest> => {
      const underTest = await options.open({ clock })
      opened.push(underTest)
      return underTest
    }
    const open = async (clock?: SteppedClock): Promise<StorageEngine> =>
      (await openUnderTest(clock)).engine

    afterEach(async () => {
      for (const underTest of opened.splice(0)) {
        try {
          expect(await problemsOf(underTest.engine)).toEqual([])
        } finally {
          await underTest.dispose()
        }
      }
    })

    if (options.scope !== 'layout') {
      storageEngineCatalog(open)
      storageEngineCommit(open)
      storageEngineConcurrency(open)
      storageEngineExpiry(open)
      storageEngineCounts(open)
    }
    storageEngineUniqueKeys(open)
    storageEngineFeed(open)
    storageEngineMaintenance(open)
    storageEnginePendingDeletes(open)
    storageEngineVersions(open)
    storageEngineRanges(open)
    storageEngineInheritance(open)
    storageEngineReopening(openUnderTest)
    storageEngineStamps(openUnderTest)
    storageEngineSharing(openUnderTest, options.scope)
  })
}

async function problemsOf(engine: StorageEngine): Promise<readonly string[]> {
  const problems: string[] = []
  try {
    for (const { id } of await engine.listDatabases()) {
      problems.push(...(await (await engine.openDatabase(id)).check()))
    }
  } catch (error) {
    // Tests that close their engine leave nothing to ask.
    if ((error as { code?: unknown }).code !== 'ERR_STORE_CLOSED') throw error
  }
  return problems
}
