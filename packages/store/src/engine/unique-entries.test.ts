import fc from 'fast-check'
import { expect, test } from 'vitest'
import { planUniqueEntries, uniqueBreach, type UniqueStep } from './unique-entries.ts'

interface TestBatch {
  readonly pk: string
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
  pk: fc.constantFrom('p', 'p', 'q'),
  steps: fc.array(step, { maxLength: 4 }),
})

function planned(batches: readonly TestBatch[]) {
  return planUniqueEntries(
    batches.map(({ pk, steps }) => ({
      collection: 1,
      epk: '00',
      partitionKey: pk,
      uniqueSteps: steps,
    })),
  )
}

test('batches without steps have no plan', () => {
  expect(planUniqueEntries([])).toBeUndefined()
  expect(planUniqueEntries([{ collection: 1, epk: '', partitionKey: 'p' }])).toBeUndefined()
  expect(planned([{ pk: 'p', steps: [] }])).toMatchObject({ claims: [], breach: undefined })
})

test('looking up first claims only finds what playing all steps one after the other finds', () => {
  fc.assert(
    fc.property(
      fc.array(batch, { maxLength: 4 }),
      fc.array(batch, { minLength: 1, maxLength: 4 }),
      (before, batches) => {
        const documents = new Map<string, readonly string[]>()
        // What is stored breaks no key.
        for (const { pk, steps } of before) {
          for (const each of steps) if (!breaks(documents, pk, each)) put(documents, pk, each)
        }
        const stored = new Map(documents)
        let expected: object | undefined
        search: for (const [batchIndex, { pk, steps }] of batches.entries()) {
          for (const [stepIndex, each] of steps.entries()) {
            const keyIndex = brokenKey(documents, pk, each)
            if (keyIndex !== undefined) {
              expected = { batchIndex, stepIndex, keyIndex }
              break search
            }
            put(documents, pk, each)
          }
        }
        const plan = planned(batches)
        if (plan === undefined) throw new Error('there are steps')
        const found = uniqueBreach(plan, ({ scope, keyIndex, entry }) => {
          const holder = [...stored].find(
            ([key, entries]) =>
              key.startsWith(`${scope.partitionKey}/`) && entries[keyIndex] === entry,
          )
          return holder?.[0].split('/')[1]
        })
        expect(found).toEqual(expected)
        if (expected !== undefined) return
        for (const { scope, id } of plan.holders) stored.delete(`${scope.partitionKey}/${id}`)
        for (const { scope, id, entries } of plan.holders) {
          if (entries.length > 0) stored.set(`${scope.partitionKey}/${id}`, entries)
        }
        expect(stored).toEqual(documents)
      },
    ),
    { numRuns: 3000 },
  )
})

function put(documents: Map<string, readonly string[]>, pk: string, { id, entries }: UniqueStep) {
  documents.delete(`${pk}/${id}`)
  if (entries.length > 0) documents.set(`${pk}/${id}`, entries)
}

function breaks(documents: Map<string, readonly string[]>, pk: string, each: UniqueStep): boolean {
  return brokenKey(documents, pk, each) !== undefined
}

/** The first unique key at which another document has the same. */
function brokenKey(
  documents: ReadonlyMap<string, readonly string[]>,
  pk: string,
  { id, entries }: UniqueStep,
): number | undefined {
  const others = [...documents].filter(([key]) => key.startsWith(`${pk}/`) && key !== `${pk}/${id}`)
  const index = entries.findIndex((entry, keyIndex) =>
    others.some(([, held]) => held[keyIndex] === entry),
  )
  return index === -1 ? undefined : index
}
