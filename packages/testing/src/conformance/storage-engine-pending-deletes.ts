import { FULL_RANGE, lsn, LIVE_ROW, PENDING_DELETE_ROW, feedVersion } from '@tidemark/contracts'
import type { StorageEngine } from '@tidemark/store'
import type { CommitBatch } from '@tidemark/store/engine'
import { describe, expect, test } from 'vitest'
import { START_SECOND, fixtureWithClock } from './storage-engine-expiry.ts'
import { committed, del, keyOf, parsed, put, type EngineSetup } from './storage-engine-fixtures.ts'
import type { SteppedClock } from './stepped-clock.ts'

/** How expired documents stand in the feed, and when they go. */
export function storageEnginePendingDeletes(
  open: (clock?: SteppedClock) => Promise<StorageEngine>,
): void {
  const make = (
    defaultTtl: number | null,
    { definition, ...setup }: EngineSetup = {},
  ): ReturnType<typeof fixtureWithClock> =>
    fixtureWithClock(open, { ...setup, definition: { defaultTtl, ...definition } })

  describe('pending deletes', () => {
    test('TTL-12 a document with a ttl in force announces when it expires', async () => {
      const { fixture } = await make(100)
      await fixture.commit(
        fixture.batch('p', [put('default'), put('own', { ttl: 7 }), put('never', { ttl: -1 })]),
      )
      const seconds = async (): Promise<unknown> =>
        Object.fromEntries((await fixture.feed()).map(({ id, expirySecond }) => [id, expirySecond]))
      expect(await seconds()).toEqual({
        default: START_SECOND + 100,
        own: START_SECOND + 7,
        never: 0,
      })
      await fixture.update({ defaultTtl: 200 })
      expect(await seconds()).toMatchObject({ default: START_SECOND + 200 })
      await fixture.update({ defaultTtl: -1 })
      expect(await seconds()).toEqual({ default: 0, own: START_SECOND + 7, never: 0 })
      await fixture.update({ defaultTtl: null })
      expect(await seconds()).toEqual({ default: 0, own: 0, never: 0 })
    })

    test('TTL-13 the sweep puts a pending delete with the last version after the last change, once', async () => {
      const { fixture, clock } = await make(5)
      await fixture.commit(fixture.batch('p', [put('a', { n: 1 })]))
      const last = committed(await fixture.commit(fixture.batch('p', [put('a', { n: 2 })])))
      const before = await fixture.write('p', 'b')
      clock.step(8000)
      const page = await fixture.page(before)
      expect(page).toMatchObject({ rows: [], lsn: before })
      expect(await fixture.maintain('sweep')).toBe(2)
      expect(await fixture.maintain('sweep')).toBe(0)
      const { rows } = await fixture.page(0)
      expect(rows).toHaveLength(2)
      const a = rows.find(([, , , , , , id]) => id === 'a')
      if (a === undefined) throw new Error('the pending delete of a is missing')
      const [at, kind, , expirySecond] = a
      expect(kind).toBe(PENDING_DELETE_ROW)
      expect(at).toBeGreaterThan(before)
      // The document as it was, with the LSN and time of its last change.
      expect(parsed(feedVersion(a))).toMatchObject({ id: 'a', n: 2, _lsn: last, _ts: START_SECOND })
      expect(expirySecond).toBe(START_SECOND + 5)
      expect(await fixture.count()).toBe(0)
    })

    test('TTL-13 each expiry has its own LSN, the longest expired first', async () => {
      const { fixture, clock } = await make(-1)
      const ttls = [9, 3, 7, 3, 1, 8]
      const operations = ttls.map((ttl, n) => put(`d${n}`, { ttl }))
      await fixture.commit(fixture.batch('p', operations))
      clock.step(10_000)
      expect(await fixture.maintain('sweep', 2)).toBe(6)
      const feed = await fixture.feed()
      const lsns = feed.map((entry) => entry.lsn)
      expect(new Set(lsns).size).toBe(6)
      expect(feed.map(({ expirySecond }) => expirySecond - START_SECOND)).toEqual([
        1, 3, 3, 7, 8, 9,
      ])
    })

    test('TTL-13 every range has the pending deletes of its documents', async () => {
      const { fixture, clock } = await make(5, { ranges: 4 })
      const keys = Array.from({ length: 30 }, (_, n) => `p${n}`)
      for (const pk of keys) await fixture.write(pk, pk)
      clock.step(5000)
      expect(await fixture.maintain('sweep', 7)).toBe(30)
      for (const range of await fixture.ranges()) {
        const wanted = keys.filter((pk) => {
          const { epk } = keyOf(pk)
          return range.minInclusive <= epk && epk < range.maxExclusive
        })
        const feed = await fixture.feed({ range, maxItems: 3 })
        expect(feed.map(({ id }) => id).sort()).toEqual(wanted.sort())
        expect(feed.every(({ kind }) => kind === PENDING_DELETE_ROW)).toBe(true)
      }
    })

    test('TTL-13 CF-12 a waiting reader wakes at a sweep', async () => {
      const { fixture, clock } = await make(5)
      const at = await fixture.write('p', 'a')
      const wait = fixture.waitIn(FULL_RANGE, at)
      clock.step(5000)
      await fixture.maintain('sweep')
      expect(await wait).toBe(true)
      expect((await fixture.page(at)).rows).toHaveLength(1)
    })

    test('TTL-13 a document without a ttl in force, deleted or replaced in time gets none', async () => {
      const { fixture, clock } = await make(5)
      await fixture.commit(fixture.batch('p', [put('never', { ttl: -1 }), put('b'), put('c')]))
      await fixture.commit(fixture.batch('p', [del('b')]))
      clock.step(4000)
      await fixture.write('p', 'c')
      clock.step(1000)
      expect(await fixture.maintain('sweep')).toBe(0)
      expect((await fixture.feed()).map(({ kind }) => kind)).toEqual([LIVE_ROW, LIVE_ROW])
    })

    test('TTL-16 a document that is written again after expiry is new, and its pending delete comes first', async () => {
      const { fixture, clock } = await make(5)
      const { database } = fixture
      const before = committed(await fixture.commit(fixture.batch('p', [put('a', { n: 1 })])))
      clock.step(7000)
      const operation = put('a', { n: 2, condition: { kind: 'absent' } })
      const outcome = await fixture.commit(fixture.batch('p', [operation]))
      expect(outcome).toMatchObject({ kind: 'committed', batches: [{ existed: [false] }] })
      const after = committed(outcome)
      const feed = await fixture.feed({ maxItems: 1 })
      expect(feed).toMatchObject([
        { id: 'a', n: 1, kind: PENDING_DELETE_ROW, expirySecond: START_SECOND + 5 },
        { id: 'a', n: 2, kind: LIVE_ROW, lsn: after, expirySecond: START_SECOND + 12 },
      ])
      const [pending] = feed
      expect(pending?.lsn).toBeGreaterThan(before)
      expect(pending?.lsn).toBeLessThan(after)
      expect(await fixture.maintain('sweep')).toBe(0)
      expect(await fixture.read('p', 'a')).toMatchObject({ n: 2, _lsn: after })
      expect(await database.check()).toEqual([])
    })

    test('TTL-16 one written again after the sweep leaves its pending delete alone', async () => {
      const { fixture, clock } = await make(5)
      await fixture.commit(fixture.batch('p', [put('a', { n: 1 })]))
      clock.step(5000)
      await fixture.maintain('sweep')
      await fixture.commit(fixture.batch('p', [put('a', { n: 2, condition: { kind: 'absent' } })]))
      clock.step(5000)
      await fixture.commit(fixture.batch('p', [put('a', { n: 3, condition: { kind: 'absent' } })]))
      expect((await fixture.feed()).map(({ kind, n }) => [kind, n])).toEqual([
        [PENDING_DELETE_ROW, 1],
        [PENDING_DELETE_ROW, 2],
        [LIVE_ROW, 3],
      ])
    })

    test('TTL-16 ST-5 a batch over several expired documents has one LSN after all their pending deletes', async () => {
      const { fixture, clock } = await make(5)
      const ids = ['a', 'b', 'c', 'd']
      await fixture.write('p', ...ids)
      await fixture.write('q', 'x')
      clock.step(5000)
      const outcome = await fixture.commit(
        fixture.batch('p', [put('new'), put('a'), put('b'), del('c'), put('d')]),
        fixture.batch('q', [put('x')]),
        fixture.batch('p', [put('a', { n: 9, condition: { kind: 'present' } }), put('c')]),
      )
      expect(outcome).toMatchObject({
        batches: [
          { existed: [false, false, false, false, false] },
          { existed: [false] },
          { existed: [true, false] },
        ],
      })
      if (outcome.kind !== 'committed') throw new Error('not committed')
      const feed = await fixture.feed({ maxItems: 1 })
      const [first, second, third] = outcome.batches.map((batch) => batch.lsn)
      expect(feed.map(({ id, kind }) => `${kind === LIVE_ROW ? 'live' : 'gone'} ${id}`)).toEqual([
        'gone a',
        'gone b',
        'gone d',
        'live new',
        'live b',
        'live d',
        'gone x',
        'live x',
        'gone c',
        'live a',
        'live c',
      ])
      const lsns = feed.map((entry) => entry.lsn)
      expect(lsns.slice(3)).toEqual([
        first,
        first,
        first,
        expect.any(Number),
        second,
        expect.any(Number),
        third,
        third,
      ])
      expect(new Set(lsns).size).toBe(8)
      expect(await fixture.maintain('sweep')).toBe(0)
    })

    test('ST-5 TTL-16 a batch raises the counter of its range by its writes, and by the expired documents that it puts again', async () => {
      const { fixture, clock } = await make(5)
      const present = { kind: 'check', id: 'a', condition: { kind: 'present' } } as const
      const from = await fixture.write('p', 'a', 'b')
      const last = async (...batches: readonly CommitBatch[]): Promise<number> =>
        committed(await fixture.commit(...batches)) - from
      expect(await last(fixture.batch('q', [put('x'), put('y'), put('z')]))).toBe(3)
      expect(await last(fixture.batch('p', [present]))).toBe(3)
      expect(await last(fixture.batch('p', [present, del('missing')]))).toBe(4)
      clock.step(5000)
      const again = [del('b'), put('a'), put('new')]
      expect(await last(fixture.batch('p', again), fixture.batch('q', [put('x')]))).toBe(10)
      expect((await fixture.feed()).map(({ id, lsn }) => [id, lsn - from])).toEqual([
        ['a', 5],
        ['a', 8],
        ['new', 8],
        ['x', 9],
        ['x', 10],
      ])
    })

    test('TTL-16 a refused commit over an expired document writes no pending delete', async () => {
      const { fixture, clock } = await make(5)
      await fixture.write('p', 'a')
      clock.step(5000)
      const outcome = await fixture.commit(
        fixture.batch('p', [put('a')]),
        fixture.batch('p', [put('b', { condition: { kind: 'present' } })]),
      )
      expect(outcome).toMatchObject({ kind: 'refused', batchIndex: 1 })
      expect(await fixture.feed()).toEqual([])
      expect(await fixture.maintain('sweep')).toBe(1)
    })
  })

  describe('purge', () => {
    const retention = (retentionSeconds: number, waitFor: readonly string[] = []): EngineSetup => ({
      definition: { pendingDeletes: { retentionSeconds, waitFor } },
    })

    test('TTL-14 a pending delete stays for its retention, counted from when it was written', async () => {
      const { fixture, clock } = await make(5, retention(60))
      await fixture.write('p', 'a')
      clock.step(1_000_000)
      await fixture.maintain('sweep')
      clock.step(60_000 - 251)
      expect(await fixture.maintain('purge')).toBe(0)
      expect(await fixture.feed()).toHaveLength(1)
      const { nextDueMs } = await fixture.database.readMaintenance()
      expect(nextDueMs).toBe((START_SECOND + 1060) * 1000)
      clock.step(1)
      expect(await fixture.maintain('purge')).toBe(1)
      expect(await fixture.feed()).toEqual([])
      expect(
        await fixture.database.readExpiry(fixture.collection, { withinSeconds: [] }),
      ).toMatchObject({
        pendingDeletes: 0,
      })
    })

    test('TTL-14 with groups to wait for it stays until all have come past it', async () => {
      const { fixture, clock } = await make(5, retention(0, ['one', 'two']))
      const { database, collection } = fixture
      await fixture.write('p', 'a')
      await fixture.write('p', 'b')
      clock.step(5000)
      await fixture.maintain('sweep')
      const [first, second] = (await fixture.feed()).map((entry) => entry.lsn)
      const report = (group: string, at = 0): Promise<void> =>
        database.reportPositions(collection, [{ group, range: FULL_RANGE, lsn: lsn(at) }])
      expect(await fixture.maintain('purge')).toBe(0)
      expect((await database.readMaintenance()).nextDueMs).toBeUndefined()
      await report('one', second)
      expect(await fixture.maintain('purge')).toBe(0)
      await report('two', (first ?? 0) - 1)
      expect(await fixture.maintain('purge')).toBe(0)
      await report('two', first)
      expect(await fixture.maintain('purge')).toBe(1)
      expect((await fixture.feed()).map((entry) => entry.lsn)).toEqual([second])
      // Set back: the last report counts.
      await report('two', 0)
      expect(await fixture.maintain('purge')).toBe(0)
      await fixture.update({ pendingDeletes: { retentionSeconds: 0, waitFor: ['one'] } })
      expect(await fixture.maintain('purge')).toBe(1)
    })

    test('TTL-14 a group is waited for by the part of the keys that a pending delete is in', async () => {
      const { fixture, clock } = await make(5, retention(0, ['group']))
      const { database, collection } = fixture
      await fixture.write('p', 'a')
      clock.step(5000)
      await fixture.maintain('sweep')
      const [entry] = await fixture.feed()
      const { epk } = keyOf('p')
      const reached = lsn(entry?.lsn ?? 0)
      const below = { minInclusive: '', maxExclusive: epk }
      await database.reportPositions(collection, [{ group: 'group', range: below, lsn: reached }])
      expect(await fixture.maintain('purge')).toBe(0)
      const above = { minInclusive: epk, maxExclusive: 'FF' }
      await database.reportPositions(collection, [{ group: 'group', range: above, lsn: reached }])
      expect(await fixture.maintain('purge')).toBe(1)
    })

    test('TTL-14 nothing is purged above one that has to stay', async () => {
      const { fixture, clock } = await make(5, retention(10))
      await fixture.write('p', 'a')
      clock.step(5000)
      await fixture.maintain('sweep')
      await fixture.write('p', 'b')
      clock.step(5000)
      await fixture.maintain('sweep')
      clock.step(5000)
      expect(await fixture.maintain('purge')).toBe(1)
      expect((await fixture.feed()).map(({ id }) => id)).toEqual(['b'])
    })

    test('TTL-14 the purge takes no more than it was told, and goes on', async () => {
      const { fixture, clock } = await make(5, retention(0))
      await fixture.write('p', ...Array.from({ length: 10 }, (_, n) => `d${n}`))
      await fixture.write('p', 'live')
      await fixture.commit(fixture.batch('p', [put('live', { ttl: -1 })]))
      clock.step(5000)
      await fixture.maintain('sweep')
      const task = { kind: 'purge', collection: fixture.collection } as const
      expect(await fixture.piece(task, 4)).toEqual({ kind: 'done', items: 4, more: true })
      expect(await fixture.feed()).toHaveLength(7)
      expect(await fixture.maintain('purge', 4)).toBe(6)
      expect((await fixture.feed()).map(({ id }) => id)).toEqual(['live'])
    })

    test('TTL-15 pages and starts name the LSN up to which pending deletes were purged', async () => {
      const { fixture, clock } = await make(5, retention(0))
      await fixture.write('p', 'a')
      await fixture.write('p', 'b')
      expect((await fixture.page(0)).horizon).toBe(0)
      clock.step(5000)
      await fixture.maintain('sweep')
      const [first, second] = (await fixture.feed()).map((entry) => entry.lsn)
      expect((await fixture.page(0)).horizon).toBe(0)
      const task = { kind: 'purge', collection: fixture.collection } as const
      await fixture.piece(task, 1)
      expect((await fixture.page(0)).horizon).toBe(first)
      await fixture.maintain('purge')
      expect((await fixture.page(0)).horizon).toBe(second)
      await fixture.write('p', 'c')
      const page = await fixture.page(second ?? 0)
      expect(page.horizon).toBe(second)
      for (const kind of ['beginning', 'now'] as const) {
        expect((await fixture.start({ kind })).horizon).toBe(second)
      }
      // The log of all versions has a horizon of its own.
      await fixture.update({ allVersions: { retentionSeconds: 60, previousImages: false } })
      const { horizon } = await fixture.start({ kind: 'now' }, { mode: 'allVersions' })
      expect(horizon).toBe(page.lsn)
    })

    test('TTL-15 latest-version positions never expire: the feed of documents is whole after a purge', async () => {
      const { fixture, clock } = await make(5, retention(0))
      const old = await fixture.write('p', 'a')
      await fixture.commit(fixture.batch('p', [put('b', { ttl: -1 })]))
      clock.step(5000)
      await fixture.maintain('sweep')
      await fixture.maintain('purge')
      expect((await fixture.feed({ afterLsn: old })).map(({ id }) => id)).toEqual(['b'])
      expect(await fixture.feedIds()).toEqual(['b'])
      expect((await fixture.start({ kind: 'time', ts: START_SECOND })).lsn).toBeLessThanOrEqual(old)
    })
  })

  describe('positions', () => {
    const part = (minInclusive: string, maxExclusive: string): typeof FULL_RANGE => ({
      minInclusive,
      maxExclusive,
    })

    test('TTL-14 positions of groups come back by parts, the last report of a part counts', async () => {
      const { fixture } = await make(null)
      const { database, collection } = fixture
      const group = 'group'
      const report = (range: typeof FULL_RANGE, at: number): Promise<void> =>
        database.reportPositions(collection, [{ group, range, lsn: lsn(at) }])
      const read = async (): Promise<unknown> =>
        (await database.readPositions(collection, group)).map((position) => [
          position.group,
          position.range.minInclusive,
          position.range.maxExclusive,
          position.lsn,
        ])
      expect(await read()).toEqual([])
      await report(part('20', '40'), 7)
      await report(part('', '20'), 5)
      expect(await read()).toEqual([
        [group, '', '20', 5],
        [group, '20', '40', 7],
      ])
      await report(part('10', '30'), 3)
      expect(await read()).toEqual([
        [group, '', '10', 5],
        [group, '10', '30', 3],
        [group, '30', '40', 7],
      ])
      await report(FULL_RANGE, 9)
      expect(await read()).toEqual([[group, '', 'FF', 9]])
      await database.reportPositions(collection, [
        { group, range: part('', '20'), lsn: lsn(10) },
        { group: 'other', range: FULL_RANGE, lsn: lsn(1) },
      ])
      expect(await read()).toEqual([
        [group, '', '20', 10],
        [group, '20', 'FF', 9],
      ])
      expect(await database.readPositions(collection, 'other')).toHaveLength(1)
    })

    test('positions go with their collection', async () => {
      const { fixture } = await make(null)
      const { database, collection } = fixture
      await database.reportPositions(collection, [
        { group: 'group', range: FULL_RANGE, lsn: lsn(1) },
      ])
      await database.deleteCollection('coll')
      const again = await database.createCollection('coll', collection.definition, [FULL_RANGE])
      expect(await database.readPositions(again, 'group')).toEqual([])
      const gone = { code: 'ERR_NOT_FOUND' }
      await expect(database.readPositions(collection, 'group')).rejects.toMatchObject(gone)
    })
  })
}
