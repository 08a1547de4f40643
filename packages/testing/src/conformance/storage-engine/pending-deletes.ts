import { FULL_RANGE, lsn } from '@tidemark/contracts'
import { LIVE_ROW } from '@tidemark/contracts/internal'
import type { StorageEngine } from '@tidemark/store'
import type { CommitBatch } from '@tidemark/store/engine'
import { describe, expect, test } from 'vitest'
import {
  START_SECOND,
  committed,
  del,
  fixtureWithClock,
  keyOf,
  put,
  type EngineSetup,
} from './fixtures.ts'
import type { SteppedClock } from '../../stepped-clock.ts'
import { within } from './ranges.ts'

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

    test('TTL-14 a purge that goes on where one stopped takes what became due before that place, too', async () => {
      const { fixture, clock } = await make(5, { ...retention(0), ranges: 2 })
      const [low = '', high = ''] = (await fixture.ranges()).flatMap(
        (range) => within(range)[0] ?? [],
      )
      const expire = async (pk: string, ...ids: readonly string[]): Promise<void> => {
        await fixture.write(pk, ...ids)
        clock.step(5000)
        await fixture.maintain('sweep')
      }
      const task = { kind: 'purge', collection: fixture.collection } as const
      await expire(high, 'a', 'b')
      expect(await fixture.piece(task, 1)).toEqual({ kind: 'done', items: 1, more: true })
      await expire(low, 'c')
      expect(await fixture.piece(task, 10)).toEqual({ kind: 'done', items: 2, more: false })
      await expire(high, 'd', 'e')
      expect(await fixture.piece(task, 1)).toEqual({ kind: 'done', items: 1, more: true })
      await expire(low, 'f', 'g', 'h')
      // It stops among the rows of the first range.
      expect(await fixture.piece(task, 2)).toEqual({ kind: 'done', items: 2, more: true })
      expect(await fixture.piece(task, 10)).toEqual({ kind: 'done', items: 2, more: false })
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
