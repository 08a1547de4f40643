import { FULL_RANGE } from '@tidemark/contracts'
import { PENDING_DELETE_ROW } from '@tidemark/contracts/internal'
import type { StorageEngine } from '@tidemark/store'
import type { CommitOperation, WriteCondition } from '@tidemark/store/engine'
import { describe, expect, test } from 'vitest'
import type { SteppedClock } from '../../stepped-clock.ts'
import {
  del,
  START_SECOND,
  fixtureWithClock,
  MANY_CHARS,
  parsed,
  put,
  type EngineSetup,
} from './fixtures.ts'

/** When documents expire, and what every operation then makes of them. */
export function storageEngineExpiry(open: (clock?: SteppedClock) => Promise<StorageEngine>): void {
  const make = (
    defaultTtl: number | null,
    setup: EngineSetup = {},
  ): ReturnType<typeof fixtureWithClock> =>
    fixtureWithClock(open, { ...setup, definition: { defaultTtl, ...setup.definition } })

  describe('expiry', () => {
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
  })

  describe('a changed default', () => {
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
