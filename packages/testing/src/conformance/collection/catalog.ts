import { FULL_RANGE, rangesEqual } from '@tidemark/contracts'
import { Store } from '@tidemark/store'
import { describe, expect, test } from 'vitest'
import { makeCollection, rejection, thrown } from './fixtures.ts'

/** Databases, collections, their options, and pkranges. */
export function collectionCatalog(open: () => Promise<Store>): void {
  describe('databases and collections', () => {
    test('ST-1 creating a collection that may not exist creates its database too', async () => {
      const store = await open()
      const create = (): Promise<unknown> =>
        store.database('shop').createCollectionIfNotExists({ id: 'orders', partitionKey: '/c' })
      await Promise.all([create(), create(), create()])
      expect((await store.listDatabases()).map(({ id }) => id)).toEqual(['shop'])
      const records = await store.database('shop').listCollections()
      expect(records.map(({ id }) => id)).toEqual(['orders'])
    })

    test('ST-1 an existing collection is taken as it is, unless its partition key differs', async () => {
      const store = await open()
      const first = await makeCollection(store, { partitionCount: 3 })
      await first.create({ id: 'a', pk: 'p' })
      const again = await makeCollection(store, { partitionCount: 5 })
      expect(await again.count()).toBe(1)
      expect(await again.readFeedRanges()).toHaveLength(3)
      expect(await rejection(makeCollection(store, { partitionKey: '/other' }))).toBe(
        'ERR_COLLECTION_MISMATCH',
      )
      expect(await rejection(makeCollection(store, { partitionKey: ['/pk', '/b'] }))).toBe(
        'ERR_COLLECTION_MISMATCH',
      )
      expect(await first.count()).toBe(1)
    })

    test('ST-1 an existing collection with other settings than those that are named is refused, and stays as it is', async () => {
      const store = await open()
      const settings = {
        defaultTtl: 60,
        indexingMode: 'consistent',
        pendingDeletes: { retentionSeconds: 5, waitFor: ['one', 'two'] },
        allVersions: { retentionSeconds: 50 },
        splitAboveBytes: 2 ** 30,
      } as const
      const collection = await makeCollection(store, settings)
      const { definition } = await collection.readRecord()
      await makeCollection(store, { ...settings, pendingDeletes: { waitFor: ['two'] } })
      await makeCollection(store)
      const others = [
        { defaultTtl: 1 },
        { defaultTtl: null },
        { indexingMode: 'none', defaultTtl: null },
        { pendingDeletes: { retentionSeconds: 6 } },
        { pendingDeletes: { waitFor: ['one', 'three'] } },
        { allVersions: null },
        { allVersions: { retentionSeconds: 50, previousImages: true } },
        { splitAboveBytes: 2 ** 21 },
      ] as const
      for (const other of others) {
        expect(await rejection(makeCollection(store, other))).toBe('ERR_COLLECTION_MISMATCH')
      }
      await expect(makeCollection(store, { defaultTtl: 1 })).rejects.toThrow(
        'exists with defaultTtl 60, not 1: change it by updateSettings, or leave it out',
      )
      expect((await collection.readRecord()).definition).toEqual(definition)
    })

    test('a strict create refuses what exists, and a database that does not', async () => {
      const store = await open()
      const options = { id: 'c', partitionKey: '/pk' }
      expect(await rejection(store.database('nope').createCollection(options))).toBe(
        'ERR_NOT_FOUND',
      )
      const database = await store.createDatabase('db')
      await database.createCollection(options)
      expect(await rejection(database.createCollection(options))).toBe('ERR_EXISTS')
      expect(await rejection(store.createDatabase('db'))).toBe('ERR_EXISTS')
      await store.createDatabaseIfNotExists('db')
    })

    test('names that the wire cannot carry are refused', async () => {
      const store = await open()
      for (const id of [
        '',
        '.',
        '..',
        'a/b',
        'a\\b',
        'a?b',
        'a#b',
        'a ',
        'x'.repeat(256),
        '\ud800',
      ]) {
        expect(thrown(() => store.database(id))).toBe('ERR_INVALID_OPTION')
        expect(await rejection(makeCollection(store, { id }))).toBe('ERR_INVALID_OPTION')
      }
      expect(await store.listDatabases()).toEqual([])
    })

    test('options out of their range are refused, naming the option', async () => {
      const store = await open()
      const refused: readonly (readonly [Parameters<typeof makeCollection>[1], RegExp])[] = [
        [{ partitionCount: 0 }, /partitionCount/],
        [{ partitionCount: 1.5 }, /partitionCount/],
        [{ defaultTtl: 0 }, /defaultTtl/],
        [{ defaultTtl: -2 }, /defaultTtl/],
        [{ defaultTtl: 1.5 }, /defaultTtl/],
        [{ defaultTtl: 2_147_483_648 }, /defaultTtl/],
        [{ defaultTtl: 60, indexingMode: 'none' }, /indexingMode/],
      ]
      for (const [options, message] of refused) {
        await expect(makeCollection(store, options)).rejects.toMatchObject({
          code: 'ERR_INVALID_OPTION',
          message: expect.stringMatching(message),
        })
      }
      const keys = [[], ['/a', '/b', '/c', '/d'], ['a'], ['/a', '/a'], ['/a//b']]
      for (const partitionKey of keys) {
        expect(await rejection(makeCollection(store, { partitionKey }))).toBe(
          'ERR_INVALID_PARTITION_KEY',
        )
      }
      for (const defaultTtl of [null, -1, 1, 2_147_483_647]) {
        await makeCollection(store, { id: `ttl${defaultTtl}`, defaultTtl })
      }
    })

    test('two handles of one collection have one identity, of another of that name another', async () => {
      const store = await open()
      const first = await makeCollection(store)
      const second = store.database('db').collection('coll')
      expect(second.identity).toBe(first.identity)
      expect(second.partitionKeyPaths).toEqual(['/pk'])
      await store.database('db').deleteCollection('coll')
      const again = await makeCollection(store)
      expect(again.identity).not.toBe(first.identity)
    })

    test('a handle made before its collection works once it is there', async () => {
      const store = await open()
      const early = store.database('db').collection('coll')
      expect(await rejection(early.count())).toBe('ERR_NOT_FOUND')
      expect(thrown(() => early.partitionKeyPaths)).toBe('ERR_NOT_FOUND')
      const made = await makeCollection(store)
      expect(early.identity).toBe(made.identity)
      expect(await early.count()).toBe(0)
    })

    test('a handle stays with its collection: after that was deleted it finds nothing', async () => {
      const store = await open()
      const old = await makeCollection(store)
      await old.create({ id: 'a', pk: 'p' })
      await store.database('db').deleteCollection('coll')
      const fresh = await makeCollection(store)
      const calls = [
        () => old.read('a', 'p'),
        () => old.upsert({ id: 'a', pk: 'p' }),
        () => old.batch('p', [{ kind: 'upsert', document: { id: 'a', pk: 'p' } }]),
        () => old.count(),
        () => old.readPartition('p'),
        () => old.readFeedRanges(),
        () => old.readDocuments(),
        () => old.resolveStart({ range: FULL_RANGE, start: 'now' }),
      ]
      for (const call of calls) expect(await rejection(call())).toBe('ERR_NOT_FOUND')
      expect(await fresh.count()).toBe(0)
    })

    test('a store that was opened again knows its collections before their first call', async () => {
      const store = await open()
      const made = await makeCollection(store)
      const { engine } = await made.open()
      expect(engine.record.id).toBe('db')
      const names = (await store.database('db').listCollections()).map(({ rid }) => rid)
      expect(made.identity).toBe(`${store.id}/${names[0]}`)
    })
  })

  describe('pkranges', () => {
    test('ST-7 lists ranges that cover every key, with their wire properties', async () => {
      const collection = await makeCollection(await open(), { partitionCount: 4 })
      const { ranges, continuation } = await collection.readPartitionKeyRanges()
      expect(continuation).toBeUndefined()
      let end = FULL_RANGE.minInclusive
      for (const range of ranges) {
        expect(range.minInclusive).toBe(end)
        end = range.maxExclusive
        expect(range._self).toMatch(/^dbs\/[^/]+\/colls\/[^/]+\/pkranges\/[^/]+\/$/)
        expect(range._self).toContain(range._rid)
        expect(range._etag).toMatch(/^".+"$/)
        expect(range).toMatchObject({ parents: [], status: 'online', _ts: expect.any(Number) })
      }
      expect(end).toBe(FULL_RANGE.maxExclusive)
      expect(new Set(ranges.map(({ id }) => id)).size).toBe(4)
      expect(new Set(ranges.map(({ _rid }) => _rid)).size).toBe(4)
      const feedRanges = await collection.readFeedRanges()
      expect(ranges.every((range, index) => rangesEqual(range, feedRanges[index] ?? range))).toBe(
        true,
      )
    })

    test('ST-7 comes in pages with a continuation, which fits that list only', async () => {
      const store = await open()
      const collection = await makeCollection(store, { partitionCount: 5 })
      const whole = await collection.readPartitionKeyRanges()
      const pages: (typeof whole)[] = []
      for (let continuation: string | undefined; ;) {
        const page = await collection.readPartitionKeyRanges({ maxItemCount: 2, continuation })
        pages.push(page)
        continuation = page.continuation
        if (continuation === undefined) break
      }
      expect(pages.map(({ ranges }) => ranges.length)).toEqual([2, 2, 1])
      expect(pages.flatMap(({ ranges }) => ranges)).toEqual(whole.ranges)

      const other = await makeCollection(store, { id: 'other' })
      const token = pages[0]?.continuation ?? ''
      for (const read of [
        () => other.readPartitionKeyRanges({ continuation: token }),
        () => collection.readDocuments({ continuation: token }),
        () => collection.readPartitionKeyRanges({ continuation: `${token}x` }),
        () => collection.readPartitionKeyRanges({ continuation: 'nonsense' }),
        () => collection.readPartitionKeyRanges({ continuation: '' }),
      ]) {
        expect(await rejection(read())).toBe('ERR_INVALID_CONTINUATION')
      }
      expect(await rejection(collection.readPartitionKeyRanges({ maxItemCount: 0 }))).toBe(
        'ERR_INVALID_OPTION',
      )
    })
  })

  test('maxDocumentBytes out of its range is refused at open', async () => {
    const { engine } = await (await makeCollection(await open())).open()
    expect(engine).toBeDefined()
    const unused = { listDatabases: () => Promise.resolve([]) }
    for (const maxDocumentBytes of [0, -1, 1.5, Number.NaN, 2 ** 40]) {
      const options = { engine: unused as never, maxDocumentBytes }
      expect(await rejection(Store.open(options))).toBe('ERR_INVALID_OPTION')
    }
  })
}
