import {
  errorCode,
  type BulkOperation,
  type BulkOutcome,
  type DocumentBody,
  type WriteOptions,
} from '@tidemark/contracts'
import type { Store } from '@tidemark/store'
import { describe, expect, test } from 'vitest'
import {
  allPages,
  changesOf,
  liveIds,
  makeCollection,
  makeTimed,
  rejection,
  type OpenStore,
  type TestCollection,
  type TestDocument,
} from './fixtures.ts'

type Operation = BulkOperation<TestDocument>
type Outcome = BulkOutcome<TestDocument>

/** Many writes at once, each for itself (ST-12). */
export function collectionBulk(open: OpenStore): void {
  describe('bulk', () => {
    test('ST-12 each operation has the outcome that it would have alone, in the order of the input', async () => {
      const { store, collection } = await makeTimed(open, { uniqueKeys: [['/mail']] })
      const twin = await makeCollection(store, {
        id: 'twin',
        defaultTtl: -1,
        uniqueKeys: [['/mail']],
      })
      const etags: string[] = []
      for (const each of [collection, twin]) {
        const { etag } = await each.create({ id: 'there', pk: 'p', n: 1, mail: 'there' })
        await each.create({ id: 'gone', pk: 'q', mail: 'gone' })
        etags.push(etag)
      }
      const operations = (etag: string): readonly unknown[] => [
        { kind: 'create', document: { id: 'new', pk: 1, mail: 'new' } },
        { kind: 'create', document: { id: 'there', pk: 'p' } },
        { kind: 'upsert', document: { id: 'a', pk: 'p', mail: 'there' } },
        { kind: 'upsert', document: { id: 'b', pk: 'p', mail: 'b' } },
        { kind: 'replace', document: { id: 'missing', pk: 'p' } },
        { kind: 'upsert', document: { id: 'c', pk: 'p' }, partitionKey: 'q' },
        { kind: 'upsert', document: { id: 'c', pk: { no: 'key' } } },
        { kind: 'upsert', document: { id: 'c', pk: 'p', text: 'x'.repeat(2 * 2 ** 20) } },
        { kind: 'upsert', document: { id: 'c', pk: 'p', ttl: 0 } },
        { kind: 'upsert', document: { id: 'c/d', pk: 'p' } },
        { kind: 'upsert', document: { id: 'c', pk: 'p' }, ifMatch: '"other"' },
        { kind: 'upsert', document: { id: 'c', pk: 'p' }, ifNoneMatch: '*' },
        { kind: 'replace', document: { id: 'there', pk: 'p', n: 2, mail: 'there' }, ifMatch: etag },
        { kind: 'replace', document: { id: 'there', pk: 'p', n: 3, mail: 'there' }, ifMatch: etag },
        {
          kind: 'upsert',
          document: { id: 'there', pk: 'p', n: 4, mail: 'there' },
          ifMatch: '*',
          ifNoneMatch: etag,
        },
        {
          kind: 'patch',
          id: 'there',
          partitionKey: 'p',
          operations: [{ op: 'incr', path: '/n', value: 6 }],
        },
        {
          kind: 'patch',
          id: 'there',
          partitionKey: 'p',
          operations: [{ op: 'remove', path: '/no' }],
        },
        { kind: 'patch', id: 'there', partitionKey: 'p', operations: null },
        { kind: 'patch', id: 'there', partitionKey: 'p', operations: [null] },
        {
          kind: 'patch',
          id: 'missing',
          partitionKey: 'p',
          operations: [{ op: 'set', path: '/n', value: 1 }],
        },
        { kind: 'delete', id: 'gone', partitionKey: 'q' },
        { kind: 'delete', id: 'gone', partitionKey: 'q' },
        { kind: 'delete', id: 'gone', partitionKey: ['two', 'keys'] },
        { kind: 'upsert', document: { id: 'c', pk: 'p' }, ifmatch: etag },
        { kind: 'read', id: 'there', partitionKey: 'p' },
        null,
        { kind: 'upsert', document: { id: 'last', pk: 'p', mail: 'last', ttl: 5 } },
      ]
      const [etag = '', twinEtag = ''] = etags
      const list = operations(etag) as readonly Operation[]
      const outcomes = await outcomesOf(collection.bulk(list))
      expect(outcomes.map(({ operation }) => operation)).toEqual(list)
      const alone: string[] = []
      for (const operation of operations(twinEtag) as readonly Operation[]) {
        alone.push(await runAlone(twin, operation))
      }
      expect(outcomes.map(inWords)).toEqual(alone)
      expect(new Set(alone.filter((each) => each.startsWith('ERR')))).toEqual(
        new Set([
          'ERR_EXISTS',
          'ERR_UNIQUE_KEY',
          'ERR_NOT_FOUND',
          'ERR_PARTITION_KEY_MISMATCH',
          'ERR_INVALID_PARTITION_KEY',
          'ERR_DOCUMENT_TOO_LARGE',
          'ERR_INVALID_DOCUMENT',
          'ERR_PRECONDITION_FAILED',
          'ERR_INVALID_PATCH',
          'ERR_INVALID_OPTION',
        ]),
      )
      expect(await bodiesOf(collection)).toEqual(await bodiesOf(twin))
      expect((await collection.read('there', 'p')).document?.['n']).toBe(10)
    })

    test('ST-12 what holds no operations is refused, and nothing is written', async () => {
      const collection = await makeCollection(await open())
      const operation = { kind: 'create', document: { id: 'a', pk: 'p' } }
      for (const source of [null, undefined, 5, 'create', operation]) {
        const outcomes = outcomesOf(collection.bulk(source as never))
        expect([source, await rejection(outcomes)]).toEqual([source, 'ERR_INVALID_OPTION'])
      }
      expect(await bodiesOf(collection)).toEqual([])
    })

    test('ST-12 a condition that throws fails its own patch only', async () => {
      const collection = await makeCollection(await open())
      await collection.create({ id: 'a', pk: 'p' })
      const cause = new RangeError('of the caller')
      const patch = {
        kind: 'patch',
        id: 'a',
        partitionKey: 'p',
        operations: [{ op: 'set', path: '/n', value: 1 }],
        condition: () => {
          throw cause
        },
      } as const
      const upsert = { kind: 'upsert', document: { id: 'b', pk: 'p' } } as const
      expect(await outcomesOf(collection.bulk([patch, upsert]))).toMatchObject([
        { kind: 'failed', operation: patch, error: { code: 'ERR_INVALID_PATCH', cause } },
        { kind: 'written', created: true },
      ])
    })

    test('ST-12 operations on one document are done in order, whatever their kind', async () => {
      const collection = await makeCollection(await open(), { partitionCount: 4 })
      const operations: Operation[] = []
      for (let round = 0; round < 40; round++) {
        for (let key = 0; key < 7; key++) {
          const [id, pk] = [`document ${key}`, key]
          operations.push(
            { kind: 'create', document: { id, pk, n: round } },
            { kind: 'create', document: { id, pk, n: -1 } },
            {
              kind: 'patch',
              id,
              partitionKey: pk,
              operations: [{ op: 'incr', path: '/n', value: 1000 }],
            },
            { kind: 'replace', document: { id, pk, n: round }, ifMatch: '*' },
            { kind: 'delete', id, partitionKey: pk },
            { kind: 'replace', document: { id, pk, n: -2 } },
          )
        }
      }
      const outcomes = await outcomesOf(collection.bulk(operations))
      const expected = ['created', 'ERR_EXISTS', 'written', 'written', 'deleted', 'ERR_NOT_FOUND']
      expect(outcomes.map(inWords)).toEqual(operations.map((_, index) => expected[index % 6]))
      expect(await liveIds(collection)).toEqual([])
    })

    test('ST-12 a write waits for the patch before it', async () => {
      const collection = await makeCollection(await open())
      const [id, pk] = ['a', 'p']
      await collection.create({ id, pk })
      const value = 1
      const outcomes = await outcomesOf(
        collection.bulk([
          { kind: 'patch', id, partitionKey: pk, operations: [{ op: 'set', path: '/n', value }] },
          { kind: 'delete', id, partitionKey: pk },
        ]),
      )
      expect(outcomes.map(inWords)).toEqual(['written', 'deleted'])
    })

    test('ST-5, ST-12 the feed has each write once, at the LSN of its outcome, LSNs rising in each range', async () => {
      const collection = await makeCollection(await open(), { partitionCount: 4 })
      const documents = Array.from({ length: 1500 }, (_, n) => ({ id: `d${n}`, pk: n % 50, n }))
      const outcomes = await outcomesOf(
        collection.bulk(documents.map((document) => ({ kind: 'create', document }))),
      )
      const lsns = new Map<string, number>()
      for (const outcome of outcomes) {
        if (outcome.kind !== 'written') throw new Error(inWords(outcome))
        expect(outcome.created).toBe(true)
        lsns.set(idOf(outcome.operation), outcome.lsn)
        const { id, pk } = 'document' in outcome.operation ? outcome.operation.document : {}
        if (lsns.size % 100 === 0) {
          const { document } = await collection.read(String(id), Number(pk))
          expect(document?._etag).toBe(outcome.etag)
        }
      }
      expect(lsns.size).toBe(1500)
      const pages = await allPages(collection.changes({ from: 'beginning', follow: false }))
      let seen = 0
      const last = new Map<string, number>()
      for (const { changes, range } of pages) {
        for (const change of changes) {
          const { id, lsn } = change
          expect(lsn).toBe(lsns.get(id))
          // Not in one transaction: no two have the same.
          expect(lsn).toBeGreaterThan(last.get(range.minInclusive) ?? 0)
          last.set(range.minInclusive, lsn)
          seen++
        }
      }
      expect(seen).toBe(1500)
      expect(last.size).toBe(4)
    })

    test('ST-12 reads no more than it has room for, and closes a source that it leaves', async () => {
      const collection = await makeCollection(await open())
      let read = 0
      let isClosed = false
      function* endless(): Generator<Operation> {
        try {
          for (;;) yield { kind: 'upsert', document: { id: `d${read++}`, pk: 'p' } }
        } finally {
          isClosed = true
        }
      }
      let taken = 0
      for await (const { kind } of collection.bulk(endless())) {
        expect(kind).toBe('written')
        if (++taken === 300) break
      }
      expect(isClosed).toBe(true)
      expect(read).toBeLessThan(20_000)
      const count = await collection.count()
      expect(count).toBeGreaterThanOrEqual(300)
      expect(count).toBeLessThanOrEqual(read)
      // Nothing is under way any more.
      expect(await collection.count()).toBe(count)
    })

    test('ST-12 bounds what is under way in bytes, too', async () => {
      const collection = await makeCollection(await open())
      let read = 0
      function* large(): Generator<Operation> {
        const text = 'x'.repeat(2 ** 20)
        while (read < 60) yield { kind: 'upsert', document: { id: `d${read++}`, pk: 'p', text } }
      }
      const outcomes = collection.bulk(large())
      await outcomes.next()
      expect(read).toBeLessThan(25)
      await outcomes.return()
    })

    test('ST-12 an outcome comes before a slow source goes on', async () => {
      const collection = await makeCollection(await open())
      const answered = [0, 1, 2].map(() => Promise.withResolvers<void>())
      async function* slow(): AsyncGenerator<Operation> {
        for (const [n, { promise }] of answered.entries()) {
          yield { kind: 'create', document: { id: `d${n}`, pk: 'p' } }
          await promise
        }
      }
      const ids: string[] = []
      for await (const { operation } of collection.bulk(slow())) {
        answered[ids.length]?.resolve()
        ids.push(idOf(operation))
      }
      expect(ids).toEqual(['d0', 'd1', 'd2'])
    })

    test('ST-12 a signal ends the reading; what was read is written and has an outcome', async () => {
      const collection = await makeCollection(await open())
      const reason = new Error('enough')
      const aborted = new AbortController()
      const isReading = Promise.withResolvers<void>()
      async function* silent(): AsyncGenerator<Operation> {
        for (let n = 0; n < 10; n++) yield { kind: 'create', document: { id: `d${n}`, pk: 'p' } }
        isReading.resolve()
        await new Promise(() => {})
      }
      const outcomes: Outcome[] = []
      const loop = async (): Promise<void> => {
        const bulk = collection.bulk(silent(), { signal: aborted.signal })
        for await (const outcome of bulk) outcomes.push(outcome)
      }
      const ended = loop()
      await isReading.promise
      aborted.abort(reason)
      await expect(ended).rejects.toBe(reason)
      expect(outcomes.map(inWords)).toEqual(Array.from({ length: 10 }, () => 'created'))
      expect(await collection.count()).toBe(10)
      const late = collection.bulk([{ kind: 'create', document: { id: 'late', pk: 'p' } }], {
        signal: aborted.signal,
      })
      await expect(late.next()).rejects.toBe(reason)
      expect(await collection.count()).toBe(10)
    })

    test('ST-12 a signal that aborts before anything was read ends it, whatever the source does', async () => {
      const store = await open()
      await makeCollection(store)
      const aborted = new AbortController()
      const silent: AsyncIterable<Operation> = {
        [Symbol.asyncIterator]: () => ({ next: () => new Promise(() => {}) }),
      }
      // A handle of its own, which is not open yet.
      const collection = store.database('db').collection<TestDocument>('coll')
      const first = collection.bulk(silent, { signal: aborted.signal }).next()
      const reason = new Error('enough')
      aborted.abort(reason)
      await expect(first).rejects.toBe(reason)
    })

    test('ST-12 an error of the source comes after the outcomes', async () => {
      const collection = await makeCollection(await open())
      const broken = new Error('broken')
      function* failing(): Generator<Operation> {
        for (let n = 0; n < 5; n++) yield { kind: 'create', document: { id: `d${n}`, pk: 'p' } }
        throw broken
      }
      const outcomes: Outcome[] = []
      const loop = async (): Promise<void> => {
        for await (const outcome of collection.bulk(failing())) outcomes.push(outcome)
      }
      await expect(loop()).rejects.toBe(broken)
      expect(outcomes.map(inWords)).toEqual(['created', 'created', 'created', 'created', 'created'])
      expect(await collection.count()).toBe(5)
    })

    test('ST-12 a collection that is gone, a closed store and an unknown option end it', async () => {
      const store = await open()
      const collection = await makeCollection(store)
      const ending = async (end: () => Promise<void>): Promise<readonly [string, number]> => {
        let taken = 0
        async function* source(): AsyncGenerator<Operation> {
          for (let n = 0; n < 10; n++) {
            yield { kind: 'upsert', document: { id: `d${n}`, pk: 'p' } }
            while (taken <= n) await new Promise((resolve) => setImmediate(resolve))
            if (n === 4) await end()
          }
        }
        const loop = async (): Promise<void> => {
          for await (const { kind } of collection.bulk(source())) {
            expect(kind).toBe('written')
            taken++
          }
        }
        return [await rejection(loop()), taken]
      }
      const misspelt = collection.bulk([], { signa: AbortSignal.abort() } as object)
      expect(await rejection(misspelt.next())).toBe('ERR_INVALID_OPTION')
      await removeAndCheck(store, ending)
      const again = await makeCollection(store, { id: 'again' })
      const bulk = again.bulk([{ kind: 'create', document: { id: 'a', pk: 'p' } }])
      await store.close()
      expect(await rejection(bulk.next())).toBe('ERR_STORE_CLOSED')
    })
  })
}

async function removeAndCheck(
  store: Store,
  ending: (end: () => Promise<void>) => Promise<readonly [string, number]>,
): Promise<void> {
  const end = (): Promise<void> => store.database('db').deleteCollection('coll')
  expect(await ending(end)).toEqual(['ERR_NOT_FOUND', 5])
}

async function outcomesOf(bulk: AsyncIterable<Outcome>): Promise<readonly Outcome[]> {
  const outcomes: Outcome[] = []
  for await (const outcome of bulk) outcomes.push(outcome)
  return outcomes
}

function inWords(outcome: Outcome): string {
  if (outcome.kind === 'failed') return errorCode(outcome.error) ?? String(outcome.error)
  return outcome.kind === 'written' && outcome.created ? 'created' : outcome.kind
}

/** The same as a single write. */
async function runAlone(collection: TestCollection, operation: Operation | null): Promise<string> {
  const code = async (
    write: Promise<{ readonly created?: boolean }>,
    kind: string,
  ): Promise<string> => {
    const failure = await rejection(write)
    if (failure !== 'none') return failure
    return (await write).created === true ? 'created' : kind
  }
  switch (operation?.kind) {
    case 'create':
    case 'upsert':
    case 'replace': {
      const { kind, document, ...options } = operation
      return code(collection[kind](document, options as WriteOptions), 'written')
    }
    case 'patch': {
      const { kind: _, id, partitionKey, operations, ...options } = operation
      return code(collection.patch(id, partitionKey, operations, options), 'written')
    }
    case 'delete': {
      const { kind: _, id, partitionKey, ...options } = operation
      return code(
        collection.delete(id, partitionKey, options).then(() => ({})),
        'deleted',
      )
    }
    default:
      // What is no kind of operation.
      return 'ERR_INVALID_OPTION'
  }
}

function idOf(operation: Operation): string {
  return 'document' in operation ? operation.document.id : operation.id
}

async function bodiesOf(collection: TestCollection): Promise<readonly DocumentBody[]> {
  const changes = await changesOf(collection)
  return changes
    .flatMap((change) => (change.kind === 'document' ? [change.document] : []))
    .map(({ _rid, _self, _etag, _ts, _lsn, ...body }) => body)
    .toSorted((a, b) => (a.id < b.id ? -1 : 1))
}
