import { FULL_RANGE } from '@tidemark/contracts'
import type { StorageEngine } from '@tidemark/store'
import { describe, expect, test } from 'vitest'
import { DEFINITION, EngineFixture, put } from './fixtures.ts'

/** Databases, collections and pkranges. `open` gives a fresh engine that is disposed of after the test. */
export function storageEngineCatalog(open: () => Promise<StorageEngine>): void {
  describe('catalog', () => {
    test('ST-1 lists databases and collections that were created', async () => {
      const engine = await open()
      expect(await engine.listDatabases()).toEqual([])
      const record = await engine.createDatabase('shop')
      expect(await engine.listDatabases()).toEqual([record])
      const database = await engine.openDatabase('shop')
      expect(database.record).toEqual(record)
      const collection = await database.createCollection('orders', DEFINITION, [FULL_RANGE])
      expect(collection).toMatchObject({ id: 'orders', definition: DEFINITION })
      expect(await database.listCollections()).toEqual([collection])
      expect(await database.readCollection('orders')).toEqual(collection)
      expect(await database.readCollection('other')).toBeUndefined()
    })

    test('a database has the annotation that it was made with, until it is given another', async () => {
      const engine = await open()
      expect(await engine.readDatabase('shop')).toBeUndefined()
      const plain = await engine.createDatabase('plain')
      expect(plain).not.toHaveProperty('annotation')
      expect(await engine.readDatabase('plain')).toEqual(plain)
      const made = await engine.createDatabase('shop', { annotation: '{"é":"\'"}' })
      expect(made.annotation).toBe('{"é":"\'"}')
      expect(await engine.readDatabase('shop')).toEqual(made)
      const changed = await engine.annotateDatabase(made, 'other')
      expect(changed).toMatchObject({ id: 'shop', rid: made.rid, annotation: 'other' })
      expect(changed.etag).not.toBe(made.etag)
      const stale = engine.annotateDatabase(made, 'lost', { ifMatch: made.etag })
      await expect(stale).rejects.toMatchObject({ code: 'ERR_PRECONDITION_FAILED' })
      // Without a condition the record that is named may be an old one: who comes last has it.
      const last = await engine.annotateDatabase(made, '')
      expect(last.annotation).toBe('')
      expect(new Set([made.etag, changed.etag, last.etag]).size).toBe(3)
      expect(await engine.readDatabase('shop')).toEqual(last)
      expect(await engine.listDatabases()).toEqual(expect.arrayContaining([plain, last]))
    })

    test('an annotation goes with its database, and is none of another that has the name', async () => {
      const engine = await open()
      const made = await engine.createDatabase('shop', { annotation: 'mine' })
      await engine.deleteDatabase('shop')
      const gone = { code: 'ERR_NOT_FOUND' }
      await expect(engine.annotateDatabase(made, 'late')).rejects.toMatchObject(gone)
      const again = await engine.createDatabase('shop')
      await expect(engine.annotateDatabase(made, 'late')).rejects.toMatchObject(gone)
      expect(await engine.readDatabase('shop')).toEqual(again)
      expect(again).not.toHaveProperty('annotation')
    })

    test('a database has a resource id of 4 bytes, its collections 8 that begin with it', async () => {
      const engine = await open()
      const { rid } = await engine.createDatabase('shop')
      const database = await engine.openDatabase('shop')
      const collection = await database.createCollection('orders', DEFINITION, [FULL_RANGE])
      const bytes = (text: string): Buffer => Buffer.from(text.replaceAll('-', '/'), 'base64')
      expect(rid).not.toContain('/')
      expect(bytes(rid)).toHaveLength(4)
      expect(bytes(collection.rid)).toHaveLength(8)
      expect(bytes(collection.rid).subarray(0, 4)).toEqual(bytes(rid))
    })

    test('names that exist are refused, names that do not are not found', async () => {
      const engine = await open()
      await engine.createDatabase('shop')
      await expect(engine.createDatabase('shop')).rejects.toMatchObject({ code: 'ERR_EXISTS' })
      await expect(engine.openDatabase('nope')).rejects.toMatchObject({ code: 'ERR_NOT_FOUND' })
      await expect(engine.deleteDatabase('nope')).rejects.toMatchObject({ code: 'ERR_NOT_FOUND' })
      const database = await engine.openDatabase('shop')
      await database.createCollection('orders', DEFINITION, [FULL_RANGE])
      await expect(
        database.createCollection('orders', DEFINITION, [FULL_RANGE]),
      ).rejects.toMatchObject({ code: 'ERR_EXISTS' })
      await expect(database.deleteCollection('nope')).rejects.toMatchObject({
        code: 'ERR_NOT_FOUND',
      })
    })

    test('of many that create one name at once, one succeeds', async () => {
      const engine = await open()
      const databases = await Promise.allSettled(
        Array.from({ length: 8 }, () => engine.createDatabase('shop')),
      )
      expect(databases.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
      const database = await engine.openDatabase('shop')
      const collections = await Promise.allSettled(
        Array.from({ length: 8 }, () =>
          database.createCollection('orders', DEFINITION, [FULL_RANGE]),
        ),
      )
      expect(collections.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
      expect(await database.listCollections()).toHaveLength(1)
    })

    test('ids with any allowed character are kept apart', async () => {
      const engine = await open()
      const ids = [
        'a',
        'A',
        'ä',
        'a b',
        '..',
        'a.b',
        "a'b",
        'a"b',
        'a:b',
        'NUL',
        '日本',
        'a%2Fb',
        '*',
      ]
      for (const id of ids) await engine.createDatabase(id)
      expect((await engine.listDatabases()).map(({ id }) => id).sort()).toEqual([...ids].sort())
      const database = await engine.openDatabase('A')
      for (const id of ids) await database.createCollection(id, DEFINITION, [FULL_RANGE])
      expect((await database.listCollections()).map(({ id }) => id).sort()).toEqual([...ids].sort())
    })

    test('a collection that was deleted is gone, and one of its name is another', async () => {
      const fixture = await EngineFixture.make(await open())
      const { database, collection } = fixture
      await fixture.write('p', 'a')
      await database.deleteCollection('coll')
      expect(await database.readCollection('coll')).toBeUndefined()
      const gone = { code: 'ERR_NOT_FOUND' }
      await expect(fixture.read('p', 'a')).rejects.toMatchObject(gone)
      await expect(fixture.page(0)).rejects.toMatchObject(gone)
      await expect(fixture.wait(0, 1)).rejects.toMatchObject(gone)
      await expect(database.listRanges(collection)).rejects.toMatchObject(gone)
      await expect(database.countDocuments(collection)).rejects.toMatchObject(gone)
      const write = fixture.batch('p', [put('a')])
      expect(await fixture.commit(write)).toEqual({ kind: 'collectionGone', batchIndex: 0 })

      const again = await database.createCollection('coll', DEFINITION, [FULL_RANGE])
      expect(again.number).not.toBe(collection.number)
      expect(again.rid).not.toBe(collection.rid)
      await expect(fixture.read('p', 'a')).rejects.toMatchObject(gone)
      expect(await fixture.commit(write)).toMatchObject({ kind: 'collectionGone' })
      expect(await database.countDocuments(again)).toBe(0)
    })

    test('a batch on a deleted collection keeps the others from being applied', async () => {
      const fixture = await EngineFixture.make(await open())
      const { database } = fixture
      const other = await database.createCollection('other', DEFINITION, [FULL_RANGE])
      await database.deleteCollection('other')
      const outcome = await database.commit({
        batches: [
          fixture.batch('p', [put('a')]),
          { ...fixture.batch('p', [put('a')]), collection: other.number },
        ],
      })
      expect(outcome).toEqual({ kind: 'collectionGone', batchIndex: 1 })
      expect(await fixture.read('p', 'a')).toBeUndefined()
    })

    test('a database that was deleted is gone with its collections', async () => {
      const engine = await open()
      const fixture = await EngineFixture.make(engine)
      const { rid } = fixture.database.record
      await engine.deleteDatabase('db')
      expect(await engine.listDatabases()).toEqual([])
      const gone = { code: 'ERR_NOT_FOUND' }
      await expect(engine.openDatabase('db')).rejects.toMatchObject(gone)
      await expect(fixture.database.listCollections()).rejects.toMatchObject(gone)
      await expect(fixture.commit(fixture.batch('p', [put('a')]))).rejects.toMatchObject(gone)
      const again = await engine.createDatabase('db')
      expect(again.rid).not.toBe(rid)
      expect(await (await engine.openDatabase('db')).listCollections()).toEqual([])
    })

    test('a closed engine refuses everything with its code, and closes twice', async () => {
      const engine = await open()
      const fixture = await EngineFixture.make(engine)
      await engine.close()
      await engine.close()
      const closed = { code: 'ERR_STORE_CLOSED' }
      await expect(engine.listDatabases()).rejects.toMatchObject(closed)
      await expect(engine.createDatabase('x')).rejects.toMatchObject(closed)
      await expect(fixture.read('p', 'a')).rejects.toMatchObject(closed)
      await expect(fixture.commit(fixture.batch('p', [put('a')]))).rejects.toMatchObject(closed)
      await expect(fixture.page(0)).rejects.toMatchObject(closed)
    })
  })
}
