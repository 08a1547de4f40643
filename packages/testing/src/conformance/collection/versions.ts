import { FULL_RANGE, type FeedPosition, type StartPosition } from '@tidemark/contracts'
import { describe, expect, test } from 'vitest'
import {
  START_MS,
  allPages,
  changesOf,
  continuationNow,
  makeCollection,
  makeTimed,
  rejection,
  summary,
  thrown,
  type OpenStore,
  type TestCollection,
} from './fixtures.ts'

const MODE = { mode: 'allVersions' } as const

/** All-versions-and-deletes mode. */
export function collectionVersions(open: OpenStore): void {
  const makeLogged = (options: Parameters<typeof makeTimed>[1] = {}) =>
    makeTimed(open, { allVersions: { retentionSeconds: 3600, previousImages: true }, ...options })
  const start = (collection: TestCollection, position: StartPosition): Promise<FeedPosition> =>
    collection.resolveStart({ range: FULL_RANGE, start: position, ...MODE })
  const read = (collection: TestCollection, { continuation }: FeedPosition) =>
    collection.readPage({ range: FULL_RANGE, continuation, ...MODE })

  describe('all versions', () => {
    test('CF-11 every create, replace and delete in order, each with its images', async () => {
      const { clock, collection } = await makeLogged()
      const first = await collection.create({ id: 'a', pk: 'p', n: 1 })
      clock.step(1500)
      const second = await collection.replace({ id: 'a', pk: 'p', n: 2 })
      const third = await collection.patch('a', 'p', [{ op: 'set', path: '/n', value: 3 }])
      const gone = await collection.delete('a', 'p')
      const changes = await changesOf(collection, MODE)
      expect(changes).toEqual([
        {
          kind: 'version',
          id: 'a',
          partitionKey: 'p',
          lsn: first.lsn,
          operationType: 'create',
          crts: START_MS,
          current: first.document,
          timeToLiveExpired: false,
        },
        {
          kind: 'version',
          id: 'a',
          partitionKey: 'p',
          lsn: second.lsn,
          operationType: 'replace',
          crts: START_MS + 1500,
          current: second.document,
          previous: first.document,
          timeToLiveExpired: false,
        },
        expect.objectContaining({
          operationType: 'replace',
          lsn: third.lsn,
          current: third.document,
          previous: second.document,
        }),
        {
          kind: 'version',
          id: 'a',
          partitionKey: 'p',
          lsn: gone.lsn,
          operationType: 'delete',
          crts: START_MS + 1500,
          previous: third.document,
          timeToLiveExpired: false,
        },
      ])
    })

    test('CF-11 an expiry is a delete that says so; previous images only where they are kept', async () => {
      for (const previousImages of [true, false]) {
        const { store, clock, collection } = await makeLogged({
          allVersions: { retentionSeconds: 3600, previousImages },
        })
        await collection.create({ id: 'a', pk: 'p', ttl: 5, n: 1 })
        clock.step(6000)
        await store.runMaintenance()
        await collection.create({ id: 'a', pk: 'p', n: 2 })
        const [, expiry, again] = await changesOf(collection, MODE)
        expect(expiry).toMatchObject({ operationType: 'delete', timeToLiveExpired: true, id: 'a' })
        expect(expiry).not.toHaveProperty('current')
        expect(expiry !== undefined && 'previous' in expiry).toBe(previousImages)
        expect(again).toMatchObject({ operationType: 'create', current: { n: 2 } })
      }
    })

    test('TTL-16 CF-11 over an expired document the expiry comes before the create', async () => {
      const { clock, collection } = await makeLogged()
      await collection.create({ id: 'a', pk: 'p', ttl: 5, n: 1 })
      clock.step(6000)
      await collection.create({ id: 'a', pk: 'p', n: 2 })
      const changes = await changesOf(collection, MODE)
      expect(summary(changes)).toEqual(['create a', 'delete a', 'create a'])
      expect(changes[1]).toMatchObject({ timeToLiveExpired: true })
    })

    test('CF-11 both modes are read side by side, and a continuation is of one of them', async () => {
      const { collection } = await makeLogged({ partitionCount: 2 })
      for (let round = 0; round < 3; round++) {
        for (let n = 0; n < 10; n++) await collection.upsert({ id: `d${n}`, pk: `p${n}`, round })
      }
      const all = await allPages(
        collection.changes({ from: 'beginning', follow: false, maxItemCount: 4, ...MODE }),
      )
      const versions = all.flatMap(({ changes }) => changes)
      expect(versions).toHaveLength(30)
      for (let n = 0; n < 10; n++) {
        const rounds = versions
          .filter(({ id }) => id === `d${n}`)
          .map((change) => change.kind === 'version' && change.current?.['round'])
        expect(rounds).toEqual([0, 1, 2])
      }
      expect(await changesOf(collection)).toHaveLength(10)
      const log = await continuationNow(collection, MODE)
      const latest = await continuationNow(collection)
      await collection.delete('d1', 'p1')
      await collection.upsert({ id: 'd2', pk: 'p2', round: 9 })
      expect(
        summary(await changesOf(collection, { from: { continuation: log }, ...MODE })),
      ).toEqual(expect.arrayContaining(['delete d1', 'replace d2']))
      expect(summary(await changesOf(collection, { from: { continuation: latest } }))).toEqual([
        'document d2',
      ])
      const wrong = [
        changesOf(collection, { from: { continuation: log } }),
        changesOf(collection, { from: { continuation: latest }, ...MODE }),
      ]
      for (const promise of wrong) expect(await rejection(promise)).toBe('ERR_INVALID_CONTINUATION')
    })

    test('CF-11 a transaction is on one page, and a page has its limit', async () => {
      const { collection } = await makeLogged()
      for (const ids of [['a', 'b', 'c'], ['d'], ['e', 'f']]) {
        await collection.batch(
          'p',
          ids.map((id) => ({ kind: 'upsert' as const, document: { id, pk: 'p' } })),
        )
      }
      const pages = await allPages(
        collection.changes({ from: 'beginning', follow: false, maxItemCount: 2, ...MODE }),
      )
      expect(pages.map(({ changes }) => changes.length)).toEqual([3, 3])
    })

    test('CF-12 who waits in this mode is woken by a delete', async () => {
      const { collection } = await makeLogged()
      await collection.create({ id: 'a', pk: 'p' })
      const now = await start(collection, 'now')
      const { signal } = new AbortController()
      const { continuation } = now
      const request = { range: FULL_RANGE, continuation, timeoutMs: 20_000, signal, ...MODE }
      const waiting = collection.waitForChanges(request)
      await collection.delete('a', 'p')
      expect(await waiting).toBe(true)
      expect(summary((await read(collection, now)).changes)).toEqual(['delete a'])
      expect(
        await rejection(collection.waitForChanges({ ...request, mode: 'latestVersion' })),
      ).toBe('ERR_INVALID_CONTINUATION')
    })

    test('CF-11 without a log the mode is refused, and so is one that is none', async () => {
      const collection = await makeCollection(await open())
      expect(await rejection(changesOf(collection, MODE))).toBe('ERR_ALL_VERSIONS_OFF')
      expect(await rejection(start(collection, 'now'))).toBe('ERR_ALL_VERSIONS_OFF')
      const bad = { mode: 'everything' as 'allVersions' }
      expect(thrown(() => collection.changes(bad))).toBe('ERR_INVALID_OPTION')
      const position = { range: FULL_RANGE, start: 'now', ...bad } as const
      expect(await rejection(collection.resolveStart(position))).toBe('ERR_INVALID_OPTION')
      const text = { range: FULL_RANGE, continuation: '', ...MODE }
      expect(await rejection(collection.readPageText(text))).toBe('ERR_INVALID_OPTION')
    })

    test('CF-11 a continuation that is too old is an error, never a silent gap', async () => {
      const { store, clock, collection } = await makeLogged({
        allVersions: { retentionSeconds: 60 },
      })
      await collection.create({ id: 'a', pk: 'p', n: 1 })
      const early = await start(collection, 'beginning')
      const seen = await read(collection, early)
      // It has read, even though there was nothing: from here on it is to miss nothing.
      const empty = await read(collection, seen)
      // Whoever begins at a moment is promised everything after it, also before its first read.
      const now = await start(collection, 'now')
      const atTime = await start(collection, new Date(clock.wallMs()))
      await collection.upsert({ id: 'a', pk: 'p', n: 2 })
      clock.step(61_000)
      expect(await store.runMaintenance()).toMatchObject({ versionsTrimmed: 2 })
      await collection.upsert({ id: 'a', pk: 'p', n: 3 })
      for (const position of [seen, empty, now, atTime]) {
        await expect(read(collection, position)).rejects.toMatchObject({
          code: 'ERR_HORIZON_PASSED',
          range: FULL_RANGE,
          lsn: position.lsn,
        })
      }
      const left = (await read(collection, early)).changes
      expect(left).toMatchObject([{ operationType: 'replace', current: { n: 3 } }])
      // The feed of newest versions has no horizon.
      expect(await changesOf(collection, { pendingDeletes: false })).toHaveLength(1)
    })

    test('CF-11 a start by time is refused when the log does not reach back so far', async () => {
      const { store, clock, collection } = await makeLogged({
        allVersions: { retentionSeconds: 60 },
      })
      await collection.create({ id: 'a', pk: 'p' })
      const at = (timeMs: number) => start(collection, new Date(timeMs))
      const changes = async (timeMs: number) =>
        summary((await read(collection, await at(timeMs))).changes)
      expect(await changes(0)).toEqual(['create a'])
      clock.step(100_000)
      await store.runMaintenance()
      await collection.create({ id: 'b', pk: 'p' })
      clock.step(20_000)
      await collection.create({ id: 'c', pk: 'p' })
      for (const timeMs of [0, START_MS, START_MS + 30_000]) {
        expect(await rejection(at(timeMs))).toBe('ERR_HORIZON_PASSED')
      }
      // Within the retention, and after an entry that is still there.
      expect(await changes(START_MS + 61_000)).toEqual(['create b', 'create c'])
      await collection.updateSettings({ allVersions: { retentionSeconds: 10_000 } })
      expect(await changes(START_MS + 110_000)).toEqual(['create c'])
      expect(await changes(START_MS + 500_000)).toEqual([])
      // A longer retention does not bring back what is gone.
      expect(await rejection(at(START_MS + 61_000))).toBe('ERR_HORIZON_PASSED')
    })

    test('CF-11 a log that was off for a while has a gap, and says so', async () => {
      const { store, clock, collection } = await makeLogged()
      await collection.create({ id: 'a', pk: 'p', n: 1 })
      const seen = await read(collection, await start(collection, 'beginning'))
      await collection.updateSettings({ allVersions: null })
      expect(await rejection(read(collection, seen))).toBe('ERR_ALL_VERSIONS_OFF')
      await collection.upsert({ id: 'a', pk: 'p', n: 2 })
      await store.runMaintenance()
      await collection.updateSettings({ allVersions: { retentionSeconds: 3600 } })
      clock.step(5000)
      await collection.upsert({ id: 'a', pk: 'p', n: 3 })
      expect(await rejection(read(collection, seen))).toBe('ERR_HORIZON_PASSED')
      const fresh = await changesOf(collection, MODE)
      expect(fresh).toMatchObject([{ operationType: 'replace', current: { n: 3 } }])
      const resynced = await allPages(
        collection.changes({
          from: { continuation: seen.continuation },
          follow: false,
          onHorizonPassed: 'resync',
          ...MODE,
        }),
      )
      expect(resynced[0]).toMatchObject({ resynchronized: { lsn: seen.lsn }, changes: fresh })
    })
  })
}
