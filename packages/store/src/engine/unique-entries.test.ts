import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { UniqueStep } from './commit.ts'
import { planUniqueEntries, uniqueBreach, type UniqueScope } from './unique-entries.ts'

interface TestBatch {
  /** Number of the collection and partition key value. */
  readonly place: string
  readonly steps: readonly UniqueStep[]
}

const step = fc.record({
  id: fc.constantFrom('a', 'b', 'c'),
  entries: fc.oneof(
    fc.constant([]),
    fc.tuple(fc.constantFrom('x', 'y', 'z', 'w'), fc.constantFrom('x', 'y', 'z', 'w', 'v', 'u')),
  ),
})
const batch: fc.Arbitrary<TestBatch> = fc.record({
  place: fc.constantFrom('1p', '1p', '1q', '2p'),
  steps: fc.array(step, { maxLength: 4 }),
})

function planned(batches: readonly TestBatch[]) {
  return planUniqueEntries(
    batches.map(({ place, steps }) => ({
      collection: Number(place[0]),
      epk: '00',
      partitionKey: place.slice(1),
      uniqueSteps: steps,
    })),
  )
}

test('batches without steps have no plan', () => {
  expect(planUniqueEntries([])).toBeUndefined()
  expect(planUniqueEntries([{ collection: 1, epk: '', partitionKey: 'p' }])).toBeUndefined()
  expect(planned([{ place: '1p', steps: [] }])).toMatchObject({ claims: [], breach: undefined })
})

test('looking up first claims only finds what playing all steps one after the other finds', () => {
  fc.assert(
    fc.property(
      fc.array(batch, { maxLength: 4 }),
      fc.array(batch, { minLength: 1, maxLength: 4 }),
      (before, batches) => {
        const documents = new Map<string, readonly string[]>()
        // What is stored breaks no key.
        for (const { place, steps } of before) {
          for (const each of steps) if (!breaks(documents, place, each)) put(documents, place, each)
        }
        const stored = new Map(documents)
        let expected: object | undefined
        search: for (const [batchIndex, { place, steps }] of batches.entries()) {
          for (const [stepIndex, each] of steps.entries()) {
            const keyIndex = brokenKey(documents, place, each)
            if (keyIndex !== undefined) {
              expected = { batchIndex, stepIndex, keyIndex }
              break search
            }
            put(documents, place, each)
          }
        }
        const plan = planned(batches)
        if (plan === undefined) throw new Error('there are steps')
        const found = uniqueBreach(plan, ({ scope, keyIndex, entry }) => {
          const holder = [...stored].find(
            ([key, entries]) => key.startsWith(`${placeOf(scope)}/`) && entries[keyIndex] === entry,
          )
          return holder?.[0].split('/')[1]
        })
        expect(found).toEqual(expected)
        if (expected !== undefined) return
        for (const { scope, id } of plan.holders) stored.delete(`${placeOf(scope)}/${id}`)
        for (const { scope, id, entries } of plan.holders) {
          if (entries.length > 0) stored.set(`${placeOf(scope)}/${id}`, entries)
        }
        expect(stored).toEqual(documents)
      },
    ),
    { numRuns: 3000 },
  )
})

function placeOf({ collection, partitionKey }: UniqueScope): string {
  return `${collection}${partitionKey}`
}

function put(documents: Map<string, readonly string[]>, place: string, each: UniqueStep): void {
  const { id, entries } = each
  documents.delete(`${place}/${id}`)
  if (entries.length > 0) documents.set(`${place}/${id}`, entries)
}

function breaks(documents: Map<string, readonly string[]>, place: string, each: UniqueStep) {
  return brokenKey(documents, place, each) !== undefined
}

/** The first unique key at which another document has the same. */
function brokenKey(
  documents: ReadonlyMap<string, readonly string[]>,
  place: string,
  { id, entries }: UniqueStep,
): number | undefined {
  const others = [...documents].filter(
    ([key]) => key.startsWith(`${place}/`) && key !== `${place}/${id}`,
  )
  const index = entries.findIndex((entry, keyIndex) =>
    others.some(([, held]) => held[keyIndex] === entry),
  )
  return index === -1 ? undefined : index
}
