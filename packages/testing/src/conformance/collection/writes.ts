import { FULL_RANGE, type EtagConditions, type PatchOperation } from '@tidemark/contracts'
import { describe, expect, test } from 'vitest'
import { makeCollection, rejection, type OpenStore, type TestDocument } from './fixtures.ts'

const MIB = 2 ** 20

/** Patches, transactional batches and atomic commits. */
export function collectionWrites(open: OpenStore): void {
  describe('patch', () => {
    test('ST-3 applies its operations in order, in one write', async () => {
      const collection = await makeCollection(await open())
      const { lsn } = await collection.create({ id: 'a', pk: 'p', n: 1, list: [1, 2], o: { x: 1 } })
      const result = await collection.patch('a', 'p', [
        { op: 'incr', path: '/n', value: 4 },
        { op: 'add', path: '/list/0', value: 0 },
        { op: 'add', path: '/list/-', value: 3 },
        { op: 'set', path: '/list/1', value: 'one' },
        { op: 'replace', path: '/o/x', value: null },
        { op: 'move', from: '/o/x', path: '/moved' },
        { op: 'incr', path: '/new', value: -2 },
        { op: 'remove', path: '/o' },
      ])
      expect(result.document).toMatchObject({
        n: 5,
        list: [0, 'one', 2, 3],
        moved: null,
        new: -2,
      })
      expect('o' in result.document).toBe(false)
      expect(result).toMatchObject({ created: false })
      expect(result.lsn).toBeGreaterThan(lsn)
      expect((await collection.read('a', 'p')).document).toEqual(result.document)
    })

    test('ST-3 one that cannot be applied changes nothing', async () => {
      const collection = await makeCollection(await open(), { partitionKey: '/outer/pk' })
      const { document } = await collection.create({
        id: 'a',
        outer: { pk: 'p' },
        n: 'text',
        huge: Number.MAX_VALUE,
        list: [1],
      })
      const good: PatchOperation = { op: 'set', path: '/good', value: 1 }
      const refused: readonly unknown[] = [
        { op: 'replace', path: '/missing', value: 1 },
        { op: 'remove', path: '/missing' },
        { op: 'incr', path: '/n', value: 1 },
        { op: 'incr', path: '/m', value: '1' },
        { op: 'incr', path: '/huge', value: Number.MAX_VALUE },
        { op: 'set', path: '/missing/deep', value: 1 },
        { op: 'set', path: '/list/5', value: 1 },
        { op: 'set', path: '/list/x', value: 1 },
        { op: 'replace', path: '/list/1', value: 1 },
        { op: 'remove', path: '/list/-' },
        { op: 'move', from: '/missing', path: '/x' },
        { op: 'move', from: '/list', path: '/list/0' },
        { op: 'set', path: '', value: 1 },
        { op: 'set', path: 'n', value: 1 },
        { op: 'set', path: '/', value: 1 },
        { op: 'set', path: '/x' },
        { op: 'set', path: '/id', value: 'b' },
        { op: 'remove', path: '/id' },
        { op: 'set', path: '/outer/pk', value: 'q' },
        { op: 'set', path: '/outer', value: {} },
        { op: 'move', from: '/outer', path: '/x' },
        { op: 'set', path: '/_etag', value: 'x' },
        { op: 'set', path: '/_ts', value: 1 },
        { op: 'incr', path: '/_lsn', value: 1 },
        { op: 'set', path: '/constructor/prototype/x', value: 1 },
        { op: 'unknown', path: '/x' },
      ]
      for (const operation of refused) {
        const operations = [good, operation as PatchOperation]
        expect([operation, await rejection(collection.patch('a', 'p', operations))]).toEqual([
          operation,
          'ERR_INVALID_PATCH',
        ])
      }
      for (const operations of [[], Array.from({ length: 11 }, () => good)]) {
        expect(await rejection(collection.patch('a', 'p', operations))).toBe('ERR_INVALID_PATCH')
      }
      expect((await collection.read('a', 'p')).document).toEqual(document)
      await collection.patch(
        'a',
        'p',
        Array.from({ length: 10 }, () => good),
      )
    })

    test('ST-3 no patch, and no row of patches, nests a document deeper than 1,000 levels', async () => {
      const collection = await makeCollection(await open())
      const nested = (levels: number): unknown =>
        JSON.parse('[{"a":'.repeat(levels / 2) + '1' + '}]'.repeat(levels / 2))
      await collection.create({ id: 'a', pk: 'p', list: nested(998) })
      const path = `/list${'/0/a'.repeat(499)}`
      const refused = { code: 'ERR_INVALID_PATCH' }
      await expect(
        collection.patch('a', 'p', [{ op: 'set', path, value: [[]] }]),
      ).rejects.toMatchObject(refused)
      await collection.patch('a', 'p', [{ op: 'set', path, value: [] }])
      await expect(
        collection.patch('a', 'p', [{ op: 'add', path: `${path}/-`, value: {} }]),
      ).rejects.toMatchObject(refused)
      await expect(
        collection.patch('a', 'p', [
          { op: 'add', path: '/more', value: [[]] },
          { op: 'move', from: '/list', path: '/more/0/0' },
        ]),
      ).rejects.toMatchObject(refused)
    })

    test('ST-3 what is no list of operations is no patch', async () => {
      const collection = await makeCollection(await open())
      const { document } = await collection.create({ id: 'a', pk: 'p' })
      for (const operations of [null, undefined, { op: 'set' }, [null], [undefined], ['add']]) {
        const patch = collection.patch('a', 'p', operations as never)
        expect([operations, await rejection(patch)]).toEqual([operations, 'ERR_INVALID_PATCH'])
      }
      expect((await collection.read('a', 'p')).document).toEqual(document)
    })

    test('ST-3 its condition is asked of the present version', async () => {
      const collection = await makeCollection(await open())
      await collection.create({ id: 'a', pk: 'p', n: 1 })
      const operations: readonly PatchOperation[] = [{ op: 'incr', path: '/n', value: 1 }]
      const condition = (document: TestDocument): boolean => document['n'] === 1
      await collection.patch('a', 'p', operations, { condition })
      expect(await rejection(collection.patch('a', 'p', operations, { condition }))).toBe(
        'ERR_PRECONDITION_FAILED',
      )
      expect((await collection.read('a', 'p')).document?.['n']).toBe(2)
    })

    for (const way of ['alone', 'in a batch'] as const) {
      test(`ST-3 both its condition and its etag have to hold, ${way}`, async () => {
        const collection = await makeCollection(await open())
        const operations: readonly PatchOperation[] = [{ op: 'incr', path: '/n', value: 1 }]
        const { etag: old } = await collection.create({ id: 'a', pk: 'p', n: 0 })
        const { etag } = await collection.patch('a', 'p', operations)
        const patch = async (ifMatch: string, isTrue: boolean): Promise<unknown> => {
          const options = { ifMatch, condition: () => isTrue }
          return way === 'alone'
            ? collection.patch('a', 'p', operations, options)
            : collection.batch('p', [{ kind: 'patch', id: 'a', operations, ...options }])
        }
        for (const [ifMatch, isTrue] of [
          [etag, false],
          [old, true],
          [old, false],
        ] as const) {
          const error: unknown = await patch(ifMatch, isTrue).catch((caught: unknown) => caught)
          expect(way === 'alone' ? error : (error as Error).cause).toMatchObject({
            code: 'ERR_PRECONDITION_FAILED',
          })
        }
        expect((await collection.read('a', 'p')).document).toMatchObject({ n: 1 })
        await patch(etag, true)
        expect((await collection.read('a', 'p')).document).toMatchObject({ n: 2 })
      })
    }

    test('ST-3 many at once lose nothing', async () => {
      const collection = await makeCollection(await open())
      await collection.create({ id: 'a', pk: 'p', n: 0 })
      await Promise.all(
        Array.from({ length: 30 }, () =>
          collection.patch('a', 'p', [{ op: 'incr', path: '/n', value: 1 }]),
        ),
      )
      expect((await collection.read('a', 'p')).document?.['n']).toBe(30)
    })
  })

  describe('transactional batch', () => {
    test('ST-4 ST-5 commits all operations with one LSN', async () => {
      const collection = await makeCollection(await open())
      const { etag } = await collection.create({ id: 'a', pk: 'p' })
      await collection.create({ id: 'b', pk: 'p' })
      await collection.create({ id: 'c', pk: 'p', n: 1 })
      const { lsn, documents } = await collection.batch('p', [
        { kind: 'create', document: { id: 'new', pk: 'p' } },
        { kind: 'replace', document: { id: 'a', pk: 'p', n: 1 }, ifMatch: etag },
        { kind: 'delete', id: 'b' },
        { kind: 'patch', id: 'c', operations: [{ op: 'incr', path: '/n', value: 1 }] },
        { kind: 'upsert', document: { id: 'd', pk: 'p' } },
        { kind: 'read', id: 'a' },
      ])
      expect(documents.map((document) => document?.id)).toEqual([
        'new',
        'a',
        undefined,
        'c',
        'd',
        'a',
      ])
      for (const document of documents) if (document) expect(document._lsn).toBe(lsn)
      const { documents: stored } = await collection.readPartition('p')
      expect(stored.map(({ id, _lsn }) => [id, _lsn])).toEqual([
        ['a', lsn],
        ['c', lsn],
        ['d', lsn],
        ['new', lsn],
      ])
      expect(documents[3]).toEqual(stored[1])
    })

    test('ST-4 an operation that fails is named, and nothing of the batch is kept', async () => {
      const collection = await makeCollection(await open())
      const { etag } = await collection.create({ id: 'a', pk: 'p' })
      await collection.upsert({ id: 'a', pk: 'p' })
      const fine = { kind: 'upsert', document: { id: 'x', pk: 'p' } } as const
      const failing: readonly (readonly [unknown, string])[] = [
        [{ kind: 'create', document: { id: 'a', pk: 'p' } }, 'ERR_EXISTS'],
        [{ kind: 'replace', document: { id: 'none', pk: 'p' } }, 'ERR_NOT_FOUND'],
        [{ kind: 'delete', id: 'none' }, 'ERR_NOT_FOUND'],
        [{ kind: 'read', id: 'none' }, 'ERR_NOT_FOUND'],
        [
          { kind: 'patch', id: 'a', operations: [{ op: 'remove', path: '/x' }] },
          'ERR_INVALID_PATCH',
        ],
        [{ kind: 'delete', id: 'a', ifMatch: etag }, 'ERR_PRECONDITION_FAILED'],
        [{ kind: 'upsert', document: { id: 'a', pk: 'q' } }, 'ERR_PARTITION_KEY_MISMATCH'],
        [{ kind: 'upsert', document: { id: 'a/b', pk: 'p' } }, 'ERR_INVALID_DOCUMENT'],
        [{ kind: 'delete', id: '' }, 'ERR_INVALID_DOCUMENT'],
      ]
      for (const [operation, code] of failing) {
        await expect(
          collection.batch('p', [fine, operation as typeof fine, { ...fine }]),
        ).rejects.toMatchObject({ code: 'ERR_BATCH_FAILED', operationIndex: 1, cause: { code } })
      }
      expect(await collection.count()).toBe(1)
    })

    test('ST-4 several operations on one id see one another, in order', async () => {
      const collection = await makeCollection(await open())
      const { documents } = await collection.batch('p', [
        { kind: 'create', document: { id: 'a', pk: 'p', n: 1 } },
        { kind: 'patch', id: 'a', operations: [{ op: 'incr', path: '/n', value: 1 }] },
        { kind: 'read', id: 'a' },
        { kind: 'delete', id: 'a' },
        { kind: 'create', document: { id: 'a', pk: 'p', n: 10 } },
        { kind: 'upsert', document: { id: 'b', pk: 'p' } },
        { kind: 'delete', id: 'b' },
      ])
      expect(documents.map((document) => document?.['n'])).toEqual([
        1,
        2,
        2,
        undefined,
        10,
        undefined,
        undefined,
      ])
      expect((await collection.read('a', 'p')).document?.['n']).toBe(10)
      expect(await collection.count()).toBe(1)
      await expect(
        collection.batch('p', [
          { kind: 'delete', id: 'a' },
          { kind: 'replace', document: { id: 'a', pk: 'p' } },
        ]),
      ).rejects.toMatchObject({ operationIndex: 1, cause: { code: 'ERR_NOT_FOUND' } })
      expect(await collection.count()).toBe(1)
    })

    test('a batch that only reads has no LSN and changes nothing', async () => {
      const collection = await makeCollection(await open())
      const { etag } = await collection.create({ id: 'a', pk: 'p' })
      const { lsn, documents } = await collection.batch('p', [
        { kind: 'read', id: 'a' },
        { kind: 'read', id: 'a', ifNoneMatch: etag },
      ])
      expect(lsn).toBeUndefined()
      expect(documents.map((document) => document?._etag)).toEqual([etag, undefined])
    })

    test('ST-5 each document of a batch has its own LSN: what is only read keeps that of its writing', async () => {
      const collection = await makeCollection(await open())
      const { lsn: first } = await collection.create({ id: 'a', pk: 'p' })
      const { lsn: second } = await collection.create({ id: 'b', pk: 'p' })
      const read = await collection.batch('p', [
        { kind: 'read', id: 'b' },
        { kind: 'read', id: 'a' },
      ])
      expect(read.documents.map((document) => document?._lsn)).toEqual([second, first])
      const { lsn, documents } = await collection.batch('p', [
        { kind: 'read', id: 'a' },
        { kind: 'delete', id: 'b' },
        { kind: 'upsert', document: { id: 'c', pk: 'p' } },
        { kind: 'read', id: 'c' },
      ])
      expect(documents.map((document) => document?._lsn)).toEqual([first, undefined, lsn, lsn])
    })

    test('ST-4 a batch has 1 to 100 operations', async () => {
      const collection = await makeCollection(await open())
      const operations = Array.from({ length: 101 }, (_, n) => ({
        kind: 'create' as const,
        document: { id: `d${n}`, pk: 'p' },
      }))
      expect(await rejection(collection.batch('p', operations))).toBe('ERR_INVALID_OPTION')
      expect(await rejection(collection.batch('p', []))).toBe('ERR_INVALID_OPTION')
      expect(await collection.count()).toBe(0)
      await collection.batch('p', operations.slice(1))
      expect(await collection.count()).toBe(100)
    })

    test('ST-4 batches that race for the same documents keep their sum', async () => {
      const collection = await makeCollection(await open())
      await collection.batch('p', [
        { kind: 'create', document: { id: 'a', pk: 'p', n: 100 } },
        { kind: 'create', document: { id: 'b', pk: 'p', n: 0 } },
      ])
      const transfer = (): Promise<unknown> =>
        collection.batch('p', [
          { kind: 'patch', id: 'a', operations: [{ op: 'incr', path: '/n', value: -1 }] },
          { kind: 'patch', id: 'b', operations: [{ op: 'incr', path: '/n', value: 1 }] },
        ])
      await Promise.all(Array.from({ length: 20 }, transfer))
      const { documents } = await collection.readPartition('p')
      expect(documents.map((document) => document['n'])).toEqual([80, 20])
    })
  })

  describe('atomic commits of jobs', () => {
    test('several collections and partition key values change together', async () => {
      const store = await open()
      const a = await makeCollection(store, { id: 'a', partitionCount: 3 })
      const b = await makeCollection(store, { id: 'b' })
      await a.create({ id: 'old', pk: 'p' })
      const database = store.database('db')
      const { lsns, serverTimeMs } = await database.commitAtomically([
        { collection: a, operation: { kind: 'put', document: { id: 'x', pk: 'p' } } },
        { collection: a, operation: { kind: 'put', document: { id: 'x', pk: 'q' } } },
        { collection: b, operation: { kind: 'put', document: { id: 'x', pk: 'p' } } },
        { collection: a, operation: { kind: 'delete', id: 'old', partitionKey: 'p' } },
        { collection: b, operation: { kind: 'delete', id: 'never', partitionKey: 'p' } },
      ])
      expect(lsns).toHaveLength(5)
      expect((await a.read('x', 'p')).document?._lsn).toBe(lsns[0])
      expect((await a.read('x', 'q')).document?._lsn).toBe(lsns[1])
      expect((await b.read('x', 'p')).document?._lsn).toBe(lsns[2])
      expect((await a.read('old', 'p')).document).toBeUndefined()
      expect((await a.read('x', 'p')).document?._ts).toBe(Math.floor(serverTimeMs / 1000))
    })

    test('a condition that does not hold names its write, and nothing is kept', async () => {
      const store = await open()
      const a = await makeCollection(store)
      const { lsn } = await a.create({ id: 'there', pk: 'p' })
      const database = store.database('db')
      const put = (id: string, pk: string) =>
        ({ collection: a, operation: { kind: 'put', document: { id, pk } } }) as const
      await expect(
        database.commitAtomically([
          put('x', 'p'),
          put('x', 'q'),
          {
            collection: a,
            operation: {
              kind: 'put',
              document: { id: 'there', pk: 'p' },
              ifNoneMatch: '*',
            },
          },
        ]),
      ).rejects.toMatchObject({
        code: 'ERR_ATOMIC_WRITE_FAILED',
        writeIndex: 2,
        presentLsn: lsn,
        cause: { code: 'ERR_PRECONDITION_FAILED' },
      })
      await expect(
        database.commitAtomically([
          put('x', 'p'),
          {
            collection: a,
            operation: {
              kind: 'check',
              id: 'none',
              partitionKey: 'p',
              ifMatch: '*',
            },
          },
        ]),
      ).rejects.toMatchObject({ writeIndex: 1, presentLsn: undefined })
      await expect(
        database.commitAtomically([put('x', 'p'), put('a/b', 'p')]),
      ).rejects.toMatchObject({ writeIndex: 1, cause: { code: 'ERR_INVALID_DOCUMENT' } })
      expect(await a.count()).toBe(1)
    })

    test('ifMatch and ifNoneMatch ask for the version that was read, or any other', async () => {
      const store = await open()
      const a = await makeCollection(store)
      const { etag } = await a.create({ id: 'x', pk: 'p' })
      const document = { id: 'x', pk: 'p' }
      const put = (conditions: EtagConditions): Promise<unknown> =>
        store
          .database('db')
          .commitAtomically([
            { collection: a, operation: { kind: 'put', document, ...conditions } },
          ])
      const refusal = (code: string) => ({ code: 'ERR_ATOMIC_WRITE_FAILED', cause: { code } })
      const refused = refusal('ERR_PRECONDITION_FAILED')
      await expect(put({ ifNoneMatch: etag })).rejects.toMatchObject(refused)
      await put({ ifMatch: etag })
      await expect(put({ ifMatch: etag })).rejects.toMatchObject(refused)
      await put({ ifNoneMatch: etag })
      const both = put({ ifMatch: '*', ifNoneMatch: etag })
      await expect(both).rejects.toMatchObject(refusal('ERR_INVALID_OPTION'))
    })

    test('one document may be written twice; the later write sees the earlier', async () => {
      const store = await open()
      const a = await makeCollection(store)
      const put = (n: number, conditions: EtagConditions) =>
        ({
          collection: a,
          operation: { kind: 'put', document: { id: 'x', pk: 'p', n }, ...conditions },
        }) as const
      const { lsns } = await store
        .database('db')
        .commitAtomically([put(1, { ifNoneMatch: '*' }), put(2, { ifMatch: '*' })])
      expect(lsns[1]).toBeGreaterThan(lsns[0] ?? Infinity)
      expect((await a.read('x', 'p')).document?.['n']).toBe(2)
    })

    test('a worker whose range has a later owner is refused', async () => {
      const store = await open()
      const a = await makeCollection(store)
      const database = store.database('db')
      const write = (epoch: number, id: string): Promise<unknown> =>
        database.commitAtomically(
          [{ collection: a, operation: { kind: 'put', document: { id, pk: 'p' } } }],
          { fence: { job: 'job', range: FULL_RANGE, epoch } },
        )
      await write(5, 'first')
      await write(6, 'second')
      await expect(write(5, 'stale')).rejects.toMatchObject({
        code: 'ERR_FENCED_WRITE',
        job: 'job',
        epoch: 5,
        currentEpoch: 6,
      })
      expect((await a.read('stale', 'p')).document).toBeUndefined()
    })

    test('more than one commit may have is refused for good before anything is sent, less is done', async () => {
      const store = await open()
      const a = await makeCollection(store)
      const database = store.database('db')
      const text = 'x'.repeat(2 * MIB - 100)
      const puts = (count: number) =>
        Array.from({ length: count }, (_, n) => {
          const document = { id: `d${n}`, pk: `p${n % 3}`, text }
          return { collection: a, operation: { kind: 'put', document } } as const
        })
      const refused = { code: 'ERR_COMMIT_TOO_LARGE', retryable: false }
      await expect(database.commitAtomically(puts(33))).rejects.toMatchObject(refused)
      const checks = Array.from({ length: 10_001 }, (_, n) => {
        const operation = {
          kind: 'check',
          id: `c${n}`,
          partitionKey: 'p',
          ifNoneMatch: '*',
        } as const
        return { collection: a, operation }
      })
      await expect(database.commitAtomically(checks)).rejects.toMatchObject(refused)
      expect(await a.count()).toBe(0)
      await database.commitAtomically(puts(12))
      expect(await a.count()).toBe(12)
    })

    test('a batch that is more than one commit may have is refused for good', async () => {
      const a = await makeCollection(await open())
      const text = 'x'.repeat(2 * MIB - 100)
      const upserts = Array.from({ length: 33 }, (_, n) => {
        return { kind: 'upsert', document: { id: `d${n}`, pk: 'p', text } } as const
      })
      const refused = { code: 'ERR_COMMIT_TOO_LARGE', retryable: false }
      await expect(a.batch('p', upserts)).rejects.toMatchObject(refused)
      expect(await a.count()).toBe(0)
    })

    test('a batch that reads or patches more text than its answer may have is refused, and writes nothing', async () => {
      const a = await makeCollection(await open())
      await a.create({ id: 'd', pk: 'p', n: 0, text: 'x'.repeat(2 * MIB - 200) })
      const read = { kind: 'read', id: 'd' } as const
      const patch = {
        kind: 'patch',
        id: 'd',
        operations: [{ op: 'incr', path: '/n', value: 1 }],
      } as const
      const refused = { code: 'ERR_COMMIT_TOO_LARGE', retryable: false }
      for (const one of [read, patch]) {
        const batch = (count: number) =>
          a.batch(
            'p',
            Array.from({ length: count }, () => one),
          )
        await expect(batch(9)).rejects.toMatchObject(refused)
        expect((await a.read('d', 'p')).document?.['n']).toBe(0)
      }
      await a.batch(
        'p',
        Array.from({ length: 8 }, () => patch),
      )
      expect((await a.read('d', 'p')).document?.['n']).toBe(8)
    })

    test('no writes, another database, and a collection that is gone are refused', async () => {
      const store = await open()
      const a = await makeCollection(store)
      const elsewhere = await store
        .database('other')
        .createCollectionIfNotExists<TestDocument>({ id: 'coll', partitionKey: '/pk' })
      const database = store.database('db')
      expect(await rejection(database.commitAtomically([]))).toBe('ERR_INVALID_OPTION')
      const operation = { kind: 'put', document: { id: 'x', pk: 'p' } } as const
      expect(
        await rejection(database.commitAtomically([{ collection: elsewhere, operation }])),
      ).toBe('ERR_INVALID_OPTION')
      await a.count()
      await database.deleteCollection('coll')
      await expect(database.commitAtomically([{ collection: a, operation }])).rejects.toMatchObject(
        { writeIndex: 0, cause: { code: 'ERR_NOT_FOUND' } },
      )
    })
  })
}
