import {
  LIVE_ROW,
  PENDING_DELETE_ROW,
  feedVersion,
  type DocumentVersion,
} from '@tidemark/contracts/internal'
import type { RangeRecord } from '@tidemark/store/engine'
import { describe, expect, test } from 'vitest'
import {
  EngineFixture,
  START_SECOND,
  RID,
  committed,
  keyOf,
  put,
  type StorageEngineUnderTest,
} from './fixtures.ts'
import { SteppedClock } from '../../stepped-clock.ts'

/** What a store knows of a version beside its text, of which `_etag`, `_ts`, `_lsn` and `ttl` are made. */
export function storageEngineStamps(
  open: (clock?: SteppedClock) => Promise<StorageEngineUnderTest>,
): void {
  const MIDDLE = '20'
  /** On both sides of the middle. */
  const KEYS = ['p0', 'p1', 'p2', 'p3', 'p4', 'p5', 'p6', 'p7']

  const make = async (): Promise<{
    readonly underTest: StorageEngineUnderTest
    readonly clock: SteppedClock
    readonly fixture: EngineFixture
  }> => {
    const clock = new SteppedClock(START_SECOND * 1000)
    const underTest = await open(clock)
    const allVersions = { retentionSeconds: 1e6, previousImages: true }
    const definition = { defaultTtl: -1, allVersions }
    const fixture = await EngineFixture.make(underTest.engine, { definition })
    return { underTest, clock, fixture }
  }

  /** Looks after everything that moves or rewrites rows: a split, folds, a merge, and a restart. */
  async function throughLayouts(
    { engine, reopen }: StorageEngineUnderTest,
    fixture: EngineFixture,
    look: (fixture: EngineFixture) => Promise<void>,
  ): Promise<void> {
    const fold = async (...ranges: readonly RangeRecord[]): Promise<void> => {
      for (const { number: range } of ranges) {
        const task = { kind: 'fold', collection: fixture.collection, range } as const
        while ((await fixture.piece(task)).items > 0);
      }
      await look(fixture)
    }
    await look(fixture)
    const children = await fixture.split(MIDDLE)
    await look(fixture)
    await fold(...children)
    await fold(await fixture.merge(MIDDLE))
    if (!engine.supports.durable || reopen === undefined) return
    await engine.close()
    await look(await fixture.through(await reopen()))
  }

  const versionOf = (
    { database, collection }: EngineFixture,
    id: string,
  ): Promise<DocumentVersion | undefined> => database.readDocument({ collection, ...keyOf(id), id })

  /** By id: the versions in the feed, with the place and time of their rows. */
  async function fed(fixture: EngineFixture): Promise<ReadonlyMap<string, unknown>> {
    const pages = (await fixture.ranges()).map((range) => fixture.page(0, { range }))
    return new Map(
      (await Promise.all(pages))
        .flatMap(({ rows }) => rows)
        .map((row) => {
          const [lsn, kind, , , ts, , id] = row
          return [`${kind} ${id}`, { lsn, ts, version: feedVersion(row) }]
        }),
    )
  }

  describe('what is known of a version', () => {
    test('ST-2 ST-3 stays the same over splits, folds, merges, sweeps and a restart, and conditions fit', async () => {
      const { underTest, clock, fixture } = await make()
      for (const [n, pk] of KEYS.entries()) {
        // A ttl that the commit computes, and none.
        const expiry = n % 2 === 0 ? { expirySecond: START_SECOND + 1000 } : {}
        await fixture.commit(fixture.batch(pk, [put(pk, { n, ...expiry })]))
        await fixture.commit(fixture.batch(pk, [put('swept', { ttl: 1 })]))
        clock.step(1000)
      }
      const before = await Promise.all(KEYS.map((id) => versionOf(fixture, id)))
      expect(before).toEqual(
        KEYS.map((id, n) => ({
          lsn: expect.any(Number) as number,
          ts: START_SECOND + n,
          rid: RID,
          ttl: n % 2 === 0 ? 1000 - n : null,
          body: JSON.stringify({ id, n }),
        })),
      )
      clock.step(2000)
      expect(await fixture.maintain('sweep')).toBe(KEYS.length)
      await throughLayouts(underTest, fixture, async (by) => {
        expect(await Promise.all(KEYS.map((id) => versionOf(by, id)))).toEqual(before)
        const feed = await fed(by)
        for (const version of before) {
          const { lsn, ts, body } = version!
          const { id } = JSON.parse(body) as { readonly id: string }
          expect(feed.get(`${LIVE_ROW} ${id}`)).toEqual({ lsn, ts, version })
        }
      })
      const again = underTest.engine.supports.durable ? await underTest.reopen?.() : undefined
      const after = again === undefined ? fixture : await fixture.through(again)
      const lsn = before[0]!.lsn
      const fits = after.batch('p0', [put('p0', { condition: { kind: 'lsn', lsn } })])
      expect(committed(await after.commit(fits))).toBeGreaterThan(lsn)
      expect((await after.commit(fits)).kind).not.toBe('committed')
    })

    test('TTL-13 CF-11 a pending delete and an image in the log keep what is known of their version', async () => {
      const { underTest, clock, fixture } = await make()
      await fixture.commit(fixture.batch('p0', [put('p0', { expirySecond: START_SECOND + 10 })]))
      clock.step(1000)
      await fixture.commit(fixture.batch('p1', [put('p1', { expirySecond: START_SECOND + 9 })]))
      const [swept, found] = [await versionOf(fixture, 'p0'), await versionOf(fixture, 'p1')]
      expect([swept?.ttl, found?.ttl]).toEqual([10, 8])
      clock.step(19_000)
      // One is found by a write, the other one by the sweep.
      const written = committed(await fixture.commit(fixture.batch('p1', [put('p1', { n: 2 })])))
      expect(await fixture.maintain('sweep')).toBe(1)
      await throughLayouts(underTest, fixture, async (by) => {
        const feed = await fed(by)
        const ts = START_SECOND + 20
        const rows = [`${PENDING_DELETE_ROW} p1`, `${LIVE_ROW} p1`, `${PENDING_DELETE_ROW} p0`]
        expect([...feed.keys()].toSorted()).toEqual(rows.toSorted())
        expect(rows.map((row) => feed.get(row))).toEqual([
          { lsn: written - 1, ts, version: found },
          { lsn: written, ts, version: await versionOf(by, 'p1') },
          { lsn: written + 1, ts, version: swept },
        ])
        const logs = (await by.ranges()).map((range) => by.versions(0, { range }))
        const entries = (await Promise.all(logs)).flatMap(({ rows: log }) => log)
        expect(
          entries.map(({ operation, id, current, previous }) => [
            `${operation} ${id}`,
            current,
            previous,
          ]),
        ).toEqual(
          expect.arrayContaining([
            ['create p0', swept, undefined],
            ['create p1', found, undefined],
            ['expire p1', undefined, found],
            ['create p1', await versionOf(by, 'p1'), undefined],
            ['expire p0', undefined, swept],
          ]),
        )
        expect(entries).toHaveLength(5)
      })
    })
  })
}
