import { FULL_RANGE } from '@tidemark/contracts'
import type { StorageEngine } from '@tidemark/store'
import type { CommitBatch } from '@tidemark/store/engine'
import { describe, expect, test } from 'vitest'
import { EngineFixture, put } from './fixtures.ts'

/** What only the contract of engines says of unique keys (decision 0022); the suite of collections has the rest. */
export function storageEngineUniqueKeys(open: () => Promise<StorageEngine>): void {
  const make = async (): Promise<EngineFixture> =>
    EngineFixture.make(await open(), { definition: { uniqueKeys: [['/mail']] } })
  /** A put of a document whose entry is the same for all. */
  const holding = (fixture: EngineFixture, id: string): CommitBatch => ({
    ...fixture.batch('p', [put(id)]),
    uniqueSteps: [{ id, entries: ['m'] }],
  })
  const breach = { kind: 'notUnique', batchIndex: 0, stepIndex: 0, keyIndex: 0 }

  describe('unique keys', () => {
    test('entries go with their collection; one of the same name begins without', async () => {
      const fixture = await make()
      const { engine, database, collection } = fixture
      await fixture.commit(holding(fixture, 'a'))
      expect(await fixture.commit(holding(fixture, 'b'))).toEqual(breach)
      await database.deleteCollection('coll')
      const again = await database.createCollection('coll', collection.definition, [FULL_RANGE])
      const other = new EngineFixture(engine, database, again)
      expect(await other.commit(holding(other, 'b'))).toMatchObject({ kind: 'committed' })
    })

    test('a refused unique key does not raise the fence, a fenced write says so first', async () => {
      const fixture = await make()
      const attempt = (id: string, epoch: number) =>
        fixture.database.commit({
          batches: [holding(fixture, id)],
          fence: { job: 'job', range: FULL_RANGE, epoch },
        })
      expect(await attempt('a', 5)).toMatchObject({ kind: 'committed' })
      expect(await attempt('b', 6)).toEqual(breach)
      expect(await attempt('a', 5)).toMatchObject({ kind: 'committed' })
      expect(await attempt('b', 4)).toMatchObject({ kind: 'fenced' })
    })
  })
}
