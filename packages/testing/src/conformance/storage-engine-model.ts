import { FULL_RANGE, evenRanges, rangeContainsEpk, feedVersion } from '@tidemark/contracts'
import type { CommitBatch } from '@tidemark/store/engine'
import type { StorageEngine } from '@tidemark/store'
import type { WriteCondition } from '@tidemark/store/engine'
import { conditionHolds } from '@tidemark/store/engine'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  DEFINITION,
  EngineFixture,
  MANY_CHARS,
  MANY_ITEMS,
  keyOf,
  parsed,
  put,
} from './storage-engine-fixtures.ts'

interface ModelOperation {
  readonly kind: 'put' | 'delete' | 'check'
  readonly id: string
  readonly condition: WriteCondition['kind']
  /** Whether an LSN condition names the present LSN, or another. */
  readonly right: boolean
}

interface ModelBatch {
  readonly pk: string
  readonly operations: readonly ModelOperation[]
}

interface ModelDocument {
  readonly pk: string
  readonly id: string
  readonly n: number
  readonly lsn: number
}

const RANGES = evenRanges(3, DEFINITION.partitionKey)

/** Random commits, compared with a model that is too simple to be wrong. */
export function storageEngineModel(open: () => Promise<StorageEngine>, runs: number): void {
  const operation: fc.Arbitrary<ModelOperation> = fc.record({
    kind: fc.constantFrom('put', 'put', 'put', 'delete', 'check'),
    id: fc.constantFrom('a', 'b', 'c', 'd'),
    condition: fc.constantFrom('none', 'none', 'none', 'absent', 'present', 'lsn', 'notLsn'),
    right: fc.boolean(),
  })
  const batch: fc.Arbitrary<ModelBatch> = fc.record({
    pk: fc.constantFrom('p', 'q', 'r', 's', 't', 'u'),
    operations: fc.uniqueArray(operation, {
      selector: ({ id }) => id,
      minLength: 1,
      maxLength: 4,
    }),
  })
  const commit = fc.array(batch, { minLength: 1, maxLength: 3 })

  describe('model', () => {
    test('ST-3 ST-4 ST-5 CF-2 random commits leave what the model says', async () => {
      const engine = await open()
      let run = 0
      await fc.assert(
        fc.asyncProperty(
          fc.array(commit, { minLength: 1, maxLength: 25 }),
          fc.integer({ min: 1, max: 5 }),
          async (commits, maxItems) => {
            // One engine for all runs: opening one is what costs most.
            await engine.createDatabase(`db${run}`)
            const database = await engine.openDatabase(`db${run}`)
            run++
            const collection = await database.createCollection('coll', DEFINITION, RANGES)
            const fixture = new EngineFixture(engine, database, collection)
            const model = new Model()
            let n = 0
            for (const batches of commits) n = await applyBoth(fixture, model, batches, n)
            await compare(fixture, model, maxItems)
            await engine.deleteDatabase(database.record.id)
          },
        ),
        { numRuns: runs },
      )
    })
  })
}

class Model {
  documents = new Map<string, ModelDocument>()
  readonly counters = new Map<number, number>()

  present(pk: string, id: string): ModelDocument | undefined {
    return this.documents.get(`${pk}/${id}`)
  }
}

async function applyBoth(
  fixture: EngineFixture,
  model: Model,
  batches: readonly ModelBatch[],
  first: number,
): Promise<number> {
  let n = first
  const commitBatches: CommitBatch[] = []
  const written: { key: string; document: ModelDocument | undefined; batchIndex: number }[] = []
  let refused: [batchIndex: number, operationIndex: number] | undefined
  // LSNs of this commit are known only afterwards: LSN conditions name those of before it.
  const touched = new Map<string, boolean>()
  for (const [batchIndex, { pk, operations }] of batches.entries()) {
    commitBatches.push(
      fixture.batch(
        pk,
        operations.map((operation, operationIndex) => {
          const { kind, id } = operation
          const key = `${pk}/${id}`
          const before = model.present(pk, id)?.lsn
          const lsn = operation.right && before !== undefined ? before : (before ?? 0) + 1_000_000
          const condition = { kind: operation.condition, lsn }
          const there = touched.get(key)
          const inTheWay = there === undefined ? before : there ? -1 : undefined
          if (!conditionHolds(condition, inTheWay)) refused ??= [batchIndex, operationIndex]
          if (kind === 'check') return { kind, id, condition }
          touched.set(key, kind === 'put')
          n++
          written.push({
            key,
            document: kind === 'put' ? { pk, id, n, lsn: 0 } : undefined,
            batchIndex,
          })
          return kind === 'put' ? put(id, { n, condition }) : { kind, id, condition }
        }),
      ),
    )
  }
  const outcome = await fixture.commit(...commitBatches)
  if (refused !== undefined) {
    const [batchIndex, operationIndex] = refused
    expect(outcome).toMatchObject({ kind: 'refused', batchIndex, operationIndex })
    return n
  }
  if (outcome.kind !== 'committed') throw new Error(`not committed: ${JSON.stringify(outcome)}`)
  for (const [index, { lsn }] of outcome.batches.entries()) {
    const range = rangeIndex(batches[index]?.pk ?? '')
    const writes = batches[index]?.operations.some(({ kind }) => kind !== 'check')
    const counter = model.counters.get(range) ?? 0
    if (writes) expect(lsn).toBeGreaterThan(counter)
    model.counters.set(range, Math.max(counter, lsn))
  }
  for (const { key, document, batchIndex } of written) {
    const lsn = outcome.batches[batchIndex]?.lsn ?? 0
    // Taken out first, so that the map's order is the order of the newest versions.
    model.documents.delete(key)
    if (document) model.documents.set(key, { ...document, lsn })
  }
  return n
}

async function compare(fixture: EngineFixture, model: Model, maxItems: number): Promise<void> {
  const { database, collection } = fixture
  expect(await database.check()).toEqual([])
  expect(await database.countDocuments(collection)).toBe(model.documents.size)
  for (const { pk, id, n, lsn } of model.documents.values()) {
    expect(await fixture.read(pk, id)).toMatchObject({ id, n, _lsn: lsn })
  }
  const limits = { maxItems: MANY_ITEMS, maxChars: MANY_CHARS }
  const { versions } = await database.scan({ collection, range: FULL_RANGE, ...limits })
  const numbers = (list: readonly unknown[]): readonly number[] =>
    list.map(Number).sort((a, b) => a - b)
  expect(numbers(versions.map((each) => parsed(each)['n']))).toEqual(
    numbers([...model.documents.values()].map(({ n }) => n)),
  )
  for (const [index, range] of RANGES.entries()) {
    const wanted = [...model.documents.values()].filter(({ pk }) => rangeIndex(pk) === index)
    const seen: unknown[] = []
    for (let afterLsn = 0; ;) {
      const page = await fixture.page(afterLsn, { range, maxItems })
      const lsns = page.rows.map(([lsn]) => lsn)
      // Whole transactions only: without the last one the page would be too small.
      const last = lsns.at(-1)
      expect(lsns.filter((lsn) => lsn !== last).length).toBeLessThan(maxItems)
      if (last !== undefined) {
        expect(lsns.filter((lsn) => lsn === last)).toHaveLength(
          wanted.filter(({ lsn }) => lsn === last).length,
        )
      }
      seen.push(...page.rows.map((row) => [row[0], parsed(feedVersion(row))['n']]))
      afterLsn = page.lsn
      if (page.caughtUp) break
    }
    expect(afterLsnOrder(seen)).toEqual(afterLsnOrder(wanted.map(({ lsn, n }) => [lsn, n])))
    expect(seen.map((entry) => (entry as [number, number])[0])).toEqual(
      wanted.map(({ lsn }) => lsn).sort((a, b) => a - b),
    )
  }
}

/** Within one transaction the order is the engine's. */
function afterLsnOrder(entries: readonly unknown[]): readonly string[] {
  return entries.map((entry) => JSON.stringify(entry)).sort()
}

function rangeIndex(pk: string): number {
  const { epk } = keyOf(pk)
  return RANGES.findIndex((range) => rangeContainsEpk(range, epk))
}
