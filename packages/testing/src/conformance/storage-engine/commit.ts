import { FULL_RANGE } from '@tidemark/contracts'
import type { StorageEngine } from '@tidemark/store'
import type { WriteCondition } from '@tidemark/store/engine'
import { describe, expect, test } from 'vitest'
import { EngineFixture, RID, committed, del, put } from './fixtures.ts'

/** Conditional batches and fences. */
export function storageEngineCommit(open: () => Promise<StorageEngine>): void {
  describe('commit', () => {
    test('ST-2 a put is stored with the properties that only the commit knows', async () => {
      const fixture = await EngineFixture.make(await open())
      const outcome = await fixture.commit(fixture.batch('p', [put('a', { n: 1 })]))
      if (outcome.kind !== 'committed') throw new Error('not committed')
      const lsn = committed(outcome)
      expect(outcome.batches).toEqual([{ lsn, existed: [false] }])
      const ts = Math.floor(outcome.timeMs / 1000)
      expect(await fixture.read('p', 'a')).toMatchObject({ _ts: ts, _lsn: lsn, id: 'a', n: 1 })
      const { database, collection } = fixture
      const key = { collection, epk: fixture.batch('p', []).epk, partitionKey: '["p"]', id: 'a' }
      expect(await database.readDocument(key)).toEqual({
        lsn,
        ts,
        rid: RID,
        ttl: null,
        body: '{"id":"a","n":1}',
      })
    })

    test('text comes back unchanged, whatever characters it has', async () => {
      const fixture = await EngineFixture.make(await open())
      const text = 'quote " backslash \\ ünï €😀 \u2028 \u0000 tab\t'
      const operation = { ...put('a'), body: JSON.stringify({ id: 'a', text }) }
      await fixture.commit(fixture.batch('ключ "€😀', [operation]))
      expect(await fixture.read('ключ "€😀', 'a')).toMatchObject({ text })
    })

    const conditions: readonly (readonly [WriteCondition['kind'], boolean, boolean])[] = [
      ['none', true, true],
      ['absent', true, false],
      ['present', false, true],
      ['lsn', false, true],
      ['notLsn', true, false],
    ]
    for (const [kind, whenAbsent, whenPresent] of conditions) {
      test(`ST-3 condition "${kind}" is judged on puts, deletes and checks`, async () => {
        const fixture = await EngineFixture.make(await open())
        for (const operation of ['put', 'delete', 'check'] as const) {
          const id = `a-${operation}`
          const attempt = (lsn: number): ReturnType<EngineFixture['commit']> => {
            const condition = { kind, lsn }
            const write =
              operation === 'put' ? put(id, { condition }) : { kind: operation, id, condition }
            return fixture.commit(fixture.batch('p', [write]))
          }
          const absent = await attempt(1)
          expect(absent.kind).toBe(whenAbsent ? 'committed' : 'refused')
          if (absent.kind === 'refused') {
            expect(absent).toEqual({
              kind: 'refused',
              batchIndex: 0,
              operationIndex: 0,
              presentLsn: undefined,
            })
          }
          const lsn = await fixture.write('p', id)
          const present = await attempt(lsn)
          expect(present.kind).toBe(whenPresent ? 'committed' : 'refused')
          if (present.kind === 'refused') expect(present.presentLsn).toBe(lsn)
        }
      })
    }

    test('ST-5 all documents of a batch share one LSN, which rises from batch to batch', async () => {
      const fixture = await EngineFixture.make(await open())
      const outcome = await fixture.commit(
        fixture.batch('p', [put('a'), put('b'), put('c')]),
        fixture.batch('q', [put('d'), put('e')]),
      )
      if (outcome.kind !== 'committed') throw new Error('not committed')
      const [first, second] = outcome.batches
      expect(second?.lsn).toBeGreaterThan(first?.lsn ?? Infinity)
      const page = await fixture.page(0)
      const [a, b] = [first?.lsn, second?.lsn]
      expect(page.rows.map(([lsn]) => lsn)).toEqual([a, a, a, b, b])
    })

    test('a batch sees what earlier batches of its commit did to the same document', async () => {
      const fixture = await EngineFixture.make(await open())
      const outcome = await fixture.commit(
        fixture.batch('p', [put('a', { n: 1, condition: { kind: 'absent' } })]),
        fixture.batch('p', [put('a', { n: 2, condition: { kind: 'present' } })]),
        fixture.batch('p', [del('a', { kind: 'present' })]),
        fixture.batch('p', [put('a', { n: 3, condition: { kind: 'absent' } })]),
      )
      expect(outcome).toMatchObject({
        batches: [
          { existed: [false] },
          { existed: [true] },
          { existed: [true] },
          { existed: [false] },
        ],
      })
      expect(await fixture.read('p', 'a')).toMatchObject({ n: 3 })
      expect(await fixture.feedIds()).toEqual(['a'])
      const refused = await fixture.commit(
        fixture.batch('p', [del('a')]),
        fixture.batch('p', [put('a', { n: 4, condition: { kind: 'present' } })]),
      )
      expect(refused).toMatchObject({ kind: 'refused', batchIndex: 1, presentLsn: undefined })
      expect(await fixture.read('p', 'a')).toMatchObject({ n: 3 })
      expect(await fixture.database.check()).toEqual([])
    })

    test('a commit of 500 batches is one commit', async () => {
      const fixture = await EngineFixture.make(await open(), 4)
      const batches = Array.from({ length: 500 }, (_, index) =>
        fixture.batch(`p${index}`, [put('a')]),
      )
      expect(await fixture.commit(...batches)).toMatchObject({ kind: 'committed' })
      expect(await fixture.database.countDocuments(fixture.collection)).toBe(500)
    })
  })

  describe('fences', () => {
    const range = (minInclusive: string, maxExclusive: string): typeof FULL_RANGE => ({
      minInclusive,
      maxExclusive,
    })
    const attempt = async (
      fixture: EngineFixture,
      fence: { job?: string; range: typeof FULL_RANGE; epoch: number },
      id = 'a',
    ): Promise<string> => {
      const { kind } = await fixture.database.commit({
        batches: [fixture.batch('p', [put(id)])],
        fence: { job: 'job', ...fence },
      })
      return kind
    }

    test('a write below the highest epoch of its range is refused and not applied', async () => {
      const fixture = await EngineFixture.make(await open())
      expect(await attempt(fixture, { range: range('', '20'), epoch: 5 })).toBe('committed')
      expect(await attempt(fixture, { range: range('', '20'), epoch: 5 })).toBe('committed')
      expect(await attempt(fixture, { range: range('', '20'), epoch: 7 })).toBe('committed')
      const outcome = await fixture.database.commit({
        batches: [fixture.batch('p', [put('late')])],
        fence: { job: 'job', range: range('', '20'), epoch: 6 },
      })
      expect(outcome).toEqual({ kind: 'fenced', currentEpoch: 7 })
      expect(await fixture.read('p', 'late')).toBeUndefined()
    })

    test('any overlapping range of the job refuses, whatever its cut', async () => {
      const fixture = await EngineFixture.make(await open())
      await attempt(fixture, { range: range('10', '20'), epoch: 9 })
      for (const overlapping of [
        range('', 'FF'),
        range('10', '20'),
        range('18', '30'),
        range('', '11'),
        range('12', '14'),
      ]) {
        expect(await attempt(fixture, { range: overlapping, epoch: 8 })).toBe('fenced')
        // A refused write must not be remembered, nor lower what is.
        expect(await attempt(fixture, { range: range('12', '14'), epoch: 8 })).toBe('fenced')
      }
      expect(await attempt(fixture, { range: range('20', '30'), epoch: 1 })).toBe('committed')
      expect(await attempt(fixture, { range: range('', '10'), epoch: 1 })).toBe('committed')
      expect(await attempt(fixture, { range: range('12', '14'), epoch: 9 })).toBe('committed')
      expect(await attempt(fixture, { range: range('', 'FF'), epoch: 10 })).toBe('committed')
      expect(await attempt(fixture, { range: range('', '10'), epoch: 9 })).toBe('fenced')
    })

    test('jobs do not disturb one another', async () => {
      const fixture = await EngineFixture.make(await open())
      await attempt(fixture, { job: 'one', range: FULL_RANGE, epoch: 9 })
      expect(await attempt(fixture, { job: 'two', range: FULL_RANGE, epoch: 1 })).toBe('committed')
    })

    test('a refused precondition does not raise the fence', async () => {
      const fixture = await EngineFixture.make(await open())
      const outcome = await fixture.database.commit({
        batches: [fixture.batch('p', [put('a', { condition: { kind: 'present' } })])],
        fence: { job: 'job', range: FULL_RANGE, epoch: 9 },
      })
      expect(outcome.kind).toBe('refused')
      expect(await attempt(fixture, { range: FULL_RANGE, epoch: 8 })).toBe('committed')
    })

    test('epochs may be microseconds since 1970', async () => {
      const fixture = await EngineFixture.make(await open())
      const epoch = 1_800_000_000_000_000
      expect(await attempt(fixture, { range: FULL_RANGE, epoch })).toBe('committed')
      expect(await attempt(fixture, { range: FULL_RANGE, epoch: epoch - 1 })).toBe('fenced')
    })
  })
}
