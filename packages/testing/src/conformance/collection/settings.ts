import type { CollectionOptions, CollectionSettings } from '@tidemark/store'
import { describe, expect, test } from 'vitest'
import { makeCollection, rejection, type OpenStore } from './fixtures.ts'

/** What of a collection may be chosen, and changed later. */
export function collectionSettings(open: OpenStore): void {
  describe('settings', () => {
    const DEFAULTS = {
      defaultTtl: null,
      indexingMode: 'consistent',
      pendingDeletes: { retentionSeconds: 86_400, waitFor: [] },
      allVersions: null,
      splitAboveBytes: null,
    }

    test('ST-1 a collection begins with the defaults, or with what is said', async () => {
      const store = await open()
      const plain = await makeCollection(store)
      expect((await plain.readRecord()).definition).toMatchObject(DEFAULTS)
      const chosen = await makeCollection(store, {
        id: 'chosen',
        defaultTtl: 60,
        indexingMode: 'lazy',
        pendingDeletes: { waitFor: ['b', 'a', 'b'] },
        allVersions: { retentionSeconds: 5 },
        splitAboveBytes: 2 ** 20,
      })
      expect((await chosen.readRecord()).definition).toMatchObject({
        defaultTtl: 60,
        indexingMode: 'lazy',
        pendingDeletes: { retentionSeconds: 86_400, waitFor: ['a', 'b'] },
        allVersions: { retentionSeconds: 5, previousImages: false },
        splitAboveBytes: 2 ** 20,
      })
    })

    test('an annotation is kept with the collection, and changed like any other setting', async () => {
      const store = await open()
      const plain = await makeCollection(store)
      expect((await plain.readRecord()).definition.annotation).toBeUndefined()
      const annotated = await makeCollection(store, { id: 'annotated', annotation: '{"é":1}' })
      await annotated.updateSettings({ defaultTtl: 60 })
      const { definition } = await annotated.readRecord()
      expect(definition).toMatchObject({ annotation: '{"é":1}', defaultTtl: 60 })
      await annotated.updateSettings({ annotation: 'other' })
      expect((await annotated.readRecord()).definition).toMatchObject({
        annotation: 'other',
        defaultTtl: 60,
      })
    })

    test('with an etag settings change only while the record has it: of many with one etag, one wins', async () => {
      const store = await open()
      const collection = await makeCollection(store)
      const { etag } = await collection.readRecord()
      const attempts = await Promise.allSettled(
        Array.from({ length: 8 }, (_, n) =>
          collection.updateSettings({ annotation: `${n}` }, { ifMatch: etag }),
        ),
      )
      const won = attempts.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []))
      expect(won).toHaveLength(1)
      expect(await collection.readRecord()).toEqual(won[0])
      for (const attempt of attempts) {
        if (attempt.status === 'rejected') {
          expect(attempt.reason).toMatchObject({ code: 'ERR_PRECONDITION_FAILED' })
        }
      }
      const pendingDeletes = { retentionSeconds: 5 }
      expect(
        await rejection(collection.updateSettings({ pendingDeletes }, { ifMatch: etag })),
      ).toBe('ERR_PRECONDITION_FAILED')
      await collection.updateSettings({ pendingDeletes }, { ifMatch: String(won[0]?.etag) })
      expect((await collection.readRecord()).definition.pendingDeletes.retentionSeconds).toBe(5)
    })

    // What callers without types may give.
    const refused: readonly (readonly [unknown, RegExp])[] = [
      [{ defaultTtl: 0 }, /defaultTtl .*got 0/],
      [{ defaultTtl: -2 }, /defaultTtl .*got -2/],
      [{ defaultTtl: '60' }, /defaultTtl .*got "60"/],
      [{ indexingMode: 'fast' }, /indexingMode .*"fast"/],
      [{ pendingDeletes: 5 }, /pendingDeletes .*got 5/],
      [{ pendingDeletes: { retentionSeconds: -1 } }, /pendingDeletes\.retentionSeconds .*got -1/],
      [
        { pendingDeletes: { retentionSeconds: 1.5 } },
        /pendingDeletes\.retentionSeconds .*got 1\.5/,
      ],
      [{ pendingDeletes: { waitFor: 'a' } }, /pendingDeletes\.waitFor .*got "a"/],
      [{ pendingDeletes: { waitFor: [''] } }, /group.*got ""/],
      [{ pendingDeletes: { waitFor: [7] } }, /pendingDeletes\.waitFor .*got 7/],
      [{ allVersions: {} }, /allVersions\.retentionSeconds .*got undefined/],
      [{ allVersions: { retentionSeconds: 0 } }, /allVersions\.retentionSeconds .*got 0/],
      [{ allVersions: true }, /allVersions .*got true/],
      [
        { allVersions: { retentionSeconds: 1, previousImages: 'yes' } },
        /allVersions\.previousImages .*got "yes"/,
      ],
      [{ splitAboveBytes: 1000 }, /splitAboveBytes .*got 1000/],
      [{ annotation: 'x'.repeat(300_000) }, /annotation .*got 300000/],
      [{ annotation: 5 }, /annotation .*got number/],
      [{ annotation: 'a\0b' }, /annotation .*U\+0000/],
      [{ annotation: 'a\uD800' }, /annotation .*surrogate/],
      [{ splitAboveBytes: Number.NaN }, /splitAboveBytes .*got NaN/],
    ]

    test('options out of their range are refused by name and value, made or changed', async () => {
      const store = await open()
      const collection = await makeCollection(store)
      const before = await collection.readRecord()
      for (const [settings, message] of refused) {
        const error = { code: 'ERR_INVALID_OPTION', message: expect.stringMatching(message) }
        const bad = settings as CollectionSettings
        await expect(
          makeCollection(store, { id: 'bad', ...(bad as Partial<CollectionOptions>) }),
        ).rejects.toMatchObject(error)
        await expect(collection.updateSettings(bad)).rejects.toMatchObject(error)
      }
      expect(await collection.readRecord()).toEqual(before)
      expect(await store.database('db').listCollections()).toHaveLength(1)
    })

    test('TTL-10 a default time to live needs an index, whichever of them comes last', async () => {
      const store = await open()
      const bad = { indexingMode: 'none', defaultTtl: 60 } as const
      expect(await rejection(makeCollection(store, bad))).toBe('ERR_INVALID_OPTION')
      const timed = await makeCollection(store, { id: 'timed', defaultTtl: -1 })
      expect(await rejection(timed.updateSettings({ indexingMode: 'none' }))).toBe(
        'ERR_INVALID_OPTION',
      )
      const bare = await makeCollection(store, { id: 'bare', indexingMode: 'none' })
      expect(await rejection(bare.updateSettings({ defaultTtl: 5 }))).toBe('ERR_INVALID_OPTION')
      await bare.updateSettings({ defaultTtl: 5, indexingMode: 'lazy' })
      await timed.updateSettings({ defaultTtl: null, indexingMode: 'none' })
      expect((await timed.readRecord()).definition).toMatchObject({
        defaultTtl: null,
        indexingMode: 'none',
      })
    })

    test('a change leaves alone what it does not name, and shows in every handle', async () => {
      const store = await open()
      const collection = await makeCollection(store, {
        defaultTtl: 60,
        pendingDeletes: { retentionSeconds: 10, waitFor: ['a'] },
      })
      const other = store.database('db').collection('coll')
      const before = await other.readRecord()
      const after = await collection.updateSettings({ pendingDeletes: { retentionSeconds: 20 } })
      expect(after.definition).toEqual({
        ...before.definition,
        pendingDeletes: { retentionSeconds: 20, waitFor: ['a'] },
      })
      expect(after.etag).not.toBe(before.etag)
      expect(await other.readRecord()).toEqual(after)
      await collection.updateSettings({ allVersions: { retentionSeconds: 60 } })
      await collection.updateSettings({ allVersions: null, splitAboveBytes: 2 ** 21 })
      expect((await other.readRecord()).definition).toEqual({
        ...after.definition,
        splitAboveBytes: 2 ** 21,
      })
    })

    test('TTL-14 groups to wait for are added and removed, and none is lost in a race', async () => {
      const store = await open()
      const collection = await makeCollection(store)
      const other = store.database('db').collection('coll')
      const names = Array.from({ length: 8 }, (_, n) => `group-${n}`)
      await Promise.all(
        names.map((name, n) => (n % 2 === 0 ? collection : other).addWaitingGroup(name)),
      )
      await Promise.all([
        collection.removeWaitingGroup('group-0'),
        other.addWaitingGroup('group-7'),
        collection.updateSettings({ pendingDeletes: { retentionSeconds: 5 } }),
        other.removeWaitingGroup('never there'),
      ])
      expect((await collection.readRecord()).definition.pendingDeletes).toEqual({
        retentionSeconds: 5,
        waitFor: names.slice(1),
      })
      expect(await rejection(collection.addWaitingGroup(''))).toBe('ERR_INVALID_OPTION')
    })

    test('of a collection that is gone nothing is read or changed, also when its name is back', async () => {
      const store = await open()
      const old = await makeCollection(store)
      await old.readRecord()
      await store.database('db').deleteCollection('coll')
      const fresh = await makeCollection(store)
      const before = await fresh.readRecord()
      const calls = [
        () => old.readRecord(),
        () => old.updateSettings({ defaultTtl: 5 }),
        () => old.updateSettings({ pendingDeletes: { retentionSeconds: 5 } }),
        () => old.addWaitingGroup('a'),
        () => old.removeWaitingGroup('a'),
        () => old.readExpiry(),
        () => old.split('0'),
        () => old.positions.read('a'),
      ]
      for (const call of calls) expect(await rejection(call())).toBe('ERR_NOT_FOUND')
      expect(await fresh.readRecord()).toEqual(before)
    })
  })
}
