import { FULL_RANGE, evenRanges, type DocumentVersion } from '@tidemark/contracts'
import type { AllVersionsPolicy, StorageEngine } from '@tidemark/store'
import { describe, expect, test } from 'vitest'
import { START_MS, START_SECOND, fixtureWithClock } from './storage-engine-expiry.ts'
import {
  DEFINITION,
  committed,
  del,
  keyOf,
  parsed,
  put,
  type EngineSetup,
} from './storage-engine-fixtures.ts'
import type { SteppedClock } from './stepped-clock.ts'

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
    test('CF-11 every create, replace and delete is there, in order, with its time and image', async () => {
      const { fixture, clock } = await make(LOG)
      const first = committed(await fixture.commit(fixture.batch('p', [put('a', { n: 1 })])))
      clock.step(1500)
      const second = committed(await fixture.commit(fixture.batch('p', [put('a', { n: 2 })])))
      const third = committed(await fixture.commit(fixture.batch('p', [del('a')])))
      const fourth = committed(await fixture.commit(fixture.batch('p', [put('a', { n: 3 })])))
      const { rows, lsn, caughtUp, horizon } = await fixture.versions(0)
      const common = { id: 'a', partitionKey: '["p"]' }
      expect(rows.map(({ current, ...row }) => [row, current && parsed(current)['n']])).toEqual([
        [
          { ...common, lsn: first, operation: 'create', commitMs: START_MS, previous: undefined },
          1,
        ],
        ...(
          [
            [second, 'replace', 2],
            [third, 'delete', undefined],
            [fourth, 'create', 3],
          ] as const
        ).map(([at, operation, n]) => [
          { ...common, lsn: at, operation, commitMs: START_MS + 1500, previous: undefined },
          n,
        ]),
      ])
      expect(rows[1]?.current).toMatchObject({ lsn: second, ts: START_SECOND + 1 })
      expect({ lsn, caughtUp, horizon }).toEqual({ lsn: fourth, caughtUp: true, horizon: 0 })
      // Both modes side by side.
      expect(await fixture.feedIds()).toEqual(['a'])
    })

    test('CF-11 previous images come where the collection keeps them', async () => {
      const { fixture } = await make({ ...LOG, previousImages: true })
      await fixture.commit(fixture.batch('p', [put('a', { n: 1 })]))
      await fixture.commit(
        fixture.batch('p', [put('a', { n: 2 })]),
        fixture.batch('p', [put('a', { n: 3 })]),
      )
      await fixture.commit(fixture.batch('p', [del('a')]))
      await fixture.commit(fixture.batch('p', [del('a')]))
      await fixture.commit(fixture.batch('p', [put('a', { n: 4 })]))
      const n = (version: DocumentVersion | undefined): unknown => version && parsed(version)['n']
      const { rows } = await fixture.versions(0)
      expect(rows.map((row) => [row.operation, n(row.current), n(row.previous)])).toEqual([
        ['create', 1, undefined],
        ['replace', 2, 1],
        ['replace', 3, 2],
        ['delete', undefined, 3],
        ['create', 4, undefined],
      ])
      await fixture.update({ allVersions: LOG })
      await fixture.commit(fixture.batch('p', [put('a', { n: 5 })]))
      expect((await fixture.versions(0)).rows.at(-1)?.previous).toBeUndefined()
    })

    test('CF-11 TTL-13 an expiry is in it once, whether swept or found by a write', async () => {
      const { fixture, clock } = await make(
        { ...LOG, previousImages: true },
        { definition: { defaultTtl: 5 } },
      )
      await fixture.commit(fixture.batch('p', [put('a', { n: 1 }), put('b', { n: 2 })]))
      clock.step(6000)
      await fixture.commit(fixture.batch('p', [put('b', { n: 3 })]))
      await fixture.maintain('sweep')
      const { rows } = await fixture.versions(0)
      expect(rows.map(({ operation, id }) => `${operation} ${id}`)).toEqual([
        'create a',
        'create b',
        'expire b',
        'create b',
        'expire a',
      ])
      const feed = await fixture.feed()
      const [, , swept, written, expired] = rows
      expect(feed.map((entry) => entry.lsn)).toEqual([swept?.lsn, written?.lsn, expired?.lsn])
      expect(swept).toMatchObject({ commitMs: START_MS + 6000, current: undefined })
      expect(swept?.previous && parsed(swept.previous)).toMatchObject({
        id: 'b',
        n: 2,
        _lsn: rows[1]?.lsn,
      })
      expect(written?.previous).toBeUndefined()
      // The purge of the feed does not touch it.
      await fixture.update({ pendingDeletes: { retentionSeconds: 0, waitFor: [] } })
      await fixture.maintain('purge')
      expect((await fixture.versions(0)).rows).toHaveLength(5)
      expect((await fixture.versions(0)).horizon).toBe(0)
    })

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

    test('CF-11 what was not written is not in it, and moves the position on', async () => {
      const { fixture } = await make(LOG)
      const before = await fixture.write('p', 'a')
      await fixture.commit(fixture.batch('p', [put('b', { condition: { kind: 'present' } })]))
      await fixture.commit(
        fixture.batch('p', [{ kind: 'check', id: 'a', condition: { kind: 'none' } }]),
      )
      const lsn = committed(await fixture.commit(fixture.batch('p', [del('missing')])))
      expect(await fixture.versions(before)).toMatchObject({ rows: [], lsn, caughtUp: true })
    })

    test('CF-11 each range has its own part', async () => {
      const { fixture } = await make(LOG, { ranges: 3 })
      const keys = Array.from({ length: 20 }, (_, n) => `p${n}`)
      for (const pk of keys) await fixture.write(pk, pk)
      for (const pk of keys) await fixture.commit(fixture.batch(pk, [del(pk)]))
      for (const range of evenRanges(3, DEFINITION.partitionKey)) {
        const ids = keys.filter((pk) => {
          const { epk } = keyOf(pk)
          return range.minInclusive <= epk && epk < range.maxExclusive
        })
        expect(await fixture.log({ range, maxItems: 3 })).toEqual([
          ...ids.map((id) => `create ${id}`),
          ...ids.map((id) => `delete ${id}`),
        ])
      }
      await expect(fixture.versions(0)).rejects.toMatchObject({ code: 'ERR_RANGE_GONE' })
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

    test('CF-11 a collection without a log says so', async () => {
      const { fixture } = await make(null)
      await fixture.write('p', 'a')
      const off = { code: 'ERR_ALL_VERSIONS_OFF' }
      await expect(fixture.versions(0)).rejects.toMatchObject(off)
      await expect(fixture.start({ kind: 'now' }, { mode: 'allVersions' })).rejects.toMatchObject(
        off,
      )
      expect(await fixture.start({ kind: 'now' })).toMatchObject({ horizon: 0 })
    })

    test('CF-11 a log that is switched on begins there, and its horizon says so', async () => {
      const { fixture } = await make(null)
      const before = await fixture.write('p', 'a')
      await fixture.update({ allVersions: LOG })
      expect(await fixture.versions(0)).toMatchObject({
        rows: [],
        horizon: before,
        lsn: before,
        caughtUp: true,
      })
      await fixture.write('p', 'a')
      expect(await fixture.log()).toEqual(['replace a'])
      // A change of the policy is no beginning.
      await fixture.update({ allVersions: { retentionSeconds: 7, previousImages: true } })
      expect((await fixture.versions(0)).horizon).toBe(before)
    })

    test('CF-11 a log that was off for a while has nothing from before, not even a part', async () => {
      const { fixture } = await make(LOG)
      await fixture.write('p', 'a')
      await fixture.update({ allVersions: null })
      const last = committed(await fixture.commit(fixture.batch('p', [del('a')])))
      await fixture.update({ allVersions: LOG })
      await fixture.write('p', 'b')
      expect(await fixture.log()).toEqual(['create b'])
      expect((await fixture.versions(0)).horizon).toBe(last)
      await fixture.maintain('trimVersions')
      expect(await fixture.log()).toEqual(['create b'])
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

    test('CF-11 CF-12 a reader of it wakes at deletes and expiries', async () => {
      const { fixture, clock } = await make(LOG, { definition: { defaultTtl: 5 } })
      const at = await fixture.write('p', 'a', 'b')
      const wait = fixture.waitIn(FULL_RANGE, at)
      const deleted = committed(await fixture.commit(fixture.batch('p', [del('a')])))
      expect(await wait).toBe(true)
      const again = fixture.waitIn(FULL_RANGE, deleted)
      clock.step(5000)
      await fixture.maintain('sweep')
      expect(await again).toBe(true)
      expect(await fixture.log({ afterLsn: at })).toEqual(['delete a', 'expire b'])
    })
  })
}
