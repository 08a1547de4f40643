import { FULL_RANGE, LIVE_ROW, PENDING_DELETE_ROW } from '@tidemark/contracts'
import { type CommitOperation } from '@tidemark/store/engine'
import type { StorageEngine } from '@tidemark/store'
import type { WriteCondition } from '@tidemark/store/engine'
import { describe, expect, test } from 'vitest'
import { SteppedClock } from './stepped-clock.ts'
import {
  EngineFixture,
  MANY_CHARS,
  MANY_ITEMS,
  committed,
  del,
  keyOf,
  parsed,
  put,
  type EngineSetup,
} from './storage-engine-fixtures.ts'

/** Within its second, so that rounding shows. */
export const START_MS = 1_767_225_600_250
export const START_SECOND = 1_767_225_600
const TEN_YEARS_MS = 10 * 365 * 86_400_000

/** A fixture under a clock that the test steps. */
export async function fixtureWithClock(
  open: (clock: SteppedClock) => Promise<StorageEngine>,
  setup: EngineSetup = {},
): Promise<{ fixture: EngineFixture; clock: SteppedClock }> {
  const clock = new SteppedClock(START_MS)
  return { fixture: await EngineFixture.make(await open(clock), setup), clock }
}

/** When documents expire, and what every operation then makes of them. */
export function storageEngineExpiry(open: (clock?: SteppedClock) => Promise<StorageEngine>): void {
  const make = (
    defaultTtl: number | null,
    setup: EngineSetup = {},
  ): ReturnType<typeof fixtureWithClock> =>
    fixtureWithClock(open, { ...setup, definition: { defaultTtl, ...setup.definition } })

  describe('expiry', () => {
    const matrix: readonly (readonly [number | null, number, number])[] = [
      [null, 0, 0],
      [null, -1, 0],
      [null, 5, 0],
      [-1, 0, 0],
      [-1, -1, 0],
      [-1, 5, 5],
      [7, 0, 7],
      [7, -1, 0],
      [7, 3, 3],
      [7, 20, 20],
    ]
    for (const [defaultTtl, ttl, after] of matrix) {
      const outcome = after === 0 ? 'it never expires' : `it expires after ${after} s`
      test(`TTL-3 collection ${defaultTtl}, document ${ttl === 0 ? 'without' : ttl}: ${outcome}`, async () => {
        const { fixture, clock } = await make(defaultTtl)
        await fixture.commit(fixture.batch('p', [put('a', { ttl })]))
        const [row] = (await fixture.feed()).map(({ expirySecond }) => expirySecond)
        expect(row).toBe(after === 0 ? 0 : START_SECOND + after)
        if (after === 0) {
          clock.step(TEN_YEARS_MS)
          expect(await fixture.read('p', 'a')).toBeDefined()
          expect(await fixture.count()).toBe(1)
          return
        }
        // `_ts` is in whole seconds, so that the first one is short.
        clock.stepTo((START_SECOND + after) * 1000 - 1)
        expect(await fixture.read('p', 'a')).toBeDefined()
        expect(await fixture.count()).toBe(1)
        clock.step(1)
        expect(await fixture.read('p', 'a')).toBeUndefined()
        expect(await fixture.count()).toBe(0)
      })
    }

    test('TTL-4 an expired document is in no read, scan, count, measure or feed page as live', async () => {
      const { fixture, clock } = await make(-1)
      const { database, collection } = fixture
      await fixture.commit(fixture.batch('p', [put('a', { ttl: 5 }), put('b')]))
      await fixture.commit(fixture.batch('q', [put('c', { ttl: 6 })]))
      const [range] = await fixture.ranges()
      const look = async (): Promise<readonly unknown[]> => {
        const limits = { maxItems: MANY_ITEMS, maxChars: MANY_CHARS }
        const whole = await database.scan({ collection, range: FULL_RANGE, ...limits })
        const { partitionKey } = keyOf('p')
        const one = await database.scan({ collection, range: FULL_RANGE, partitionKey, ...limits })
        const { documents, bytes } = await database.measureRange(collection, range?.number ?? -1)
        const texts = whole.versions.map(({ body }) => Buffer.byteLength(body))
        expect(bytes).toBe(texts.reduce((sum, length) => sum + length, 0))
        return [
          whole.versions.map((body) => String(parsed(body)['id'])).sort(),
          one.versions.map((each) => parsed(each)['id']),
          await fixture.count(),
          documents,
          [...(await fixture.feedIds())].sort(),
        ]
      }
      clock.stepTo((START_SECOND + 5) * 1000 - 1)
      expect(await look()).toEqual([['a', 'b', 'c'], ['a', 'b'], 3, 3, ['a', 'b', 'c']])
      clock.step(1)
      expect(await look()).toEqual([['b', 'c'], ['b'], 2, 2, ['b', 'c']])
      clock.step(1000)
      expect(await look()).toEqual([['b'], ['b'], 1, 1, ['b']])
    })

    test('TTL-4 a page of nothing but expired documents is empty and moves on', async () => {
      const { fixture, clock } = await make(5)
      let lsn = 0
      for (let n = 0; n < 10; n++) lsn = await fixture.write('p', `d${n}`)
      clock.step(5000)
      expect(await fixture.page(0, { maxItems: 2 })).toMatchObject({
        rows: [],
        lsn,
        caughtUp: true,
      })
      await fixture.write('p', 'new')
      expect(await fixture.feedIds()).toEqual(['new'])
    })

    test('TTL-4 a scan goes on over documents that expire between its pages', async () => {
      const { fixture, clock } = await make(-1)
      const { database, collection } = fixture
      const ttl = (n: number): number => (n % 2 === 0 ? 5 : 100)
      const ids = Array.from({ length: 10 }, (_, n) => `d${n}`)
      await fixture.commit(
        fixture.batch(
          'p',
          ids.map((id, n) => put(id, { ttl: ttl(n) })),
        ),
      )
      const query = { collection, range: FULL_RANGE, maxItems: 3, maxChars: MANY_CHARS }
      const first = await database.scan(query)
      expect(first.versions.map((each) => parsed(each)['id'])).toEqual(['d0', 'd1', 'd2'])
      clock.step(5000)
      const second = await database.scan({ ...query, after: first.next })
      expect(second.versions.map((each) => parsed(each)['id'])).toEqual(['d3', 'd5', 'd7'])
    })

    const conditions: readonly (readonly [WriteCondition['kind'], boolean])[] = [
      ['none', true],
      ['absent', true],
      ['present', false],
      ['lsn', false],
      ['notLsn', true],
    ]
    for (const [kind, holds] of conditions) {
      for (const operation of ['put', 'delete', 'check'] as const) {
        test(`TTL-4 condition "${kind}" of a ${operation} takes an expired document for absent`, async () => {
          const { fixture, clock } = await make(5)
          const lsn = await fixture.write('p', 'a')
          const condition = { kind, lsn }
          const write: CommitOperation =
            operation === 'put'
              ? put('a', { n: 1, condition })
              : { kind: operation, id: 'a', condition }
          clock.step(5000)
          const outcome = await fixture.commit(fixture.batch('p', [write]))
          if (holds) {
            expect(outcome).toMatchObject({ kind: 'committed', batches: [{ existed: [false] }] })
          } else {
            expect(outcome).toEqual({
              kind: 'refused',
              batchIndex: 0,
              operationIndex: 0,
              presentLsn: undefined,
            })
          }
        })
      }
    }

    test('TTL-4 deleting an expired document leaves its pending delete to come', async () => {
      const { fixture, clock } = await make(5)
      await fixture.write('p', 'a')
      clock.step(5000)
      const deleted = await fixture.commit(fixture.batch('p', [del('a')]))
      expect(deleted).toMatchObject({ batches: [{ existed: [false] }] })
      expect(await fixture.feed()).toEqual([])
      expect(await fixture.maintain('sweep')).toBe(1)
      expect((await fixture.feed()).map(({ id, kind }) => [id, kind])).toEqual([
        ['a', PENDING_DELETE_ROW],
      ])
    })

    test('TTL-6 any write restarts the countdown, a changed ttl is an ordinary update', async () => {
      const { fixture, clock } = await make(5)
      await fixture.write('p', 'a')
      clock.step(4000)
      await fixture.write('p', 'a')
      clock.step(4000)
      expect(await fixture.read('p', 'a')).toBeDefined()
      await fixture.commit(fixture.batch('p', [put('a', { ttl: 60 })]))
      clock.step(59_000)
      expect(await fixture.read('p', 'a')).toMatchObject({ ttl: 60 })
      clock.step(1000)
      expect(await fixture.read('p', 'a')).toBeUndefined()
    })

    test('TTL-7 without its ttl a document has the default, with -1 it is exempt', async () => {
      const { fixture, clock } = await make(5)
      const write = (id: string, ttl: number): Promise<unknown> =>
        fixture.commit(fixture.batch('p', [put(id, { ttl })]))
      await write('a', 60)
      await write('b', 60)
      await write('a', 0)
      await write('b', -1)
      expect((await fixture.feed()).map(({ expirySecond }) => expirySecond)).toEqual([
        START_SECOND + 5,
        0,
      ])
      clock.step(5000)
      expect(await fixture.read('p', 'a')).toBeUndefined()
      clock.step(TEN_YEARS_MS)
      expect(await fixture.read('p', 'b')).toBeDefined()
    })

    test('TTL-8 with TTL off nothing expires and nothing is swept; on again, stored values count', async () => {
      const { fixture, clock } = await make(5)
      await fixture.commit(fixture.batch('p', [put('a', { ttl: 10 }), put('b')]))
      await fixture.update({ defaultTtl: null })
      clock.step(60_000)
      expect(await fixture.count()).toBe(2)
      expect((await fixture.feed()).map(({ expirySecond }) => expirySecond)).toEqual([0, 0])
      await fixture.maintain('expiryIndex')
      expect(await fixture.maintain('sweep')).toBe(0)
      expect(await fixture.count()).toBe(2)
      await fixture.update({ defaultTtl: -1 })
      expect(await fixture.read('p', 'a')).toBeUndefined()
      expect(await fixture.read('p', 'b')).toBeDefined()
      await fixture.maintain('expiryIndex')
      await fixture.maintain('sweep')
      expect((await fixture.feed()).map(({ id, kind }) => [id, kind])).toEqual([
        ['b', LIVE_ROW],
        ['a', PENDING_DELETE_ROW],
      ])
    })

    test('TTL-9 an invalid ttl is refused while TTL is on, and nothing is written', async () => {
      const { fixture } = await make(-1)
      const outcome = await fixture.commit(
        fixture.batch('q', [put('x')]),
        fixture.batch('p', [put('a'), put('b', { ttl: 'invalid' })]),
      )
      expect(outcome).toEqual({ kind: 'invalidTtl', batchIndex: 1, operationIndex: 1 })
      expect(await fixture.count()).toBe(0)
      expect(await fixture.feed()).toEqual([])
    })

    test('TTL-9 an invalid ttl that was stored while TTL was off counts as absent', async () => {
      const { fixture, clock } = await make(null)
      committed(await fixture.commit(fixture.batch('p', [put('a', { ttl: 'invalid' })])))
      expect(await fixture.read('p', 'a')).toMatchObject({ ttl: 'invalid' })
      await fixture.update({ defaultTtl: -1 })
      clock.step(TEN_YEARS_MS)
      expect(await fixture.read('p', 'a')).toBeDefined()
      await fixture.update({ defaultTtl: 5 })
      expect(await fixture.read('p', 'a')).toBeUndefined()
    })

    test('TTL-10 TTL and an indexing mode of none exclude each other, and nothing is changed', async () => {
      const { fixture } = await make(5)
      const invalid = { code: 'ERR_INVALID_OPTION' }
      await expect(fixture.update({ indexingMode: 'none' })).rejects.toMatchObject(invalid)
      await fixture.update({ defaultTtl: null, indexingMode: 'none' })
      await expect(fixture.update({ defaultTtl: -1 })).rejects.toMatchObject(invalid)
      expect(await fixture.database.readCollection('coll')).toMatchObject({
        definition: { defaultTtl: null, indexingMode: 'none' },
      })
      await fixture.update({ defaultTtl: -1, indexingMode: 'lazy' })
    })

    test('TTL-11 what has expired does not come back when the machine clock is set back', async () => {
      const { fixture, clock } = await make(5)
      await fixture.write('p', 'a')
      clock.step(5000)
      // Seen by a commit: readers alone need not make the clock durable.
      await fixture.write('q', 'b')
      clock.step(-60_000)
      expect(await fixture.read('p', 'a')).toBeUndefined()
      expect(await fixture.count()).toBe(1)
    })

    test('JB-2 a document that is to expire at a given second gets the ttl that makes it so', async () => {
      const { fixture, clock } = await make(-1)
      const at = START_SECOND + 30
      await fixture.commit(fixture.batch('p', [put('a', { expirySecond: at })]))
      expect(await fixture.read('p', 'a')).toMatchObject({ ttl: 30 })
      clock.step(10_000)
      await fixture.commit(fixture.batch('p', [put('b', { expirySecond: at })]))
      await fixture.commit(fixture.batch('p', [put('late', { expirySecond: START_SECOND })]))
      expect(await fixture.read('p', 'b')).toMatchObject({ ttl: 20 })
      // Never in the past: it was written now, and expires in the next second.
      expect(await fixture.read('p', 'late')).toMatchObject({ ttl: 1 })
      expect((await fixture.feed()).map(({ expirySecond }) => expirySecond)).toEqual([
        at,
        at,
        START_SECOND + 11,
      ])
      clock.step(20_000 - 251)
      expect(await fixture.count()).toBe(2)
      clock.step(1)
      expect(await fixture.count()).toBe(0)
    })
  })

  describe('a changed default', () => {
    test('TTL-18 a changed default acts at once on documents by their _ts', async () => {
      const { fixture, clock } = await make(60)
      await fixture.write('p', 'a')
      clock.step(10_000)
      await fixture.update({ defaultTtl: 10 })
      expect(await fixture.read('p', 'a')).toBeUndefined()
      const { fixture: other, clock: time } = await make(5)
      await other.write('p', 'a')
      await other.update({ defaultTtl: 60 })
      time.step(5000)
      expect(await other.read('p', 'a')).toBeDefined()
      expect((await other.feed())[0]?.expirySecond).toBe(START_SECOND + 60)
    })

    const changes: readonly (readonly [string, readonly (number | null)[]])[] = [
      ['lengthened', [600]],
      ['switched off', [null]],
      ['switched to no default', [-1]],
      ['switched off and on again', [null, 5]],
      ['changed several times', [null, 600, -1, null, 900]],
    ]
    for (const [name, values] of changes) {
      for (const when of ['before', 'after'] as const) {
        test(`TTL-18 what had expired stays expired when the default is ${name}, ${when} the index is rebuilt`, async () => {
          const { fixture, clock } = await make(5)
          const lsn = await fixture.write('p', 'a')
          clock.step(5000)
          const fresh = await fixture.write('p', 'fresh')
          for (const defaultTtl of values) {
            await fixture.update({ defaultTtl })
            if (when === 'after') await fixture.maintain('expiryIndex', 1)
            expect(await fixture.read('p', 'a')).toBeUndefined()
            expect(await fixture.count()).toBe(1)
          }
          const written = put('a', { condition: { kind: 'lsn', lsn } })
          expect(await fixture.commit(fixture.batch('p', [written]))).toMatchObject({
            kind: 'refused',
            presentLsn: undefined,
          })
          await fixture.maintain('expiryIndex')
          await fixture.maintain('sweep')
          expect(await fixture.read('p', 'fresh')).toMatchObject({ _lsn: fresh })
          const feed = await fixture.feed()
          expect(feed.map(({ id, kind }) => [id, kind])).toEqual([
            ['fresh', LIVE_ROW],
            ['a', PENDING_DELETE_ROW],
          ])
          expect(feed[1]?.expirySecond).toBe(START_SECOND + 5)
        })
      }
    }

    test('TTL-18 of several past defaults the earliest expiry counts', async () => {
      const { fixture, clock } = await make(20)
      await fixture.write('p', 'a')
      clock.step(10_000)
      await fixture.update({ defaultTtl: 7 })
      await fixture.update({ defaultTtl: 9 })
      await fixture.update({ defaultTtl: null })
      await fixture.maintain('expiryIndex')
      expect(await fixture.feed()).toMatchObject([
        { kind: PENDING_DELETE_ROW, expirySecond: START_SECOND + 7 },
      ])
    })

    test('TTL-18 a document written after a change does not expire by what was before it', async () => {
      const { fixture, clock } = await make(1)
      clock.step(10_000)
      await fixture.update({ defaultTtl: null })
      await fixture.write('p', 'a')
      await fixture.update({ defaultTtl: 60 })
      clock.step(30_000)
      expect(await fixture.read('p', 'a')).toBeDefined()
      await fixture.maintain('expiryIndex')
      expect(await fixture.count()).toBe(1)
    })

    test('TTL-18 what expired under past defaults is dealt with before the sweep goes on', async () => {
      const { fixture, clock } = await make(5)
      await fixture.write('p', 'old')
      clock.step(5000)
      await fixture.update({ defaultTtl: 2 })
      await fixture.write('p', 'new')
      clock.step(2000)
      const { collection, database } = fixture
      const { tasks } = await database.readMaintenance()
      expect(tasks.map(({ kind }) => kind)).toEqual(['expiryIndex'])
      expect(await fixture.piece({ kind: 'sweep', collection })).toMatchObject({ items: 0 })
      await fixture.maintain('expiryIndex')
      await fixture.maintain('sweep')
      expect(
        (await fixture.feed()).map(({ id, expirySecond }) => `${id} ${expirySecond}`).sort(),
      ).toEqual([
        `new ${START_SECOND + 7}`,
        // It would have expired earlier by the new value, and that counts.
        `old ${START_SECOND + 2}`,
      ])
    })

    test('TTL-18 past defaults are kept until the index is rebuilt, and forgotten then', async () => {
      const { fixture, clock } = await make(5)
      const ids = Array.from({ length: 10 }, (_, n) => `d${n}`)
      await fixture.write('p', ...ids)
      clock.step(5000)
      const record = await fixture.update({ defaultTtl: null })
      expect(record.ttlEras).toEqual([{ defaultTtl: 5, untilMs: fixture.database.nowMs() }])
      expect(await fixture.maintain('expiryIndex', 3)).toBeGreaterThanOrEqual(10)
      expect(await fixture.database.readCollection('coll')).toMatchObject({ ttlEras: [] })
      expect(await fixture.count()).toBe(0)
      expect(await fixture.feed()).toHaveLength(10)
    })
  })
}
