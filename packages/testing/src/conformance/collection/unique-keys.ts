import {
  CodedError,
  errorCode,
  partitionKeyDefinition,
  type BatchOperation,
} from '@tidemark/contracts'
import type { CollectionOptions, Store } from '@tidemark/store'
import { describe, expect, test } from 'vitest'
import {
  START_SECOND,
  makeCollection,
  makeTimed,
  rejection,
  type OpenStore,
  type TestCollection,
  type TestDocument,
} from './fixtures.ts'

const BROKEN = 'ERR_UNIQUE_KEY'

/** Unique keys of collections, as Cosmos DB has them. */
export function collectionUniqueKeys(open: OpenStore): void {
  describe('unique keys', () => {
    test('are part of the definition, for ever', async () => {
      const store = await open()
      const uniqueKeys = [['/mail'], ['/a/b', '/"c/d"']]
      const collection = await makeCollection(store, { uniqueKeys })
      expect((await collection.readRecord()).definition.uniqueKeys).toEqual(uniqueKeys)
      const changed = await collection.updateSettings({ defaultTtl: 5, annotation: 'text' })
      expect(changed.definition.uniqueKeys).toEqual(uniqueKeys)
      expect((await collection.readRecord()).definition.uniqueKeys).toEqual(uniqueKeys)
      await makeCollection(store, { uniqueKeys })
      await makeCollection(store)
      for (const other of [[], [['/mail']]]) {
        expect(await rejection(makeCollection(store, { uniqueKeys: other }))).toBe(
          'ERR_COLLECTION_MISMATCH',
        )
      }
      const without = await makeCollection(store, { id: 'without', uniqueKeys: [] })
      expect((await without.readRecord()).definition.uniqueKeys).toBeUndefined()
    })

    test('that no collection can have are refused', async () => {
      const store = await open()
      const many = (count: number): string[] => Array.from({ length: count }, (_, n) => `/p${n}`)
      const refused: readonly unknown[] = [
        'mail',
        { paths: ['/mail'] },
        [[]],
        ['/mail'],
        [[5]],
        [['mail']],
        [['/']],
        [['/a//b']],
        [['/"a']],
        [['/mail', '/mail']],
        [['/mail', '/"mail"']],
        [['/mail'], ['/mail']],
        [['/_ts']],
        [['/_etag']],
        [['/ttl']],
        [many(17)],
        many(11).map((path) => [path]),
      ]
      for (const uniqueKeys of refused) {
        const options = { id: 'refused', uniqueKeys } as Partial<CollectionOptions>
        expect([uniqueKeys, await rejection(makeCollection(store, options))]).toEqual([
          uniqueKeys,
          'ERR_INVALID_OPTION',
        ])
      }
      const most = many(10).map((first) => [first, ...many(25).slice(10)])
      await makeCollection(store, { id: 'most', uniqueKeys: most })
    })

    test('hold for every kind of write, and say which document and paths', async () => {
      const collection = await made(open, [['/mail', '/deep/n']])
      await collection.create({ id: 'a', pk: 'p', mail: 'm', deep: { n: 1 } })
      await collection.create({ id: 'a', pk: 'q', mail: 'm', deep: { n: 1 } })
      await collection.create({ id: 'b', pk: 'p', mail: 'm', deep: { n: 2 } })
      const twin = { id: 'c', pk: 'p', mail: 'm', deep: { n: 1 } }
      const error: unknown = await collection.create(twin).catch((reason: unknown) => reason)
      expect(error).toBeInstanceOf(CodedError)
      expect(error).toMatchObject({
        code: BROKEN,
        retryable: false,
        resourceId: 'c',
        paths: ['/mail', '/deep/n'],
      })
      expect(await rejection(collection.upsert(twin))).toBe(BROKEN)
      expect(await rejection(collection.replace({ ...twin, id: 'b' }))).toBe(BROKEN)
      const ifNoneMatch = '"00000000-00000000000000"'
      expect(await rejection(collection.replace({ ...twin, id: 'b' }, { ifNoneMatch }))).toBe(
        BROKEN,
      )
      const patch = [{ op: 'set', path: '/deep/n', value: 1 }] as const
      expect(await rejection(collection.patch('b', 'p', patch))).toBe(BROKEN)
      expect((await collection.read('b', 'p')).document).toMatchObject({ deep: { n: 2 } })
      await collection.delete('a', 'p')
      await collection.upsert(twin)
      await collection.replace({ id: 'c', pk: 'p', mail: 'm', deep: { n: 3 } })
      await collection.patch('b', 'p', patch)
      expect(await rejection(collection.upsert({ ...twin, id: 'd' }))).toBe(BROKEN)
    })

    test('a document that is there or missing is said before its unique key', async () => {
      const collection = await made(open, [['/mail']])
      const { etag } = await collection.create({ id: 'a', pk: 'p', mail: 'm' })
      await collection.create({ id: 'b', pk: 'p', mail: 'n' })
      const broken = { id: 'b', pk: 'p', mail: 'm' }
      expect(await rejection(collection.create(broken))).toBe('ERR_EXISTS')
      expect(await rejection(collection.replace({ ...broken, id: 'c' }))).toBe('ERR_NOT_FOUND')
      expect(await rejection(collection.replace(broken, { ifMatch: etag }))).toBe(
        'ERR_PRECONDITION_FAILED',
      )
    })

    test('what is missing is null, types are told apart, and what is stored counts', async () => {
      const collection = await made(open, [['/a', '/"b/c"/d']])
      const write = (id: string, rest: object): Promise<string> =>
        rejection(collection.create({ id, pk: 'p', ...rest }))
      expect(await write('1', {})).toBe('none')
      expect(await write('2', { a: null })).toBe(BROKEN)
      expect(await write('3', { 'b/c': { e: 1 } })).toBe(BROKEN)
      expect(await write('4', { b: { c: { d: 1 } } })).toBe(BROKEN)
      expect(await write('5', { 'b/c': { d: 1 } })).toBe('none')
      expect(await write('6', { 'b/c': { d: 1 } })).toBe(BROKEN)
      expect(await write('7', { 'b/c': { d: '1' } })).toBe('none')
      expect(await write('8', { 'b/c': { d: true } })).toBe('none')
      expect(await write('9', { a: 'x'.repeat(5000) })).toBe('none')
      expect(await write('10', { a: `${'x'.repeat(4999)}y` })).toBe('none')
      expect(await write('11', { a: 'x'.repeat(5000) })).toBe(BROKEN)
      expect(await write('12', { a: { y: 1, x: [1, { q: 1, p: 2 }] } })).toBe('none')
      expect(await write('13', { a: { x: [1, { p: 2, q: 1 }], y: 1 } })).toBe(BROKEN)
      expect(await write('14', { a: new Date(0) })).toBe('none')
      expect(await write('15', { a: '1970-01-01T00:00:00.000Z' })).toBe(BROKEN)
      expect(await write('16', { a: 'nul \u0000, half \ud800' })).toBe('none')
      expect(await write('17', { a: 'nul \u0000, half \ud800' })).toBe(BROKEN)
    })

    test('of a hierarchical partition key all paths are the scope', async () => {
      const partitionKey = partitionKeyDefinition(['/tenant', '/user'])
      const collection = await made(open, [['/mail']], { partitionKey })
      const write = (id: string, tenant: string, user: string): Promise<string> =>
        rejection(collection.create({ id, tenant, user, mail: 'm' }))
      expect(await write('1', 't', 'u')).toBe('none')
      expect(await write('2', 't', 'v')).toBe('none')
      expect(await write('3', 's', 'u')).toBe('none')
      expect(await write('4', 't', 'u')).toBe(BROKEN)
    })

    test('ST-4 hold inside a batch, in its order, and it names the operation', async () => {
      const collection = await made(open, [['/mail']])
      await collection.create({ id: 'a', pk: 'p', mail: 'm' })
      const create = (id: string, mail: string): BatchOperation<TestDocument> => ({
        kind: 'create',
        document: { id, pk: 'p', mail },
      })
      const replace = (id: string, mail: string): BatchOperation<TestDocument> => ({
        kind: 'replace',
        document: { id, pk: 'p', mail },
      })
      const remove = (id: string): BatchOperation<TestDocument> => ({ kind: 'delete', id })
      const failing = async (...operations: BatchOperation<TestDocument>[]): Promise<unknown> => {
        const error: unknown = await collection.batch('p', operations).catch((e: unknown) => e)
        const { operationIndex, cause } = error as { operationIndex?: number; cause?: unknown }
        return errorCode(cause) === BROKEN ? operationIndex : error
      }
      expect(await failing(create('b', 'n'), create('c', 'm'))).toBe(1)
      expect(await failing(create('b', 'n'), create('c', 'n'))).toBe(1)
      expect(await failing(create('b', 'm'), remove('a'))).toBe(0)
      // Operations that are read first, or that follow others on the same document.
      const read: BatchOperation<TestDocument> = { kind: 'read', id: 'a' }
      expect(await failing(read, create('b', 'n'), create('c', 'm'))).toBe(2)
      expect(await failing(read, create('b', 'm'), remove('b'))).toBe(1)
      expect(await failing(create('b', 'n'), replace('b', 'm'), replace('b', 'o'))).toBe(1)
      const patch: BatchOperation<TestDocument> = {
        kind: 'patch',
        id: 'b',
        operations: [{ op: 'set', path: '/mail', value: 'm' }],
      }
      expect(await failing(create('b', 'n'), patch)).toBe(1)
      expect(await collection.count()).toBe(1)
      await collection.batch('p', [remove('a'), create('b', 'm')])
      await collection.batch('p', [
        create('c', 'n'),
        replace('b', 'tmp'),
        replace('c', 'm'),
        replace('b', 'n'),
      ])
      expect(await failing(create('d', 'm'))).toBe(0)
      expect(await failing(create('d', 'n'))).toBe(0)
      await collection.batch('p', [create('d', 'tmp'), { kind: 'read', id: 'b' }])
    })

    test('hold in atomic commits, which name the write', async () => {
      const store = await open()
      const collection = await made(async () => store, [['/mail']], { defaultTtl: -1 })
      const other = await makeCollection(store, { id: 'other' })
      const put = (id: string, mail: string, pk = 'p') => ({
        collection,
        operation: { kind: 'put', document: { id, pk, mail } } as const,
      })
      const del = (id: string) => ({
        collection,
        operation: { kind: 'delete', id, partitionKey: 'p' } as const,
      })
      const { collection: _, operation } = put('x', 'm')
      const elsewhere = { collection: other, operation }
      const database = store.database('db')
      await database.commitAtomically([put('a', 'm'), elsewhere, put('a', 'm', 'q')])
      const check = { kind: 'check', id: 'a', partitionKey: 'p' } as const
      const failed: unknown = await database
        .commitAtomically([
          elsewhere,
          { collection, operation: check },
          put('b', 'n'),
          put('c', 'm'),
        ])
        .catch((error: unknown) => error)
      expect(failed).toMatchObject({
        code: 'ERR_ATOMIC_WRITE_FAILED',
        writeIndex: 3,
        cause: { code: BROKEN, resourceId: 'c', paths: ['/mail'] },
      })
      // One document more than once: later batches see what earlier ones gave up.
      await database.commitAtomically([put('a', 'n'), put('b', 'm'), del('a'), put('c', 'n')])
      const expiresAtMs = (START_SECOND + 100) * 1000
      const expiring = {
        kind: 'put',
        document: { id: 'd', pk: 'p', mail: 'm' },
        expiresAtMs,
      } as const
      const twin: unknown = await database
        .commitAtomically([{ collection, operation: expiring }])
        .catch((error: unknown) => error)
      expect(twin).toMatchObject({ writeIndex: 0, cause: { code: BROKEN } })
      expect(await collection.count()).toBe(3)
    })

    test('TTL-4 TTL-13 an expired document holds no value, before and after it was swept', async () => {
      const { clock, collection, store } = await makeTimed(open, { uniqueKeys: [['/mail']] })
      await collection.create({ id: 'a', pk: 'p', mail: 'm', ttl: 5 })
      await collection.create({ id: 'b', pk: 'p', mail: 'n', ttl: 5 })
      expect(await rejection(collection.create({ id: 'c', pk: 'p', mail: 'm' }))).toBe(BROKEN)
      clock.step(5000)
      await collection.create({ id: 'c', pk: 'p', mail: 'm' })
      await store.runMaintenance()
      await collection.create({ id: 'd', pk: 'p', mail: 'n' })
      // Written again: it has to find other values than those that were taken meanwhile.
      expect(await rejection(collection.create({ id: 'a', pk: 'p', mail: 'm' }))).toBe(BROKEN)
      await collection.create({ id: 'a', pk: 'p', mail: 'o' })
      expect(await rejection(collection.create({ id: 'e', pk: 'p', mail: 'o' }))).toBe(BROKEN)
    })

    test('of many writers at once one gets a value', async () => {
      const collection = await made(open, [['/mail']])
      const codes = await Promise.all(
        Array.from({ length: 20 }, (_, n) =>
          rejection(collection.create({ id: `d${n}`, pk: 'p', mail: `m${n % 2}` })),
        ),
      )
      expect(codes.filter((code) => code === 'none')).toHaveLength(2)
      expect(codes.filter((code) => code === BROKEN)).toHaveLength(18)
      const patched = await Promise.all(
        Array.from({ length: 5 }, (_, n) =>
          rejection(collection.upsert({ id: `e${n}`, pk: 'p', mail: 'e' })),
        ),
      )
      expect(patched.filter((code) => code === 'none')).toHaveLength(1)
    })
  })
}

async function made(
  open: () => Promise<Store>,
  uniqueKeys: readonly (readonly string[])[],
  options: Partial<CollectionOptions> = {},
): Promise<TestCollection> {
  return makeCollection(await open(), { uniqueKeys, ...options })
}
