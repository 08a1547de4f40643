import type { WriteCondition } from '@tidemark/store/engine'
import fc from 'fast-check'

/** How a collection of the sequence begins. */
export interface CollectionShape {
  readonly defaultTtl: number | null
  /** Null = no log of all versions. */
  readonly previousImages: boolean | null
  readonly hasUniqueKeys: boolean
}

/** What the LSN of a condition is: that of the present document, or another one. */
export interface ConditionShape {
  readonly kind: WriteCondition['kind']
  readonly isCurrent: boolean
}

export interface OperationShape {
  readonly kind: 'put' | 'delete' | 'check'
  readonly id: string
  readonly condition: ConditionShape
  readonly ttl: number | 'invalid'
  /** Seconds from now; undefined = the document's own `ttl` counts. */
  readonly expiresIn: number | undefined
  readonly entries: readonly string[]
  /** Entries that an earlier step of the batch gives the document, and takes away again. */
  readonly passing: readonly string[] | undefined
}

export interface BatchShape {
  /** Index of the collection in the sequence. */
  readonly collection: number
  readonly partitionKey: string
  readonly operations: readonly OperationShape[]
}

export interface CommitShape {
  readonly batches: readonly BatchShape[]
  readonly fence:
    | { readonly job: string; readonly range: FenceBounds; readonly epoch: number }
    | undefined
}

export type FenceBounds = readonly [minInclusive: string, maxExclusive: string]

export type CommitStep =
  /** Sent at once, so that those that can go into one call of the function do. */
  | { readonly kind: 'commits'; readonly commits: readonly CommitShape[] }
  | { readonly kind: 'pass'; readonly ms: number }
  | { readonly kind: 'defaultTtl'; readonly collection: number; readonly seconds: number | null }
  | { readonly kind: 'drop'; readonly collection: number }

export interface CommitSequence {
  readonly collections: readonly CollectionShape[]
  readonly steps: readonly CommitStep[]
}

export const PARTITION_KEYS: readonly string[] = 'k l m n o p q r s t'.split(' ')
export const JOBS: readonly string[] = ['job', 'other']
export const FENCE_BOUNDS: readonly string[] = ['', '40', '80', 'C0', 'FF']
const IDS = ['a', 'b', 'c', 'd']
const COLLECTIONS = 3
const MAX_STEPS = 40

const defaultTtl = fc.constantFrom(null, -1, 1, 3)

const shape: fc.Arbitrary<CollectionShape> = fc.record({
  defaultTtl,
  previousImages: fc.constantFrom(null, false, true),
  hasUniqueKeys: fc.boolean(),
})

const condition: fc.Arbitrary<ConditionShape> = fc.record({
  kind: fc.oneof(
    { weight: 4, arbitrary: fc.constant('none' as const) },
    { weight: 3, arbitrary: fc.constantFrom('absent', 'present', 'lsn', 'notLsn') },
  ),
  isCurrent: fc.oneof({ weight: 4, arbitrary: fc.constant(true) }, fc.constant(false)),
})

const entries = fc.tuple(
  fc.constantFrom('x', 'y', 'z', 'u', 'v', 'w'),
  fc.constantFrom('1', '2', '3', '4', '5', '6'),
)

const operation: fc.Arbitrary<OperationShape> = fc.record({
  kind: fc.oneof(
    { weight: 5, arbitrary: fc.constant('put' as const) },
    { weight: 2, arbitrary: fc.constant('delete' as const) },
    { weight: 1, arbitrary: fc.constant('check' as const) },
  ),
  id: fc.constantFrom(...IDS),
  condition,
  ttl: fc.oneof(
    { weight: 8, arbitrary: fc.constantFrom(0, -1, 1, 2, 3) },
    fc.constant('invalid' as const),
  ),
  expiresIn: fc.oneof(
    { weight: 12, arbitrary: fc.constant(undefined) },
    { weight: 6, arbitrary: fc.integer({ min: -2, max: 4 }) },
    // Further away than a `ttl` can say.
    fc.constant(2 ** 31 + 5),
  ),
  entries,
  passing: fc.option(entries, { nil: undefined, freq: 2 }),
})

const batch: fc.Arbitrary<BatchShape> = fc.record({
  collection: fc.nat(COLLECTIONS - 1),
  partitionKey: fc.constantFrom(...PARTITION_KEYS),
  operations: fc.uniqueArray(operation, { maxLength: 3, selector: ({ id }) => id, size: 'max' }),
})

const bounds: fc.Arbitrary<FenceBounds> = fc
  .uniqueArray(fc.nat(FENCE_BOUNDS.length - 1), { minLength: 2, maxLength: 2 })
  .map((indexes) => {
    const [from = 0, to = 1] = indexes.toSorted((a, b) => a - b)
    return [FENCE_BOUNDS[from] ?? '', FENCE_BOUNDS[to] ?? ''] as const
  })

const commit: fc.Arbitrary<CommitShape> = fc.record({
  batches: fc.oneof(
    { weight: 1, arbitrary: fc.array(batch, { minLength: 1, maxLength: 1 }) },
    { weight: 3, arbitrary: fc.array(batch, { minLength: 2, maxLength: 4, size: 'max' }) },
  ),
  fence: fc.option(
    fc.record({
      job: fc.constantFrom(...JOBS),
      range: bounds,
      epoch: fc.integer({ min: 1, max: 5 }),
    }),
    { nil: undefined, freq: 2 },
  ),
})

const step: fc.Arbitrary<CommitStep> = fc.oneof(
  {
    weight: 40,
    arbitrary: fc.record({
      kind: fc.constant('commits' as const),
      commits: fc.array(commit, { minLength: 1, maxLength: 16, size: 'max' }),
    }),
  },
  {
    weight: 16,
    arbitrary: fc.record({
      kind: fc.constant('pass' as const),
      ms: fc.constantFrom(1, 499, 1000, 1000, 2000, 3500),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('defaultTtl' as const),
      collection: fc.nat(COLLECTIONS - 1),
      seconds: defaultTtl,
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('drop' as const),
      // Most commits would find one that is gone if any could be.
      collection: fc.constant(COLLECTIONS - 1),
    }),
  },
)

export const commitSequence: fc.Arbitrary<CommitSequence> = fc.record({
  collections: fc.array(shape, { minLength: COLLECTIONS, maxLength: COLLECTIONS }),
  steps: fc.array(step, { maxLength: MAX_STEPS, size: 'max' }),
})
