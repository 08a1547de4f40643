import { FULL_RANGE, evenRanges, lsn } from '@tidemark/contracts'
import type { StorageEngine } from '@tidemark/store'
import { describe, expect, test } from 'vitest'
import { fixtureWithClock, DEFINITION, type EngineFixture, type FeedEntry } from './fixtures.ts'
import type { SteppedClock } from '../stepped-clock.ts'
import { KEYS, within } from './ranges.ts'

/** Whatever children and merged pkranges have from those before them: horizons, expiry, fences, positions. */
export function storageEngineInheritance(
  open: (clock?: SteppedClock) => Promise<StorageEngine>,
): void {
  /** One document a key, whose id is the key. */
  const writeAll = async (fixture: EngineFixture, keys = KEYS): Promise<void> => {
    for (const pk of keys) await fixture.write(pk, pk)
  }
  const ids = (entries: readonly FeedEntry[]): readonly string[] => entries.map(({ id }) => id)

  describe('what a range inherits', () => {
    test('TTL-14 TTL-15 what one lease of a merged range has passed does not make the other look late', async () => {
      const { fixture, clock } = await fixtureWithClock(open, {
        ranges: 2,
        definition: { defaultTtl: 5, pendingDeletes: { retentionSeconds: 0, waitFor: ['group'] } },
      })
      const [low, high] = evenRanges(2, DEFINITION.partitionKey)
      if (low === undefined || high === undefined) throw new Error('two ranges are expected')
      await fixture.merge(high.minInclusive)
      await fixture.write(within(high)[0] ?? '', 'only')
      clock.step(5000)
      await fixture.maintain('sweep')
      const { lsn: newest } = await fixture.start({ kind: 'now' })
      await fixture.database.reportPositions(fixture.collection, [
        { group: 'group', range: low, lsn: lsn(0) },
        { group: 'group', range: high, lsn: lsn(newest) },
      ])
      await fixture.maintain('purge')
      expect((await fixture.page(0, { range: low })).horizon).toBe(0)
      expect((await fixture.page(0, { range: high })).horizon).toBe(newest)
    })

    test('CF-6 ST-9 a start at a time loses nothing of a merged range', async () => {
      const { fixture, clock } = await fixtureWithClock(open, { ranges: 2 })
      const [low, high] = evenRanges(2, DEFINITION.partitionKey)
      if (low === undefined || high === undefined) throw new Error('two ranges are expected')
      // High LSNs early in one half, low ones late in the other.
      for (const pk of within(low)) await fixture.write(pk, pk)
      clock.step(10_000)
      const late = within(high).slice(0, 3)
      await writeAll(fixture, late)
      const ts = Math.floor(fixture.database.nowMs() / 1000)
      await fixture.merge(high.minInclusive)
      for (const maxItems of [1, 1000]) {
        await fixture.maintain('fold', maxItems)
        const start = await fixture.start({ kind: 'time', ts })
        const seen = ids(await fixture.feed({ afterLsn: start.lsn }))
        expect(late.every((id) => seen.includes(id))).toBe(true)
      }
    })

    test('TTL-14 ST-9 positions of groups stay what they are when ranges are split and merged', async () => {
      const { fixture } = await fixtureWithClock(open)
      const { database, collection } = fixture
      await database.reportPositions(collection, [
        { group: 'group', range: FULL_RANGE, lsn: lsn(7) },
      ])
      const before = await database.readPositions(collection, 'group')
      await fixture.split('20')
      expect(await database.readPositions(collection, 'group')).toEqual(before)
      await fixture.merge('20')
      expect(await database.readPositions(collection, 'group')).toEqual(before)
    })
  })
}
