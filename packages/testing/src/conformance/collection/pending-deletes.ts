import { FULL_RANGE, lsn } from '@tidemark/contracts'
import { describe, expect, test } from 'vitest'
import {
  START_SECOND,
  allPages,
  changesOf,
  continuationNow,
  makeCollection,
  makeTimed,
  rejection,
  summary,
  type OpenStore,
} from './fixtures.ts'

/** Expiry as readers of the feed see it, and when pending deletes go. */
export function collectionPendingDeletes(open: OpenStore): void {
  describe('pending deletes', () => {
    test('CF-10 a marker of the user, the announcement and the expiry are all in the feed', async () => {
      const { store, clock, collection } = await makeTimed(open, { defaultTtl: 100 })
      await collection.create({ id: 'marked', pk: 'p', ttl: -1 })
      await collection.patch('marked', 'p', [{ op: 'set', path: '/deleted', value: true }])
      await collection.create({ id: 'dies', pk: 'p', ttl: 5 })
      expect(await changesOf(collection)).toMatchObject([
        { kind: 'document', id: 'marked', document: { deleted: true } },
        { kind: 'document', id: 'dies', expiresAtMs: (START_SECOND + 5) * 1000 },
      ])
      clock.step(5000)
      await store.runMaintenance()
      expect(summary(await changesOf(collection))).toEqual([
        'document marked',
        'pendingDelete dies',
      ])
    })

    test('TTL-12 a time to live in force is announced, of its own or by default, and changes', async () => {
      const { collection } = await makeTimed(open, { defaultTtl: 100 })
      await collection.create({ id: 'default', pk: 'p' })
      await collection.create({ id: 'own', pk: 'p', ttl: 7 })
      await collection.create({ id: 'never', pk: 'p', ttl: -1 })
      const announced = async () =>
        (await changesOf(collection)).map((change) =>
          change.kind === 'document' && change.expiresAtMs !== undefined
            ? change.expiresAtMs / 1000 - START_SECOND
            : undefined,
        )
      expect(await announced()).toEqual([100, 7, undefined])
      await collection.updateSettings({ defaultTtl: 50 })
      expect(await announced()).toEqual([50, 7, undefined])
      await collection.updateSettings({ defaultTtl: null })
      expect(await announced()).toEqual([undefined, undefined, undefined])
      const [change] = await changesOf(collection)
      expect(change).not.toHaveProperty('expiresAtMs')
    })

    test('TTL-13 an expiry is in the feed once, after the last change, with the last version', async () => {
      const { store, clock, collection } = await makeTimed(open)
      await collection.create({ id: 'a', pk: 'p', ttl: 5, n: 1 })
      const { document, lsn: lastLsn } = await collection.upsert({ id: 'a', pk: 'p', ttl: 5, n: 2 })
      const continuation = await continuationNow(collection)
      clock.step(8000)
      await store.runMaintenance()
      const expected = {
        kind: 'pendingDelete',
        id: 'a',
        partitionKey: 'p',
        expiredAtMs: (START_SECOND + 5) * 1000,
        lastVersion: document,
      }
      for (const from of ['beginning', { continuation }] as const) {
        const [change, ...more] = await changesOf(collection, { from })
        expect(change).toMatchObject(expected)
        expect(change?.lsn).toBeGreaterThan(lastLsn)
        expect(more).toEqual([])
      }
      expect(await changesOf(collection, { pendingDeletes: false })).toEqual([])
      // Nothing new happens to it.
      clock.step(8000)
      const after = await continuationNow(collection)
      await store.runMaintenance()
      expect(await changesOf(collection, { from: { continuation: after } })).toEqual([])
    })

    test('TTL-13 each expiry has its own LSN, in the order of the instants', async () => {
      const { store, clock, collection } = await makeTimed(open)
      for (const ttl of [9, 3, 6]) await collection.create({ id: `t${ttl}`, pk: 'p', ttl })
      clock.step(20_000)
      await store.runMaintenance()
      const changes = await changesOf(collection)
      expect(summary(changes)).toEqual(['pendingDelete t3', 'pendingDelete t6', 'pendingDelete t9'])
      expect(new Set(changes.map((change) => change.lsn)).size).toBe(3)
    })

    test('TTL-13 a sweep wakes those who wait', async () => {
      const { store, clock, collection } = await makeTimed(open)
      await collection.create({ id: 'a', pk: 'p', ttl: 5 })
      const { continuation } = await collection.resolveStart({
        range: FULL_RANGE,
        start: 'now',
      })
      const { signal } = new AbortController()
      const request = { range: FULL_RANGE, continuation, timeoutMs: 20_000, signal }
      const waiting = collection.waitForChanges(request)
      clock.step(5000)
      await store.runMaintenance()
      expect(await waiting).toBe(true)
    })

    test('TTL-13 a page of text leaves pending deletes out and moves past them', async () => {
      const { store, clock, collection } = await makeTimed(open)
      await collection.create({ id: 'a', pk: 'p', ttl: 5 })
      await collection.create({ id: 'b', pk: 'p' })
      clock.step(5000)
      await store.runMaintenance()
      const start = 'beginning'
      const { continuation } = await collection.resolveStart({ range: FULL_RANGE, start })
      const page = await collection.readPageText({ range: FULL_RANGE, continuation })
      expect(page.bodies.map((body) => (JSON.parse(body) as { id: string }).id)).toEqual(['b'])
      expect(page.caughtUp).toBe(true)
    })

    test('TTL-16 a document that is written again after expiry is new; its end comes first', async () => {
      const { store, clock } = await makeTimed(open)
      for (const how of ['create', 'upsert', 'batch', 'atomic'] as const) {
        const collection = await makeCollection(store, { id: how, defaultTtl: -1 })
        await collection.create({ id: 'a', pk: 'p', ttl: 5, n: 1 })
        clock.step(5000)
        const document = { id: 'a', pk: 'p', n: 2 }
        if (how === 'create') await collection.create(document)
        if (how === 'upsert') {
          expect(await collection.upsert(document)).toMatchObject({ created: true })
        }
        if (how === 'batch') await collection.batch('p', [{ kind: 'create', document }])
        if (how === 'atomic') {
          const operation = { kind: 'put', document, ifNoneMatch: '*' } as const
          await store.database('db').commitAtomically([{ collection, operation }])
        }
        const changes = await changesOf(collection)
        expect(changes).toMatchObject([
          { kind: 'pendingDelete', id: 'a', lastVersion: { n: 1 } },
          { kind: 'document', id: 'a', document: { n: 2 } },
        ])
        expect(changes[0]?.lsn).toBeLessThan(changes[1]?.lsn ?? 0)
        // The sweep finds nothing left to do, and both stay.
        expect(await store.runMaintenance()).toMatchObject({ swept: 0 })
        expect(await changesOf(collection)).toEqual(changes)
        expect(await collection.count()).toBe(1)
      }
    })

    test('TTL-16 of one that expires again and again, every end is in the feed', async () => {
      const { store, clock, collection } = await makeTimed(open)
      for (let n = 1; n <= 3; n++) {
        await collection.create({ id: 'a', pk: 'p', ttl: 5, n })
        clock.step(5000)
        if (n === 2) await store.runMaintenance()
      }
      await store.runMaintenance()
      const ends = await changesOf(collection)
      expect(summary(ends)).toEqual(Array.from({ length: 3 }, () => 'pendingDelete a'))
      expect(
        ends.map((change) => change.kind === 'pendingDelete' && change.lastVersion['n']),
      ).toEqual([1, 2, 3])
    })

    test('TTL-14 it stays until every group that is waited for has come past it', async () => {
      const { store, clock, collection } = await makeTimed(open, {
        pendingDeletes: { retentionSeconds: 0, waitFor: ['one', 'two'] },
      })
      await collection.create({ id: 'a', pk: 'p', ttl: 5 })
      clock.step(6000)
      expect(await store.runMaintenance()).toMatchObject({ swept: 1, purged: 0 })
      const [end] = await changesOf(collection)
      const past = end?.lsn ?? lsn(0)
      const report = (group: string, at: number) =>
        collection.positions.report([{ group, range: FULL_RANGE, lsn: lsn(at) }])
      await report('one', past)
      await report('two', past - 1)
      clock.step(86_400_000)
      expect(await store.runMaintenance()).toMatchObject({ purged: 0 })
      await report('other', past)
      expect(await store.runMaintenance()).toMatchObject({ purged: 0 })
      await report('two', past)
      expect(await store.runMaintenance()).toMatchObject({ purged: 1 })
      expect(await collection.positions.read('two')).toEqual([
        { group: 'two', range: FULL_RANGE, lsn: past },
      ])
    })

    test('TTL-14 a group that is waited for no longer holds nothing back', async () => {
      const { store, clock, collection } = await makeTimed(open, {
        pendingDeletes: { retentionSeconds: 0 },
      })
      await collection.addWaitingGroup('archive')
      await collection.create({ id: 'a', pk: 'p', ttl: 5 })
      clock.step(6000)
      expect(await store.runMaintenance()).toMatchObject({ swept: 1, purged: 0 })
      await collection.removeWaitingGroup('archive')
      expect(await store.runMaintenance()).toMatchObject({ purged: 1 })
    })

    test('positions of groups that make no sense are refused', async () => {
      const { collection } = await makeTimed(open)
      const empty = { minInclusive: '20', maxExclusive: '20' }
      const report = (group: string, range = FULL_RANGE) =>
        collection.positions.report([{ group, range, lsn: lsn(1) }])
      expect(await rejection(report(''))).toBe('ERR_INVALID_OPTION')
      expect(await rejection(report('g', empty))).toBe('ERR_INVALID_OPTION')
      expect(await rejection(collection.positions.read('$'))).toBe('ERR_INVALID_OPTION')
      await collection.positions.report([])
      expect(await collection.positions.read('g')).toEqual([])
    })

    test('runMaintenance works off a great many in pieces, and tells of them', async () => {
      const { store, clock, collection } = await makeTimed(open, {
        defaultTtl: 5,
        partitionCount: 2,
        pendingDeletes: { retentionSeconds: 1 },
      })
      for (let round = 0; round < 15; round++) {
        await collection.batch(
          `p${round}`,
          Array.from({ length: 100 }, (_, n) => ({
            kind: 'create' as const,
            document: { id: `d${round}-${n}`, pk: `p${round}` },
          })),
        )
      }
      const told = { swept: 0, purged: 0 }
      store.events.on('swept', ({ documents }) => (told.swept += documents))
      store.events.on('purged', ({ pendingDeletes }) => (told.purged += pendingDeletes))
      clock.step(5000)
      expect(await store.runMaintenance()).toMatchObject({ swept: 1500, purged: 0 })
      expect(await changesOf(collection)).toHaveLength(1500)
      clock.step(2000)
      expect(await store.runMaintenance()).toMatchObject({ swept: 0, purged: 1500 })
      expect(told).toEqual({ swept: 1500, purged: 1500 })
      expect(await allPages(collection.changes({ from: 'beginning', follow: false }))).toHaveLength(
        1,
      )
    })
  })
}
