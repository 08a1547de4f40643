import { FULL_RANGE } from '@tidemark/contracts'
import { feedVersion } from '@tidemark/contracts/internal'
import type { StorageEngine } from '@tidemark/store'
import { describe, expect, test } from 'vitest'
import { settle } from '../../platform/settle.ts'
import { SteppedClock } from '../../stepped-clock.ts'
import { EngineFixture, committed, parsed, put } from './fixtures.ts'

/** Commits and readers at the same time. */
export function storageEngineConcurrency(
  open: (clock?: SteppedClock) => Promise<StorageEngine>,
): void {
  describe('concurrency', () => {
    test('of many commits with one precondition, one succeeds', async () => {
      const fixture = await EngineFixture.make(await open())
      for (let round = 0; round < 5; round++) {
        const id = `a${round}`
        const outcomes = await Promise.all(
          Array.from({ length: 20 }, (_, n) =>
            fixture.commit(fixture.batch('p', [put(id, { n, condition: { kind: 'absent' } })])),
          ),
        )
        const winners = outcomes.filter(({ kind }) => kind === 'committed')
        expect(winners).toHaveLength(1)
        expect(outcomes.filter(({ kind }) => kind === 'refused')).toHaveLength(19)
      }
    })

    test('a refused commit does not touch those that are grouped with it', async () => {
      const fixture = await EngineFixture.make(await open())
      const outcomes = await Promise.all(
        Array.from({ length: 60 }, (_, n) => {
          const condition = { kind: n % 3 === 0 ? 'present' : 'absent' } as const
          return fixture.commit(fixture.batch(`p${n % 4}`, [put(`d${n}`, { condition })]))
        }),
      )
      expect(outcomes.map(({ kind }) => kind)).toEqual(
        outcomes.map((_, n) => (n % 3 === 0 ? 'refused' : 'committed')),
      )
      expect(await fixture.database.countDocuments(fixture.collection)).toBe(40)
    })

    test('ST-5 CF-1 a following reader sees every commit, in LSN order, none torn', async () => {
      const fixture = await EngineFixture.make(await open())
      const writers = 8
      const rounds = 25
      let writing = writers
      const write = async (writer: number): Promise<void> => {
        for (let round = 0; round < rounds; round++) {
          const ids = Array.from({ length: 1 + (round % 4) }, (_, n) => `${writer}/${round}/${n}`)
          await fixture.write(`p${writer}`, ...ids)
        }
        writing--
      }
      const follow = async (maxItems: number): Promise<readonly string[]> => {
        const seen: string[] = []
        for (let lsn = 0; ;) {
          const finished = writing === 0
          const page = await fixture.page(lsn, { maxItems })
          const perLsn = new Map<number, number>()
          for (const [rowLsn, , , , , , id] of page.rows) {
            expect(rowLsn).toBeGreaterThan(lsn)
            seen.push(id)
            perLsn.set(rowLsn, (perLsn.get(rowLsn) ?? 0) + 1)
          }
          const order = page.rows.map(([rowLsn]) => rowLsn)
          expect(order).toEqual([...order].sort((a, b) => a - b))
          for (const [rowLsn, rows] of perLsn) {
            const row = page.rows.find(([candidate]) => candidate === rowLsn)
            const round = Number(row?.[6].split('/')[1])
            expect(rows).toBe(1 + (round % 4))
          }
          lsn = page.lsn
          if (page.caughtUp && finished) return seen
          if (page.rows.length === 0) await fixture.wait(lsn, 20)
        }
      }
      const [small, large] = await Promise.all([
        follow(3),
        follow(1000),
        ...Array.from({ length: writers }, (_, writer) => write(writer)),
      ])
      const total =
        writers * Array.from({ length: rounds }, (_, n) => 1 + (n % 4)).reduce((a, b) => a + b)
      expect(new Set(small).size).toBe(total)
      expect(small).toHaveLength(total)
      expect(large).toEqual(small)
    })

    test('a reader under updates sees the newest version of each document at least once', async () => {
      const fixture = await EngineFixture.make(await open())
      let writing = true
      const last = new Map<string, number>()
      const write = async (): Promise<void> => {
        for (let n = 0; n < 300; n++) {
          const id = `d${(n * 7) % 20}`
          await fixture.commit(fixture.batch('p', [put(id, { n })]))
          last.set(id, n)
        }
        writing = false
      }
      const read = async (): Promise<Map<string, number>> => {
        const versions = new Map<string, number>()
        for (let lsn = 0; ;) {
          const finished = !writing
          const page = await fixture.page(lsn, { maxItems: 5 })
          for (const row of page.rows) {
            const { id, n } = parsed(feedVersion(row)) as { id: string; n: number }
            expect(n).toBeGreaterThanOrEqual(versions.get(id) ?? 0)
            versions.set(id, n)
          }
          lsn = page.lsn
          if (page.caughtUp && finished) return versions
          if (page.rows.length === 0) await fixture.wait(lsn, 20)
        }
      }
      const [versions] = await Promise.all([read(), write()])
      expect(versions).toEqual(last)
    })

    test('a commit over several batches is never half visible', async () => {
      const fixture = await EngineFixture.make(await open(), 4)
      const { database, collection } = fixture
      const keys = ['p', 'q', 'r', 's']
      let writing = true
      const write = async (): Promise<void> => {
        for (let n = 1; n <= 40; n++) {
          committed(await fixture.commit(...keys.map((pk) => fixture.batch(pk, [put('a', { n })]))))
        }
        writing = false
      }
      const read = async (): Promise<void> => {
        while (writing) {
          // An engine may read on this thread and without waiting: then nothing else would ever run.
          await settle(1)
          const page = await database.scan({
            collection,
            range: FULL_RANGE,
            maxItems: 100,
            maxChars: 100_000,
          })
          const versions = new Set(page.versions.map((each) => parsed(each)['n']))
          expect(versions.size).toBeLessThanOrEqual(1)
          expect([0, keys.length]).toContain(page.versions.length)
        }
      }
      await Promise.all([read(), write()])
    })

    test("the store's clock never goes back, and commits carry it", async () => {
      const clock = new SteppedClock()
      const fixture = await EngineFixture.make(await open(clock))
      const startMs = clock.wallMs()
      const times: number[] = []
      // Set back by an hour, and then by a little again and again.
      for (const byMs of [5_000, -3_600_000, 1_000, -1, 0, 3_599_000, 2_000]) {
        clock.step(byMs)
        const outcome = await fixture.commit(fixture.batch('p', [put('a')]))
        if (outcome.kind !== 'committed') throw new Error('not committed')
        times.push(outcome.timeMs - startMs)
        expect(fixture.database.nowMs()).toBeGreaterThanOrEqual(outcome.timeMs)
        expect((await fixture.read('p', 'a'))?.['_ts']).toBe(Math.floor(outcome.timeMs / 1000))
      }
      expect(times[0]).toBe(5_000)
      expect(times).toEqual(times.toSorted((a, b) => a - b))
      expect(times.at(-1)).toBeGreaterThanOrEqual(6_999)
      expect(times.every(Number.isInteger)).toBe(true)
    })
  })
}
