import { describe, expect, test } from 'vitest'
import {
  START_SECOND,
  changesOf,
  liveIds,
  makeCollection,
  makeTimed,
  rejection,
  summary,
  type OpenStore,
  type TestCollection,
} from './fixtures.ts'

const TEN_YEARS_MS = 10 * 365 * 86_400_000

/** Time to live: when documents are gone, for whom, and what changes it. */
export function collectionExpiry(open: OpenStore): void {
  describe('time to live', () => {
    test('TTL-1 is off, on without a default, or a number of seconds', async () => {
      const { store, clock } = await makeTimed(open)
      for (const defaultTtl of [null, undefined, -1, 5]) {
        const collection = await makeCollection(store, { id: `c${defaultTtl}`, defaultTtl })
        expect((await collection.readRecord()).definition.defaultTtl).toBe(defaultTtl ?? null)
        await collection.create({ id: 'a', pk: 'p' })
      }
      expect(await rejection(makeCollection(store, { id: 'zero', defaultTtl: 0 }))).toBe(
        'ERR_INVALID_OPTION',
      )
      clock.stepTo((START_SECOND + 5) * 1000)
      for (const [id, count] of [
        ['cnull', 1],
        ['cundefined', 1],
        ['c-1', 1],
        ['c5', 0],
      ] as const) {
        expect(await store.database('db').collection(id).count()).toBe(count)
      }
    })

    /** Collection, document, seconds after which it is gone (0 = never). */
    const matrix: readonly (readonly [number | null, number | undefined, number])[] = [
      [null, undefined, 0],
      [null, -1, 0],
      [null, 5, 0],
      [-1, undefined, 0],
      [-1, -1, 0],
      [-1, 5, 5],
      [7, undefined, 7],
      [7, -1, 0],
      [7, 3, 3],
      [7, 20, 20],
    ]
    test('TTL-2 TTL-3 the matrix of collection and document, to the millisecond', async () => {
      const { store, clock } = await makeTimed(open)
      const cases = await Promise.all(
        matrix.map(async ([defaultTtl, ttl, after], n) => {
          const collection = await makeCollection(store, { id: `c${n}`, defaultTtl })
          await collection.create({ id: 'a', pk: 'p', ...(ttl !== undefined && { ttl }) })
          return { collection, after, name: `collection ${defaultTtl}, document ${ttl}` }
        }),
      )
      const expectThere = async (seconds: number, justBefore: boolean): Promise<void> => {
        clock.stepTo((START_SECOND + seconds) * 1000 - (justBefore ? 1 : 0))
        for (const { collection, after, name } of cases) {
          const lives = after === 0 || seconds < after || (justBefore && seconds === after)
          const { document } = await collection.read('a', 'p')
          expect([name, seconds, document !== undefined]).toEqual([name, seconds, lives])
        }
      }
      for (const { collection, after } of cases) {
        const [change] = await changesOf(collection)
        expect(change?.kind === 'document' && change.expiresAtMs).toBe(
          after === 0 ? undefined : (START_SECOND + after) * 1000,
        )
      }
      for (const seconds of [3, 5, 7, 20]) {
        await expectThere(seconds, true)
        await expectThere(seconds, false)
      }
      await expectThere(TEN_YEARS_MS / 1000, false)
    })

    test('TTL-4 from that instant no request sees the document, before any sweep', async () => {
      const { clock, collection } = await makeTimed(open, { defaultTtl: 5 })
      const { etag } = await collection.create({ id: 'a', pk: 'p' })
      await collection.create({ id: 'stays', pk: 'p', ttl: -1 })
      clock.stepTo((START_SECOND + 5) * 1000)
      expect((await collection.read('a', 'p')).document).toBeUndefined()
      expect((await collection.readPartition('p')).documents.map(({ id }) => id)).toEqual(['stays'])
      expect(await liveIds(collection)).toEqual(['stays'])
      expect(await collection.count()).toBe(1)
      expect(summary(await changesOf(collection))).toEqual(['document stays'])
      const set = [{ op: 'set', path: '/n', value: 1 }] as const
      const body = { id: 'a', pk: 'p' }
      const calls: readonly (readonly [() => Promise<unknown>, string])[] = [
        [() => collection.replace(body), 'ERR_NOT_FOUND'],
        [() => collection.replace(body, { ifMatch: etag }), 'ERR_NOT_FOUND'],
        [() => collection.patch('a', 'p', set), 'ERR_NOT_FOUND'],
        [() => collection.delete('a', 'p'), 'ERR_NOT_FOUND'],
        [() => collection.delete('a', 'p', { ifMatch: etag }), 'ERR_NOT_FOUND'],
        [() => collection.upsert(body, { ifMatch: etag }), 'ERR_PRECONDITION_FAILED'],
        [() => collection.batch('p', [{ kind: 'read', id: 'a' }]), 'ERR_BATCH_FAILED'],
        [() => collection.batch('p', [{ kind: 'delete', id: 'a' }]), 'ERR_BATCH_FAILED'],
        [
          () => collection.batch('p', [{ kind: 'patch', id: 'a', operations: set }]),
          'ERR_BATCH_FAILED',
        ],
      ]
      for (const [call, code] of calls) expect(await rejection(call())).toBe(code)
      expect(await collection.upsert(body, { ifNoneMatch: '*' })).toMatchObject({ created: true })
    })

    test('TTL-4 TTL-16 conditions of an atomic commit take it for absent', async () => {
      const { store, clock, collection } = await makeTimed(open, { defaultTtl: 5 })
      const { etag } = await collection.create({ id: 'a', pk: 'p' })
      clock.stepTo((START_SECOND + 5) * 1000)
      const check = (ifMatch: string) =>
        store
          .database('db')
          .commitAtomically([
            { collection, operation: { kind: 'check', id: 'a', partitionKey: 'p', ifMatch } },
          ])
      await expect(check('*')).rejects.toMatchObject({
        code: 'ERR_ATOMIC_WRITE_FAILED',
        presentLsn: undefined,
      })
      expect(await rejection(check(etag))).toBe('ERR_ATOMIC_WRITE_FAILED')
      await store.database('db').commitAtomically([
        {
          collection,
          operation: {
            kind: 'put',
            document: { id: 'a', pk: 'p' },
            ifNoneMatch: '*',
          },
        },
      ])
      expect(await collection.count()).toBe(1)
    })

    test('TTL-5 the sweep changes nothing that requests see', async () => {
      const { store, clock, collection } = await makeTimed(open, {
        defaultTtl: 5,
        partitionCount: 3,
      })
      for (let n = 0; n < 20; n++) await collection.create({ id: `d${n}`, pk: `p${n}` })
      await collection.create({ id: 'stays', pk: 'p', ttl: -1 })
      clock.stepTo((START_SECOND + 5) * 1000)
      const look = async () => [
        await collection.count(),
        await liveIds(collection),
        await changesOf(collection, { pendingDeletes: false }),
        (await collection.read('d1', 'p1')).document,
      ]
      const before = await look()
      expect(await store.runMaintenance()).toMatchObject({ swept: 20, heldElsewhere: [] })
      expect(await look()).toEqual(before)
      expect(await store.runMaintenance()).toMatchObject({ swept: 0 })
    })

    test('TTL-6 any write restarts the countdown, and `ttl` is written like anything else', async () => {
      const { clock, collection } = await makeTimed(open, { defaultTtl: 5 })
      for (const id of ['still', 'replaced', 'patched', 'batched', 'shortened']) {
        await collection.create({ id, pk: 'p' })
      }
      clock.step(3000)
      await collection.replace({ id: 'replaced', pk: 'p' })
      await collection.patch('patched', 'p', [{ op: 'set', path: '/n', value: 1 }])
      await collection.batch('p', [{ kind: 'upsert', document: { id: 'batched', pk: 'p' } }])
      await collection.patch('shortened', 'p', [{ op: 'set', path: '/ttl', value: 1 }])
      clock.step(2000)
      expect(await liveIds(collection)).toEqual(['batched', 'patched', 'replaced'])
      clock.step(3000)
      expect(await liveIds(collection)).toEqual([])
    })

    test('TTL-7 without its own `ttl` a document has the default again; -1 exempts it', async () => {
      const { clock, collection } = await makeTimed(open, { defaultTtl: 5 })
      await collection.create({ id: 'removed', pk: 'p', ttl: 100 })
      await collection.create({ id: 'exempt', pk: 'p' })
      await collection.patch('removed', 'p', [{ op: 'remove', path: '/ttl' }])
      await collection.patch('exempt', 'p', [{ op: 'set', path: '/ttl', value: -1 }])
      clock.step(5000)
      expect(await liveIds(collection)).toEqual(['exempt'])
      clock.step(TEN_YEARS_MS)
      expect(await liveIds(collection)).toEqual(['exempt'])
    })

    test('TTL-8 switched off nothing expires; switched on again stored values count', async () => {
      const { store, clock, collection } = await makeTimed(open, { defaultTtl: 50 })
      await collection.create({ id: 'own', pk: 'p', ttl: 5 })
      await collection.create({ id: 'default', pk: 'p' })
      await collection.updateSettings({ defaultTtl: null })
      clock.step(100_000)
      expect(await store.runMaintenance()).toMatchObject({ swept: 0 })
      expect(await liveIds(collection)).toEqual(['default', 'own'])
      expect((await changesOf(collection)).map((each) => 'expiresAtMs' in each)).toEqual([
        false,
        false,
      ])
      await collection.updateSettings({ defaultTtl: -1 })
      expect(await liveIds(collection)).toEqual(['default'])
      await store.runMaintenance()
      expect(summary(await changesOf(collection)).toSorted()).toEqual([
        'document default',
        'pendingDelete own',
      ])
    })

    test('TTL-18 a change of the default acts at once, by the time of the last write', async () => {
      const { store, clock, collection } = await makeTimed(open, { defaultTtl: -1 })
      const stale = store.database('db').collection('coll')
      await stale.count()
      await collection.create({ id: 'old', pk: 'p' })
      clock.step(10_000)
      await collection.create({ id: 'young', pk: 'p' })
      await collection.updateSettings({ defaultTtl: 10 })
      expect(await liveIds(collection)).toEqual(['young'])
      expect(await stale.count()).toBe(1)
      const [change] = await changesOf(collection)
      expect(change?.kind === 'document' && change.expiresAtMs).toBe((START_SECOND + 20) * 1000)
    })

    test('TTL-18 what has expired never revives, swept or not', async () => {
      const { store, clock } = await makeTimed(open)
      const laters = [{ defaultTtl: 1000 }, { defaultTtl: null }, { defaultTtl: -1 }]
      const collections = await Promise.all(
        laters.map((_, n) => makeCollection(store, { id: `c${n}`, defaultTtl: 5 })),
      )
      const ids = ['d0', 'd1', 'd2', 'd3']
      for (const collection of collections) {
        for (const id of ids) await collection.create({ id, pk: `p${id}` })
      }
      clock.step(3000)
      for (const collection of collections) await collection.create({ id: 'young', pk: 'p' })
      clock.step(2000)
      const expectYoung = async (): Promise<void> => {
        for (const collection of collections) expect(await liveIds(collection)).toEqual(['young'])
      }
      for (const [n, later] of laters.entries()) await collections[n]?.updateSettings(later)
      await expectYoung()
      clock.step(2000)
      await expectYoung()
      await store.runMaintenance()
      await expectYoung()
      const dead = ids.map((id) => `pendingDelete ${id}`)
      for (const collection of collections) {
        expect(summary(await changesOf(collection)).toSorted()).toEqual(['document young', ...dead])
        expect((await collection.readRecord()).ttlEras).toEqual([])
      }
    })

    test('TTL-11 expired documents count nowhere, for every handle at the same instant', async () => {
      const { store, clock, collection } = await makeTimed(open, { defaultTtl: 5 })
      const other = store.database('db').collection('coll')
      for (let n = 0; n < 5; n++) await collection.create({ id: `d${n}`, pk: 'p' })
      await collection.create({ id: 'stays', pk: 'p', ttl: 60 })
      const { engine, record } = await collection.open()
      const [range] = await engine.listRanges(record)
      const measure = () => engine.measureRange(record, range?.number ?? 0)
      const whole = await measure()
      clock.stepTo((START_SECOND + 5) * 1000 - 1)
      expect([await collection.count(), await other.count()]).toEqual([6, 6])
      clock.step(1)
      expect([await collection.count(), await other.count()]).toEqual([1, 1])
      expect((await measure()).documents).toBe(1)
      expect((await measure()).bytes).toBeLessThan(whole.bytes / 4)
      await store.runMaintenance()
      expect([await collection.count(), (await measure()).documents]).toEqual([1, 1])
    })

    test('TTL-11 the clock never goes back: what has expired stays so when the machine errs', async () => {
      const { clock, collection } = await makeTimed(open, { defaultTtl: 5 })
      await collection.create({ id: 'a', pk: 'p' })
      clock.step(5000)
      await collection.create({ id: 'b', pk: 'p' })
      clock.step(-5000)
      expect(await liveIds(collection)).toEqual(['b'])
      const { document } = await collection.create({ id: 'c', pk: 'p' })
      expect(document._ts).toBe(START_SECOND + 5)
    })

    test('TTL-17 a time to live costs a request nothing, and the sweep is no request', async () => {
      const { store, clock, collection } = await makeTimed(open)
      const plain = await collection.create({ id: 'plain', pk: 'p' })
      const timed = await collection.create({ id: 'timed', pk: 'p', ttl: 5 })
      expect(Object.keys(timed)).toEqual(Object.keys(plain))
      // One commit each: the next LSN.
      expect(timed.lsn).toBe(plain.lsn + 1)
      clock.step(5000)
      const [before, ,] = [await collection.count(), await collection.read('timed', 'p')]
      await store.runMaintenance()
      expect(await collection.count()).toBe(before)
    })

    test('readExpiry tells what expires when, and what waits', async () => {
      const { store, clock, collection } = await makeTimed(open)
      for (const ttl of [5, 5, 30, 1000, -1]) {
        await collection.create({ id: `${ttl}-${await collection.count()}`, pk: 'p', ttl })
      }
      expect(await collection.readExpiry({ withinSeconds: [10, 60, 3600] })).toMatchObject({
        expiring: [2, 3, 4],
        withExpiry: 4,
        unswept: 0,
        pendingDeletes: 0,
        nextExpiryMs: (START_SECOND + 5) * 1000,
        isReindexing: false,
      })
      clock.step(5000)
      expect(await collection.readExpiry()).toMatchObject({ withExpiry: 2, unswept: 2 })
      await store.runMaintenance()
      expect(await collection.readExpiry({ withinSeconds: [] })).toMatchObject({
        expiring: [],
        unswept: 0,
        pendingDeletes: 2,
      })
      for (const withinSeconds of [[0], [5, 5], [1.5], [9, 3]]) {
        expect(await rejection(collection.readExpiry({ withinSeconds }))).toBe('ERR_INVALID_OPTION')
      }
    })
  })

  describe('values of `ttl`', () => {
    const INVALID: readonly unknown[] = [0, -2, 1.5, '60', null, 2_147_483_648, {}, true]
    const VALID = [-1, 1, 2_147_483_647]
    const refusal = (ttl: unknown) => ({
      code: 'ERR_INVALID_DOCUMENT',
      message: expect.stringContaining(`ttl ${JSON.stringify(ttl)}`),
    })

    test('TTL-9 others than -1 and whole positive ones are refused, by name and value', async () => {
      const { store, collection } = await makeTimed(open)
      await collection.create({ id: 'there', pk: 'p' })
      const database = store.database('db')
      for (const ttl of INVALID) {
        const document = { id: 'a', pk: 'p', ttl }
        const error = refusal(ttl)
        await expect(collection.create(document)).rejects.toMatchObject(error)
        await expect(collection.upsert(document)).rejects.toMatchObject(error)
        await expect(collection.replace({ ...document, id: 'there' })).rejects.toMatchObject(error)
        await expect(
          collection.patch('there', 'p', [{ op: 'set', path: '/ttl', value: ttl }]),
        ).rejects.toMatchObject(error)
        await expect(
          collection.batch('p', [
            { kind: 'upsert', document: { id: 'first', pk: 'p' } },
            { kind: 'create', document },
          ]),
        ).rejects.toMatchObject({ code: 'ERR_BATCH_FAILED', operationIndex: 1, cause: error })
        await expect(
          database.commitAtomically([
            { collection, operation: { kind: 'put', document: { id: 'first', pk: 'q' } } },
            { collection, operation: { kind: 'put', document } },
          ]),
        ).rejects.toMatchObject({ code: 'ERR_ATOMIC_WRITE_FAILED', writeIndex: 1, cause: error })
      }
      expect(await liveIds(collection)).toEqual(['there'])
      for (const ttl of VALID) await collection.create({ id: `ttl${ttl}`, pk: 'p', ttl })
    })

    test('TTL-9 a batch does not hide an invalid value behind a later operation', async () => {
      const { collection } = await makeTimed(open)
      await collection.create({ id: 'there', pk: 'p' })
      const bad = { id: 'a', pk: 'p', ttl: 0 }
      const cause = { code: 'ERR_INVALID_DOCUMENT' }
      await expect(
        collection.batch('p', [
          { kind: 'upsert', document: bad },
          { kind: 'upsert', document: { id: 'a', pk: 'p', ttl: 5 } },
        ]),
      ).rejects.toMatchObject({ code: 'ERR_BATCH_FAILED', operationIndex: 0, cause })
      await expect(
        collection.batch('p', [
          { kind: 'read', id: 'there' },
          { kind: 'create', document: bad },
          { kind: 'delete', id: 'a' },
        ]),
      ).rejects.toMatchObject({ code: 'ERR_BATCH_FAILED', operationIndex: 1, cause })
      await expect(
        collection.batch('p', [
          { kind: 'read', id: 'there' },
          { kind: 'patch', id: 'there', operations: [{ op: 'set', path: '/ttl', value: 0 }] },
        ]),
      ).rejects.toMatchObject({ code: 'ERR_BATCH_FAILED', operationIndex: 1, cause })
      expect(await liveIds(collection)).toEqual(['there'])
    })

    test('TTL-9 with TTL off it is an ordinary property; invalid ones count as absent later', async () => {
      const { clock, collection } = await makeTimed(open, { defaultTtl: null })
      for (const [n, ttl] of INVALID.entries()) {
        await collection.create({ id: `bad${n}`, pk: 'p', ttl })
      }
      await collection.create({ id: 'good', pk: 'p', ttl: 5 })
      await collection.batch('p', [
        { kind: 'upsert', document: { id: 'twice', pk: 'p', ttl: 'x' } },
        { kind: 'upsert', document: { id: 'twice', pk: 'p', ttl: 5 } },
      ])
      expect((await collection.read('bad3', 'p')).document?.['ttl']).toBe('60')
      await collection.updateSettings({ defaultTtl: 10 })
      clock.step(5000)
      expect(await collection.count()).toBe(INVALID.length)
      clock.step(5000)
      expect(await collection.count()).toBe(0)
    })

    test('TTL-9 it is judged by the definition in force, not by what a handle remembers', async () => {
      const { store, collection } = await makeTimed(open, { defaultTtl: null })
      const other = store.database('db').collection('coll')
      await other.updateSettings({ defaultTtl: -1 })
      const bad = { id: 'a', pk: 'p', ttl: 'soon' }
      expect(await rejection(collection.create(bad))).toBe('ERR_INVALID_DOCUMENT')
      await other.updateSettings({ defaultTtl: null })
      await collection.create(bad)
    })

    test('a `ttl` that is no property of the stored text is none', async () => {
      const { collection } = await makeTimed(open)
      const inherited: object = Object.create({ ttl: 0 }, {})
      await collection.create(Object.assign(inherited, { id: 'inherited', pk: 'p' }))
      await collection.create({ id: 'undefined', pk: 'p', ttl: undefined })
      await collection.create({ id: 'function', pk: 'p', ttl: () => 0 })
      await collection.create({ id: 'boxed', pk: 'p', ttl: { toJSON: () => 5 } })
      expect(await rejection(collection.create({ id: 'nan', pk: 'p', ttl: Number.NaN }))).toBe(
        'ERR_INVALID_DOCUMENT',
      )
      expect((await collection.readExpiry()).withExpiry).toBe(1)
    })
  })

  describe('an instant of expiry', () => {
    const put = (collection: TestCollection, expiresAtMs: number | undefined, ttl?: number) =>
      ({
        collection,
        operation: {
          kind: 'put',
          document: { id: 'a', pk: 'p', ...(ttl !== undefined && { ttl }) },
          expiresAtMs,
        },
      }) as const

    test('JB-2 a copy expires when it is told to, whenever it is written', async () => {
      const { store, clock, collection } = await makeTimed(open)
      const database = store.database('db')
      clock.step(3500)
      await database.commitAtomically([put(collection, (START_SECOND + 10) * 1000 - 999, 999)])
      const { document } = await collection.read('a', 'p')
      expect(document).toMatchObject({ ttl: 7, _ts: START_SECOND + 3 })
      const [change] = await changesOf(collection)
      expect(change?.kind === 'document' && change.expiresAtMs).toBe((START_SECOND + 10) * 1000)
      clock.stepTo((START_SECOND + 10) * 1000 - 1)
      expect(await collection.count()).toBe(1)
      clock.step(1)
      expect(await collection.count()).toBe(0)
      // Too late is as early as can be.
      await database.commitAtomically([put(collection, (START_SECOND + 4) * 1000)])
      expect((await collection.read('a', 'p')).document).toMatchObject({ ttl: 1 })
    })

    test('JB-2 an instant that is none is refused, and nothing is written', async () => {
      const { store, collection } = await makeTimed(open)
      const bad = [0, -5, 1.5, Number.NaN, (START_SECOND + 2 ** 31 + 10) * 1000, 2 ** 60]
      for (const expiresAtMs of bad) {
        await expect(
          store.database('db').commitAtomically([put(collection, expiresAtMs)]),
        ).rejects.toMatchObject({
          code: 'ERR_ATOMIC_WRITE_FAILED',
          cause: { code: 'ERR_INVALID_OPTION', message: expect.stringContaining('expiresAtMs') },
        })
      }
      expect(await collection.count()).toBe(0)
      // Even one that is invalid is dropped with the rest of its kind.
      await store.database('db').commitAtomically([put(collection, (START_SECOND + 5) * 1000, 0)])
    })
  })
}
