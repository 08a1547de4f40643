import type { AllVersionsPolicy, StorageEngine } from '@tidemark/store'
import { describe, expect, test } from 'vitest'
import { START_MS, START_SECOND, fixtureWithClock, type EngineSetup } from './fixtures.ts'
import type { SteppedClock } from '../../stepped-clock.ts'

/** The log of all versions and deletes. */
export function storageEngineVersions(
  open: (clock?: SteppedClock) => Promise<StorageEngine>,
): void {
  const LOG: AllVersionsPolicy = { retentionSeconds: 60, previousImages: false }
  const make = (
    allVersions: AllVersionsPolicy | null,
    { definition, ...setup }: EngineSetup = {},
  ): ReturnType<typeof fixtureWithClock> =>
    fixtureWithClock(open, { ...setup, definition: { allVersions, ...definition } })

  describe('all versions and deletes', () => {
    test('CF-7 CF-11 a page has at most maxItems entries, but all of one transaction, in its order', async () => {
      const { fixture } = await make(LOG)
      await fixture.write('p', 'z', 'b', 'y', 'a')
      await fixture.write('p', 'c')
      await fixture.write('q', 'd')
      const first = await fixture.versions(0, { maxItems: 2 })
      expect(first.rows.map(({ id }) => id)).toEqual(['z', 'b', 'y', 'a'])
      expect(first).toMatchObject({ caughtUp: false, newestLsn: first.lsn + 2 })
      const second = await fixture.versions(first.lsn, { maxItems: 1 })
      expect(second.rows.map(({ id }) => id)).toEqual(['c'])
      const third = await fixture.versions(second.lsn, { maxItems: 1 })
      expect(third.rows.map(({ id }) => id)).toEqual(['d'])
      expect(third).toMatchObject({ caughtUp: true, lsn: third.rows[0]?.lsn })
      expect(await fixture.versions(third.lsn)).toMatchObject({ rows: [], caughtUp: true })
      expect((await fixture.versions(0, { maxChars: 1 })).rows).toHaveLength(4)
    })

    test('CF-6 CF-11 starts at the beginning, now, and at the first entry of a second', async () => {
      const { fixture, clock } = await make(LOG)
      await fixture.write('p', 'a')
      clock.step(10_000)
      await fixture.write('p', 'b')
      await fixture.write('p', 'b')
      const start = async (
        kind: 'beginning' | 'now' | 'time',
        ts = 0,
      ): Promise<readonly string[]> => {
        const { lsn } = await fixture.start(kind === 'time' ? { kind, ts } : { kind }, {
          mode: 'allVersions',
        })
        return fixture.log({ afterLsn: lsn })
      }
      const all = ['create a', 'create b', 'replace b']
      expect(await start('beginning')).toEqual(all)
      expect(await start('now')).toEqual([])
      expect(await start('time', START_SECOND)).toEqual(all)
      expect(await start('time', START_SECOND + 1)).toEqual(all.slice(1))
      expect(await start('time', START_SECOND + 10)).toEqual(all.slice(1))
      expect(await start('time', START_SECOND + 11)).toEqual([])
    })

    test('CF-11 a transaction that is larger than any piece of work goes, too, and as a whole', async () => {
      const { fixture, clock } = await make(LOG)
      const ids = Array.from({ length: 2100 }, (_, n) => `d${n}`)
      await fixture.write('p', ...ids)
      clock.step(30_000)
      await fixture.write('p', 'later')
      clock.step(30_000)
      const task = { kind: 'trimVersions', collection: fixture.collection } as const
      expect((await fixture.piece(task, 10)).items).toBe(ids.length)
      expect(await fixture.log()).toEqual(['create later'])
    })

    test('CF-11 entries go after their retention, whole transactions, and the horizon says up to where', async () => {
      const { fixture, clock } = await make(LOG)
      const { database } = fixture
      await fixture.write('p', 'a', 'b', 'c')
      const second = await fixture.write('p', 'a')
      clock.step(30_000)
      await fixture.write('p', 'b')
      expect((await database.readMaintenance()).nextDueMs).toBe(START_MS + 60_000)
      clock.step(29_999)
      expect(await fixture.maintain('trimVersions', 1)).toBe(0)
      clock.step(1)
      const task = { kind: 'trimVersions', collection: fixture.collection } as const
      const { items } = await fixture.piece(task, 1)
      // A reader at the horizon must not find half a transaction.
      expect([3, 4]).toContain(items)
      expect((await fixture.log()).length).toBe(5 - items)
      expect(items + (await fixture.maintain('trimVersions', 1))).toBe(4)
      expect(await fixture.log()).toEqual(['replace b'])
      expect(await fixture.versions(0)).toMatchObject({ horizon: second })
      expect(await fixture.start({ kind: 'now' }, { mode: 'allVersions' })).toMatchObject({
        horizon: second,
      })
      expect((await fixture.page(0)).horizon).toBe(0)
      expect((await database.readMaintenance()).nextDueMs).toBe(START_MS + 90_000)
      clock.step(1_000_000)
      await fixture.maintain('trimVersions')
      const { lsn } = await fixture.start({ kind: 'now' })
      expect(await fixture.versions(0)).toEqual({
        rows: [],
        lsn,
        newestLsn: lsn,
        epoch: (await fixture.page(0)).epoch,
        caughtUp: true,
        horizon: lsn,
        horizons: [expect.objectContaining({ lsn })],
      })
      expect((await database.readMaintenance()).tasks).toEqual([])
    })

    test('CF-11 a log that was switched off is removed', async () => {
      const { fixture } = await make(LOG)
      const { database } = fixture
      for (let n = 0; n < 20; n++) await fixture.write('p', `d${n % 3}`)
      await fixture.update({ allVersions: null })
      expect((await database.readMaintenance()).tasks).toMatchObject([{ kind: 'trimVersions' }])
      expect(await fixture.maintain('trimVersions', 3)).toBe(20)
      expect((await database.readMaintenance()).tasks).toEqual([])
      expect(await fixture.feedIds()).toHaveLength(3)
    })
  })
}
