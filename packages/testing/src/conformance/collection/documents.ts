import assert from 'node:assert/strict'
import { describe, expect, test } from 'vitest'
import {
  START_MS,
  START_SECOND,
  makeCollection,
  rejection,
  type OpenStore,
  type TestDocument,
} from './fixtures.ts'
import { SteppedClock } from '../../stepped-clock.ts'

const MIB = 1024 * 1024

/** Single documents: operations, conditions, limits, identity. */
export function collectionDocuments(open: OpenStore): void {
  describe('documents', () => {
    test('ST-2 come back with _rid, _self, _etag, _ts and _lsn', async () => {
      const collection = await makeCollection(await open())
      const written = await collection.create({
        id: 'a',
        pk: 'p',
        n: 1,
        nested: { list: [1, null] },
      })
      const { document } = written
      expect(written).toMatchObject({ created: true, etag: document._etag, lsn: document._lsn })
      expect(document).toEqual({
        id: 'a',
        pk: 'p',
        n: 1,
        nested: { list: [1, null] },
        _rid: document._rid,
        _self: `dbs/${document._self.split('/')[1]}/colls/${document._self.split('/')[3]}/docs/${document._rid}/`,
        _etag: expect.stringMatching(/^"[0-9a-f-]+"$/),
        _ts: Math.floor(written.serverTimeMs / 1000),
        _lsn: written.lsn,
      })
      const read = await collection.read('a', 'p')
      expect(read).toMatchObject({ document, notModified: false })
      expect(read.serverTimeMs).toBeGreaterThanOrEqual(written.serverTimeMs)
      expect(await collection.read('b', 'p')).toMatchObject({ document: undefined })
      expect(await collection.read('a', 'q')).toMatchObject({ document: undefined })
    })

    test('ST-3 writes and reads give the stored text, the same from both', async () => {
      const collection = await makeCollection(await open())
      const created = await collection.create({ id: 'a', pk: 'p', n: 1 })
      expect(JSON.parse(created.text)).toEqual(created.document)
      const read = await collection.readText('a', 'p')
      const { etag, lsn } = created
      expect(read).toMatchObject({ text: created.text, etag, lsn, notModified: false })
      const patched = await collection.patch('a', 'p', [{ op: 'set', path: '/n', value: 2 }])
      expect((await collection.readText('a', 'p')).text).toBe(patched.text)
      const unchanged = await collection.readText('a', 'p', { ifNoneMatch: patched.etag })
      expect(unchanged).toMatchObject({ text: undefined, etag: patched.etag, notModified: true })
      const none = await collection.readText('none', 'p')
      expect(none).toMatchObject({ text: undefined, etag: undefined, notModified: false })
    })

    test('ST-4 a batch says of each operation what text it left, and whether it made the document', async () => {
      const collection = await makeCollection(await open())
      await collection.create({ id: 'there', pk: 'p', n: 1 })
      const { texts, created, documents } = await collection.batch('p', [
        { kind: 'upsert', document: { id: 'there', pk: 'p', n: 2 } },
        { kind: 'upsert', document: { id: 'new', pk: 'p', n: 1 } },
        { kind: 'upsert', document: { id: 'new', pk: 'p', n: 2 } },
        { kind: 'read', id: 'there' },
        { kind: 'delete', id: 'there' },
        { kind: 'create', document: { id: 'there', pk: 'p', n: 3 } },
      ])
      expect(created).toEqual([false, true, false, false, false, true])
      expect(texts.map((text) => text && (JSON.parse(text) as unknown))).toEqual(documents)
      expect((await collection.readText('there', 'p')).text).toBe(texts[5])
      expect((await collection.readText('new', 'p')).text).toBe(texts[2])
      const direct = await collection.batch('p', [
        { kind: 'upsert', document: { id: 'new', pk: 'p' } },
        { kind: 'create', document: { id: 'newer', pk: 'p' } },
      ])
      expect(direct.created).toEqual([false, true])
    })

    test("ST-2 a user's own values of system properties are ignored", async () => {
      const collection = await makeCollection(await open())
      const first = await collection.create({ id: 'a', pk: 'p' })
      const forged = {
        ...first.document,
        _rid: 'x',
        _lsn: 99,
        _ts: 1,
        _etag: 'e',
        _attachments: 'y',
      }
      const { document } = await collection.replace({ ...forged, n: 1 })
      expect(document).toEqual({
        id: 'a',
        pk: 'p',
        n: 1,
        _rid: first.document._rid,
        _self: first.document._self,
        _etag: document._etag,
        _ts: document._ts,
        _lsn: document._lsn,
      })
      expect(document._lsn).not.toBe(99)
      expect((await collection.read('a', 'p')).document).toEqual(document)
    })

    test('ST-2 no way to write lets a system property in: what the store says of it counts', async () => {
      const store = await open()
      const collection = await makeCollection(store, { defaultTtl: -1 })
      const forged = (id: string): TestDocument => ({
        id,
        pk: 'p',
        n: 1,
        _rid: 'x',
        _self: 'x',
        _etag: 'x',
        _ts: 1,
        _lsn: 1e9,
        _attachments: 'x',
      })
      await collection.create(forged('create'))
      await collection.upsert(forged('upsert'))
      await collection.upsert(forged('replace'))
      await collection.replace(forged('replace'))
      await collection.upsert(forged('patch'))
      await collection.patch('patch', 'p', [{ op: 'set', path: '/m', value: { _ts: 2 } }])
      await collection.batch('p', [
        { kind: 'create', document: forged('b-create') },
        { kind: 'upsert', document: forged('b-upsert') },
        { kind: 'replace', document: forged('b-upsert') },
        { kind: 'patch', id: 'b-create', operations: [{ op: 'incr', path: '/n', value: 0 }] },
      ])
      const expiresAtMs = START_SECOND * 1_000 + 60_000
      await store.database('db').commitAtomically([
        { collection, operation: { kind: 'put', document: forged('atomic') } },
        { collection, operation: { kind: 'put', document: forged('expiring'), expiresAtMs } },
      ])
      const [range] = await collection.readFeedRanges()
      const start = await collection.resolveStart({ range: range!, start: 'beginning' })
      const { changes } = await collection.readPage({ ...start, range: range! })
      expect(changes).toHaveLength(8)
      for (const change of changes) {
        assert(change.kind === 'document')
        const { id, lsn, committedAtMs, document, text = '{}' } = change
        const { m } = document
        const own = { id, pk: 'p', n: 1, ...(m !== undefined && { m }) }
        expect(document).toEqual({
          ...own,
          ...(id === 'expiring' && { ttl: 60 }),
          _rid: expect.stringMatching(/==$/),
          _self: expect.stringContaining('/docs/'),
          _etag: expect.stringMatching(/^"[0-9a-f-]+"$/),
          _ts: committedAtMs / 1000,
          _lsn: lsn,
        })
        expect((await collection.read(id, 'p')).document).toEqual(document)
        // The wire has no texts of users.
        if (text !== '{}') expect(JSON.parse(text)).toEqual(own)
      }
    })

    test('ST-2 ST-3 an etag fits its version after splits, merges, sweeps and folds, in writes and patches', async () => {
      const clock = new SteppedClock(START_MS)
      const store = await open(clock)
      const collection = await makeCollection(store, { defaultTtl: -1 })
      const keys = Array.from({ length: 24 }, (_, n) => `p${n}`)
      const written = new Map<string, string>()
      for (const pk of keys) {
        const { etag } = await collection.create({ id: 'a', pk, n: 0 })
        written.set(pk, etag)
        await collection.create({ id: 'swept', pk, ttl: 1 })
      }
      const [whole] = (await collection.readPartitionKeyRanges()).ranges
      const children = await collection.split(whole!.id)
      clock.step(2_000)
      await store.runMaintenance()
      await collection.merge(children[0].id, children[1].id)
      await store.runMaintenance()
      for (const [index, pk] of keys.entries()) {
        const ifMatch = written.get(pk)!
        expect((await collection.read('a', pk)).document?._etag).toBe(ifMatch)
        const write = (): Promise<unknown> =>
          index % 2 === 0
            ? collection.replace({ id: 'a', pk, n: 1 }, { ifMatch })
            : collection.patch('a', pk, [{ op: 'incr', path: '/n', value: 1 }], { ifMatch })
        await write()
        expect(await rejection(write())).toBe('ERR_PRECONDITION_FAILED')
        expect((await collection.read('a', pk)).document?.['n']).toBe(1)
      }
    })

    test('ST-2 _rid stays over all versions; _etag and _lsn change with each', async () => {
      const collection = await makeCollection(await open())
      const versions = [
        await collection.create({ id: 'a', pk: 'p' }),
        await collection.upsert({ id: 'a', pk: 'p' }),
        await collection.replace({ id: 'a', pk: 'p' }),
        await collection.patch('a', 'p', [{ op: 'set', path: '/n', value: 1 }]),
      ]
      expect(new Set(versions.map(({ document }) => document._rid)).size).toBe(1)
      expect(new Set(versions.map(({ etag }) => etag)).size).toBe(4)
      const lsns = versions.map(({ lsn }) => lsn)
      expect(lsns).toEqual([...lsns].sort((a, b) => a - b))
      const others = [
        await collection.create({ id: 'a', pk: 'q' }),
        await collection.create({ id: 'b', pk: 'p' }),
      ]
      const rids = [...versions, ...others].map(({ document }) => document._rid)
      expect(new Set(rids).size).toBe(3)
      for (const rid of rids) {
        expect(Buffer.from(rid.replaceAll('-', '/'), 'base64')).toHaveLength(16)
      }
    })

    test('ST-3 create, upsert, replace and delete ask what they must of the present document', async () => {
      const collection = await makeCollection(await open())
      const document = { id: 'a', pk: 'p' }
      expect(await rejection(collection.replace(document))).toBe('ERR_NOT_FOUND')
      expect(await rejection(collection.delete('a', 'p'))).toBe('ERR_NOT_FOUND')
      expect(
        await rejection(collection.patch('a', 'p', [{ op: 'set', path: '/n', value: 1 }])),
      ).toBe('ERR_NOT_FOUND')
      expect(await collection.upsert(document)).toMatchObject({ created: true })
      expect(await collection.upsert(document)).toMatchObject({ created: false })
      expect(await rejection(collection.create(document))).toBe('ERR_EXISTS')
      const { lsn } = await collection.delete('a', 'p')
      expect(lsn).toBeGreaterThan(0)
      expect(await collection.create(document)).toMatchObject({ created: true })
    })

    test('ST-3 ifMatch lets a write through only on that version', async () => {
      const collection = await makeCollection(await open())
      const document = { id: 'a', pk: 'p' }
      const missing = { ifMatch: '"nothing"' }
      expect(await rejection(collection.upsert(document, missing))).toBe('ERR_PRECONDITION_FAILED')
      expect(await rejection(collection.upsert(document, { ifMatch: '*' }))).toBe(
        'ERR_PRECONDITION_FAILED',
      )
      expect(await rejection(collection.replace(document, missing))).toBe('ERR_NOT_FOUND')
      const { etag: old } = await collection.create(document)
      const { etag } = await collection.upsert(document, { ifMatch: old })
      const operations = [{ op: 'set', path: '/n', value: 1 }] as const
      for (const ifMatch of [old, '"nothing"', 'no etag', etag.slice(1, -1)]) {
        for (const write of [
          () => collection.upsert(document, { ifMatch }),
          () => collection.replace(document, { ifMatch }),
          () => collection.patch('a', 'p', operations, { ifMatch }),
          () => collection.delete('a', 'p', { ifMatch }),
        ]) {
          expect(await rejection(write())).toBe('ERR_PRECONDITION_FAILED')
        }
      }
      expect((await collection.read('a', 'p')).document?._etag).toBe(etag)
      const { etag: next } = await collection.patch('a', 'p', operations, { ifMatch: etag })
      await collection.replace(document, { ifMatch: '*' })
      expect(await rejection(collection.delete('a', 'p', { ifMatch: next }))).toBe(
        'ERR_PRECONDITION_FAILED',
      )
    })

    test('ST-3 an etag of another collection matches nothing here', async () => {
      const store = await open()
      const collection = await makeCollection(store)
      const other = await makeCollection(store, { id: 'other' })
      const { etag } = await other.create({ id: 'a', pk: 'p' })
      await collection.create({ id: 'a', pk: 'p' })
      expect(await rejection(collection.replace({ id: 'a', pk: 'p' }, { ifMatch: etag }))).toBe(
        'ERR_PRECONDITION_FAILED',
      )
    })

    test('ST-3 ifNoneMatch keeps a write off a version, and `*` off every one', async () => {
      const collection = await makeCollection(await open())
      const document = { id: 'a', pk: 'p' }
      await collection.upsert(document, { ifNoneMatch: '*' })
      expect(await rejection(collection.upsert(document, { ifNoneMatch: '*' }))).toBe(
        'ERR_PRECONDITION_FAILED',
      )
      const { etag } = await collection.upsert(document)
      for (const write of [
        () => collection.upsert(document, { ifNoneMatch: etag }),
        () => collection.replace(document, { ifNoneMatch: etag }),
        () => collection.delete('a', 'p', { ifNoneMatch: etag }),
        () => collection.replace(document, { ifMatch: '*', ifNoneMatch: etag }),
        () => collection.replace(document, { ifNoneMatch: '*' }),
      ]) {
        expect(await rejection(write())).toBe('ERR_PRECONDITION_FAILED')
      }
      await collection.replace(document, { ifNoneMatch: '"another"' })
      await collection.replace(document, { ifMatch: '*', ifNoneMatch: etag })
      await collection.delete('a', 'p', { ifNoneMatch: etag })
      expect(await rejection(collection.replace(document, { ifNoneMatch: etag }))).toBe(
        'ERR_NOT_FOUND',
      )
    })

    test('ST-3 a read of a version that the reader has already leaves it out', async () => {
      const collection = await makeCollection(await open())
      const { etag } = await collection.create({ id: 'a', pk: 'p' })
      expect(await collection.read('a', 'p', { ifNoneMatch: etag })).toMatchObject({
        document: undefined,
        notModified: true,
      })
      expect(await collection.read('a', 'p', { ifNoneMatch: '"x"' })).toMatchObject({
        document: { id: 'a' },
        notModified: false,
      })
      expect(await collection.read('b', 'p', { ifNoneMatch: etag })).toMatchObject({
        document: undefined,
        notModified: false,
      })
    })

    test('ids with reserved characters, too long or no text are refused', async () => {
      const collection = await makeCollection(await open())
      const ids: readonly unknown[] = [
        '',
        '.',
        '..',
        'a/b',
        'a\\b',
        'a#b',
        'x'.repeat(256),
        7,
        null,
      ]
      for (const id of [...ids, undefined, '\ud800', 'a\u0000']) {
        expect(await rejection(collection.upsert({ id, pk: 'p' } as TestDocument))).toBe(
          'ERR_INVALID_DOCUMENT',
        )
        // One that an earlier release took can still be read, and deleted.
        if (id === undefined || id === '.' || id === '..') continue
        expect(await rejection(collection.read(id as string, 'p'))).toBe('ERR_INVALID_DOCUMENT')
      }
      for (const id of [
        'x'.repeat(255),
        ' a b ',
        'a?b',
        'ü€😀',
        "'",
        '"',
        '%2F',
        '...',
        '€'.repeat(255),
      ]) {
        await collection.create({ id, pk: 'p' })
        expect((await collection.read(id, 'p')).document?.id).toBe(id)
      }
    })

    test('what JSON cannot carry is refused, and nothing is written', async () => {
      const collection = await makeCollection(await open())
      const cyclic: { id: string; pk: string; self?: unknown } = { id: 'a', pk: 'p' }
      cyclic.self = cyclic
      class WithoutOwnId {
        readonly pk = 'p'
        get id(): string {
          return 'inherited'
        }
      }
      const documents: readonly unknown[] = [
        cyclic,
        { id: 'a', pk: 'p', big: 1n },
        null,
        undefined,
        'text',
        7,
        [],
        [{ id: 'a' }],
        new WithoutOwnId(),
        new Map([['id', 'a']]),
      ]
      for (const document of documents) {
        expect(await rejection(collection.upsert(document as TestDocument))).toBe(
          'ERR_INVALID_DOCUMENT',
        )
      }
      expect(await collection.count()).toBe(0)
    })

    test('a document is stored as its JSON text says, whatever object it was', async () => {
      const collection = await makeCollection(await open())
      const at = new Date(0)
      const { document } = await collection.create({ id: 'a', pk: 'p', at, gone: undefined })
      expect(document).toMatchObject({ at: '1970-01-01T00:00:00.000Z' })
      expect('gone' in document).toBe(false)
      const custom = { secret: 1, toJSON: () => ({ id: 'b', pk: 'p', shown: true }) }
      await collection.create(custom as unknown as TestDocument)
      expect((await collection.read('b', 'p')).document).toMatchObject({ shown: true })
      // Changing the object after the call does not change what was answered or stored.
      const list = [1]
      const result = await collection.create({ id: 'c', pk: 'p', list })
      list.push(2)
      expect(result.document).toMatchObject({ list: [1] })
      const odd = JSON.parse('{"id":"d","pk":"p","__proto__":{"x":1},"toString":1}') as TestDocument
      await collection.create(odd)
      const read = (await collection.read('d', 'p')).document ?? { id: '' }
      expect(Object.keys(read)).toEqual(expect.arrayContaining(['__proto__', 'toString']))
    })

    test('a document of more than 2 MiB of text is refused, one of 2 MiB is kept', async () => {
      const collection = await makeCollection(await open())
      const frame = JSON.stringify({ id: 'a', pk: 'p', text: '' }).length
      const text = 'x'.repeat(2 * MIB - frame)
      expect(await rejection(collection.upsert({ id: 'a', pk: 'p', text: `${text}x` }))).toBe(
        'ERR_DOCUMENT_TOO_LARGE',
      )
      await collection.upsert({ id: 'a', pk: 'p', text })
      expect((await collection.read('a', 'p')).document?.['text']).toBe(text)
      // Counted in bytes: these are 3 each.
      const wide = '€'.repeat(MIB)
      expect(await rejection(collection.upsert({ id: 'b', pk: 'p', text: wide }))).toBe(
        'ERR_DOCUMENT_TOO_LARGE',
      )
    })

    test('a time to live is checked while the collection has one, and an ordinary property else', async () => {
      const store = await open()
      const plain = await makeCollection(store)
      await plain.create({ id: 'a', pk: 'p', ttl: 'soon' })
      const timed = await makeCollection(store, { id: 'timed', defaultTtl: -1 })
      for (const ttl of [0, -2, 1.5, '60', null, 2_147_483_648]) {
        await expect(timed.upsert({ id: 'a', pk: 'p', ttl })).rejects.toMatchObject({
          code: 'ERR_INVALID_DOCUMENT',
          message: expect.stringContaining('ttl'),
        })
      }
      for (const ttl of [-1, 1, 2_147_483_647, undefined]) {
        await timed.upsert({ id: `ok${ttl}`, pk: 'p', ttl })
      }
    })
  })

  describe('partition keys', () => {
    test('ST-2 values of different types are different partitions', async () => {
      const collection = await makeCollection(await open(), { partitionCount: 3 })
      const values = ['1', 1, true, null, undefined, '', 'null', 0, 1.5, -1]
      for (const [n, pk] of values.entries()) await collection.create({ id: 'a', pk, n })
      expect(await collection.count()).toBe(values.length)
      for (const [n, pk] of values.entries()) {
        expect((await collection.read('a', pk)).document?.['n']).toBe(n)
        const { documents } = await collection.readPartition(pk)
        expect(documents.map((document) => document['n'])).toEqual([n])
      }
    })

    test('a property that is an object or a list counts as None, and -0 as 0', async () => {
      const collection = await makeCollection(await open())
      await collection.create({ id: 'object', pk: { a: 1 } })
      await collection.create({ id: 'list', pk: [1] })
      await collection.create({ id: 'zero', pk: -0 })
      expect((await collection.read('object', undefined)).document).toBeDefined()
      expect((await collection.read('list', undefined)).document).toBeDefined()
      expect((await collection.read('zero', 0)).document).toBeDefined()
    })

    test('the stored text decides: a date is the string that it is written as', async () => {
      const collection = await makeCollection(await open())
      await collection.create({ id: 'a', pk: new Date(0) })
      expect((await collection.read('a', '1970-01-01T00:00:00.000Z')).document).toBeDefined()
      const { changes } = await collection.readPage({
        range: { minInclusive: '', maxExclusive: 'FF' },
        continuation: (
          await collection.resolveStart({
            range: { minInclusive: '', maxExclusive: 'FF' },
            start: 'beginning',
          })
        ).continuation,
      })
      expect(changes[0]?.partitionKey).toBe('1970-01-01T00:00:00.000Z')
    })

    test('ST-1 nested and hierarchical keys are found at their paths', async () => {
      const store = await open()
      const nested = await makeCollection(store, { id: 'nested', partitionKey: '/where/city' })
      await nested.create({ id: 'a', where: { city: 'Rome' } })
      expect((await nested.read('a', 'Rome')).document).toBeDefined()
      const where = { city: 'Rome', toJSON: () => ({ city: 'Oslo' }) }
      await nested.create({ id: 'b', where })
      expect((await nested.read('b', 'Oslo')).document).toBeDefined()
      expect((await nested.read('b', 'Rome')).document).toBeUndefined()
      const tenants = await makeCollection(store, {
        id: 'tenants',
        partitionKey: ['/t', '/u', '/s'],
      })
      await tenants.create({ id: 'a', t: 'x', u: 1 })
      expect((await tenants.read('a', ['x', 1, undefined])).document).toBeDefined()
      expect(await rejection(tenants.read('a', ['x', 1]))).toBe('ERR_INVALID_PARTITION_KEY')
      expect(await rejection(tenants.read('a', 'x'))).toBe('ERR_INVALID_PARTITION_KEY')
    })

    test('a wrong partition key with a document is refused', async () => {
      const collection = await makeCollection(await open())
      const document = { id: 'a', pk: 'p' }
      expect(await rejection(collection.create(document, { partitionKey: 'q' }))).toBe(
        'ERR_PARTITION_KEY_MISMATCH',
      )
      await collection.create(document, { partitionKey: 'p' })
      const wrong: readonly unknown[] = [{}, ['p', 'q'], [['p']], Number.NaN, () => 1]
      for (const value of wrong) {
        expect(await rejection(collection.read('a', value as string))).toBe(
          'ERR_INVALID_PARTITION_KEY',
        )
      }
      const infinite = { id: 'b', pk: Number.POSITIVE_INFINITY }
      expect(await rejection(collection.create(infinite))).toBe('ERR_INVALID_PARTITION_KEY')
    })
  })

  describe('ReadDocumentFeed', () => {
    test('ST-8 pages through every document once, range after range', async () => {
      const collection = await makeCollection(await open(), { partitionCount: 3 })
      for (let n = 0; n < 30; n++) await collection.create({ id: `d${n}`, pk: `p${n % 11}` })
      const seen: string[] = []
      let continuation: string | undefined
      do {
        const page = await collection.readDocuments({ maxItemCount: 4, continuation })
        expect(page.documents.length).toBeLessThanOrEqual(4)
        seen.push(...page.documents.map(({ id }) => id))
        continuation = page.continuation
      } while (continuation !== undefined)
      expect(seen).toHaveLength(30)
      expect(new Set(seen).size).toBe(30)
      for (const maxItemCount of [undefined, -1]) {
        const page = await collection.readDocuments({ maxItemCount })
        expect(page.documents).toHaveLength(30)
        expect(page.continuation).toBeUndefined()
      }
      const { bodies } = await collection.readDocumentsText()
      expect(bodies.map((body) => JSON.parse(body) as unknown)).toEqual(
        (await collection.readDocuments()).documents,
      )
    })

    test('ST-8 of one pkrange or one partition key value only its documents', async () => {
      const collection = await makeCollection(await open(), { partitionCount: 3 })
      for (let n = 0; n < 30; n++) await collection.create({ id: `d${n}`, pk: `p${n % 11}` })
      let total = 0
      for (const range of await collection.readFeedRanges()) {
        const page = await collection.readDocuments({ range })
        total += page.documents.length
        expect(page.documents.length).toBeLessThan(30)
      }
      expect(total).toBe(30)
      const { documents } = await collection.readDocuments({ partitionKey: 'p3' })
      expect(documents.map(({ id }) => id).toSorted()).toEqual(['d14', 'd25', 'd3'])
    })

    test('ST-8 the first components of a hierarchical key give all below them', async () => {
      const collection = await makeCollection(await open(), { partitionKey: ['/t', '/u'] })
      for (let n = 0; n < 12; n++) await collection.create({ id: `d${n}`, t: n % 3, u: n % 4 })
      const { documents } = await collection.readDocuments({ partitionKey: [1] })
      expect(documents.map(({ id }) => id).toSorted()).toEqual(['d1', 'd10', 'd4', 'd7'])
    })

    test('ST-8 a continuation is good for each part of its range', async () => {
      const collection = await makeCollection(await open(), { partitionCount: 3 })
      for (let n = 0; n < 30; n++) await collection.create({ id: `d${n}`, pk: `p${n % 11}` })
      const { documents, continuation } = await collection.readDocuments({ maxItemCount: 14 })
      const seen = documents.map(({ id }) => id)
      for (const range of await collection.readFeedRanges()) {
        const rest = await collection.readDocuments({ range, continuation })
        seen.push(...rest.documents.map(({ id }) => id))
      }
      expect(seen).toHaveLength(30)
      expect(new Set(seen).size).toBe(30)
    })

    test('ST-8 a continuation fits its own collection, range and key only', async () => {
      const store = await open()
      const collection = await makeCollection(store, { partitionCount: 2 })
      const other = await makeCollection(store, { id: 'other' })
      for (let n = 0; n < 9; n++) await collection.create({ id: `d${n}`, pk: 'p' })
      const { continuation = '' } = await collection.readDocuments({ maxItemCount: 2 })
      const [low, high] = await collection.readFeedRanges()
      const pages = [low, high].map((range) => collection.readDocuments({ maxItemCount: 2, range }))
      const ofRange = (await Promise.all(pages)).find((page) => page.continuation !== undefined)
      for (const read of [
        () => other.readDocuments({ continuation }),
        () => collection.readDocuments({ continuation: ofRange?.continuation }),
        () => collection.readDocuments({ continuation, partitionKey: 'p' }),
        () => collection.readDocuments({ continuation: continuation.slice(0, -1) }),
        () => collection.readDocuments({ continuation: 'x' }),
      ]) {
        expect(await rejection(read())).toBe('ERR_INVALID_CONTINUATION')
      }
      for (const maxItemCount of [0, -2, 1.5, Number.NaN]) {
        expect(await rejection(collection.readDocuments({ maxItemCount }))).toBe(
          'ERR_INVALID_OPTION',
        )
      }
    })
  })
}
