import { describe, expect, test } from 'vitest'
import type { CollectionRecord } from './catalog.ts'
import type { CommitBatch, CommitOperation, WriteCondition } from './commit.ts'
import {
  planCommit,
  type CommitPlace,
  type CommitPlan,
  type CommitView,
  type PresentDocument,
} from './plan-commit.ts'

const SECOND = 1_800_000_000
const TTL = 10

interface Fake {
  readonly defaultTtl?: number | null
  /** By id; all have the partition key `p`. */
  readonly documents?: Readonly<Record<string, PresentDocument>>
  /** The document that has an entry, by the entry. */
  readonly holders?: Readonly<Record<string, string>>
  readonly epochs?: readonly number[]
}

/** Numbers of collections beside the usual one: one that is gone, and one in which nothing expires. */
const GONE = 2
const KEEPS_ALL = 3

const LIVE: PresentDocument = { lsn: 5, ts: SECOND - 1, ttl: 0 }
const EXPIRED: PresentDocument = { lsn: 4, ts: SECOND - TTL, ttl: 0 }

/** Two ranges, the second from `B` on; the last LSNs are 100 and 200. */
class FakeView implements CommitView<CommitPlace, PresentDocument> {
  readonly timeMs: number = SECOND * 1000 + 999
  readonly #fake: Fake
  readonly #counters = [{ lsn: 100 }, { lsn: 200 }] as const

  constructor(fake: Fake) {
    this.#fake = fake
  }

  place({ collection, epk }: CommitBatch): CommitPlace | undefined {
    if (collection === GONE) return undefined
    const { defaultTtl = TTL } = collection === KEEPS_ALL ? { defaultTtl: null } : this.#fake
    const record = { definition: { defaultTtl }, ttlEras: [] } as unknown as CollectionRecord
    return { collection: { record }, counter: this.#counters[epk < 'B' ? 0 : 1] }
  }

  document(_: CommitBatch, id: string): PresentDocument | undefined {
    return this.#fake.documents?.[id]
  }

  fencesOf(): readonly { readonly range: typeof RANGE; readonly epoch: number }[] {
    return (this.#fake.epochs ?? []).map((epoch) => ({ range: RANGE, epoch }))
  }

  holder({ entry }: { readonly entry: string }): (PresentDocument & { id: string }) | undefined {
    const id = this.#fake.holders?.[entry]
    const document = id === undefined ? undefined : this.#fake.documents?.[id]
    return id === undefined || document === undefined ? undefined : { ...document, id }
  }
}

const RANGE = { minInclusive: '', maxExclusive: 'FF' }

function plan(
  fake: Fake,
  ...batches: readonly CommitBatch[]
): CommitPlan<CommitPlace, PresentDocument> {
  return planCommit(new FakeView(fake), { batches })
}

function batch(...operations: readonly CommitOperation[]): CommitBatch {
  return { collection: 1, epk: 'A', partitionKey: 'p', operations }
}

const ANY: WriteCondition = { kind: 'none' }

function put(id: string, more: Partial<Extract<CommitOperation, { kind: 'put' }>> = {}) {
  return { kind: 'put', id, condition: ANY, rid: 'r', body: '{}', ttl: 0, ...more } as const
}

function del(id: string, condition = ANY): CommitOperation {
  return { kind: 'delete', id, condition }
}

function check(id: string, condition: WriteCondition): CommitOperation {
  return { kind: 'check', id, condition }
}

describe('LSNs', () => {
  test.each<{ of: string; operations: CommitOperation[]; lsn: number; taken: number[] }>([
    { of: 'one put', operations: [put('a')], lsn: 101, taken: [101] },
    {
      of: 'three puts',
      operations: [put('a'), put('b'), put('c')],
      lsn: 103,
      taken: [101, 102, 103],
    },
    { of: 'no write', operations: [check('live', { kind: 'present' })], lsn: 100, taken: [] },
    { of: 'no operation', operations: [], lsn: 100, taken: [] },
    { of: 'a delete of nothing', operations: [del('none'), put('a')], lsn: 102, taken: [102] },
    {
      of: 'a put over what expired',
      operations: [put('a'), put('old')],
      lsn: 103,
      taken: [102, 103],
    },
    { of: 'a delete of what expired', operations: [del('old')], lsn: 101, taken: [] },
  ])('ST-5 TTL-16 $of', ({ operations, lsn, taken }) => {
    const { batches } = plan({ documents: { live: LIVE, old: EXPIRED } }, batch(...operations))
    expect(batches[0]).toMatchObject({ lsn, writes: taken.map((each) => ({ taken: each })) })
  })

  test('ST-5 TTL-16 the pending deletes of a batch come first, each with its own LSN', () => {
    const documents = { old: EXPIRED, older: { ...EXPIRED, ts: SECOND - TTL - 7 } }
    const { batches } = plan({ documents }, batch(put('a'), put('old'), put('older')))
    expect(batches[0]).toMatchObject({
      lsn: 105,
      existed: [false, false, false],
      expiries: [
        { id: 'old', lsn: 101, second: SECOND, document: documents.old },
        { id: 'older', lsn: 102, second: SECOND - 7, document: documents.older },
      ],
      writes: [{ taken: 103 }, { taken: 104 }, { taken: 105 }],
    })
  })

  test('ST-5 batches of one range follow each other, those of another range do not count', () => {
    const other = { ...batch(put('b'), put('c')), epk: 'C' }
    const { batches } = plan({}, batch(put('a')), other, batch(put('d')))
    expect(batches.map(({ lsn }) => lsn)).toEqual([101, 202, 102])
  })
})

test('ST-3 each batch sees the effects of those before it', () => {
  const { outcome, batches } = plan(
    { documents: { live: LIVE, gone: LIVE, old: EXPIRED } },
    batch(put('live'), del('gone'), del('old')),
    batch(
      put('live', { condition: { kind: 'lsn', lsn: 103 } }),
      check('gone', { kind: 'absent' }),
      put('old'),
    ),
  )
  expect(outcome).toMatchObject({
    batches: [
      { lsn: 103, existed: [true, true, false] },
      { lsn: 106, existed: [true, false, false] },
    ],
  })
  const [first, second] = batches
  expect(first?.writes).toMatchObject([{ replaces: LIVE }, { replaces: LIVE }])
  expect(second?.expiries).toMatchObject([{ id: 'old', lsn: 104 }])
  expect(second?.writes[0]?.replaces).toBe(first?.writes[0])
})

test.each([
  { given: {}, defaultTtl: TTL, ttl: 0, made: null, expirySecond: SECOND + TTL },
  { given: { ttl: -1 }, defaultTtl: TTL, ttl: -1, made: null, expirySecond: 0 },
  { given: { ttl: 3 }, defaultTtl: -1, ttl: 3, made: null, expirySecond: SECOND + 3 },
  { given: { ttl: 'invalid' }, defaultTtl: null, ttl: 0, made: null, expirySecond: 0 },
  {
    given: { expirySecond: SECOND + 9 },
    defaultTtl: -1,
    ttl: 9,
    made: 9,
    expirySecond: SECOND + 9,
  },
  {
    given: { expirySecond: SECOND + 2 ** 31 + 5 },
    defaultTtl: null,
    ttl: 2 ** 31 - 1,
    made: 2 ** 31 - 1,
    expirySecond: 0,
  },
  { given: { expirySecond: SECOND - 9 }, defaultTtl: null, ttl: 1, made: 1, expirySecond: 0 },
] as const)(
  'TTL-3 JB-2 a put of $given under a default of $defaultTtl expires at $expirySecond',
  ({ given, defaultTtl, ...expected }) => {
    const { batches } = plan({ defaultTtl }, batch(put('a', given)))
    expect(batches[0]?.writes).toMatchObject([{ ts: SECOND, ...expected }])
  },
)

describe('a refusal', () => {
  const present = check('live', { kind: 'present' })
  const wrong = check('live', { kind: 'lsn', lsn: 6 })
  const invalid = put('a', { ttl: 'invalid' })
  const gone = { ...batch(present), collection: GONE }
  const taken = { ...batch(put('a')), uniqueSteps: [{ id: 'a', entries: ['mail'] }] }
  const refused = { kind: 'refused', batchIndex: 0, operationIndex: 1, presentLsn: 5 }
  const invalidTtl = { kind: 'invalidTtl', batchIndex: 0, operationIndex: 1 }
  const breach = { kind: 'notUnique', batchIndex: 0, stepIndex: 0, keyIndex: 0 }

  test.each([
    {
      of: 'a collection that is gone',
      batches: [batch(wrong), gone],
      epoch: 9,
      expected: { kind: 'collectionGone', batchIndex: 1 },
    },
    {
      of: 'a later epoch',
      batches: [batch(wrong)],
      epoch: 9,
      expected: { kind: 'fenced', currentEpoch: 9 },
    },
    { of: 'a condition', batches: [batch(present, wrong, invalid)], epoch: 7, expected: refused },
    { of: 'a ttl', batches: [batch(present, invalid, wrong)], epoch: 7, expected: invalidTtl },
    {
      of: 'a condition, though an entry is taken',
      batches: [taken, batch(wrong)],
      epoch: 7,
      expected: { ...refused, batchIndex: 1, operationIndex: 0 },
    },
    { of: 'an entry', batches: [taken, batch(present)], epoch: 7, expected: breach },
  ])('ST-3 by $of', ({ batches, epoch, expected }) => {
    const view = new FakeView({
      documents: { live: LIVE },
      holders: { mail: 'live' },
      epochs: [epoch],
    })
    const fence = { job: 'job', range: RANGE, epoch: 7 }
    expect(planCommit(view, { batches, fence })).toEqual({
      outcome: expected,
      batches: [],
      unique: undefined,
    })
  })

  test('TTL-9 there is none for an invalid ttl while TTL is off', () => {
    expect(plan({ defaultTtl: null }, batch(invalid)).outcome.kind).toBe('committed')
  })

  test('TTL-4 there is none for an entry of an expired document', () => {
    const fake = { documents: { old: EXPIRED }, holders: { mail: 'old' } }
    expect(plan(fake, taken).outcome.kind).toBe('committed')
  })

  test('TTL-4 whether the holder of an entry has expired is for its own collection to say', () => {
    const fake = { documents: { old: EXPIRED }, holders: { mail: 'old' } }
    const beside = { ...batch(put('b')), collection: KEEPS_ALL }
    expect(plan(fake, beside, taken).outcome.kind).toBe('committed')
    const kept = { ...taken, collection: KEEPS_ALL }
    expect(plan(fake, batch(put('b')), kept).outcome.kind).toBe('notUnique')
  })

  test.each<{ condition: WriteCondition }>([
    { condition: { kind: 'present' } },
    { condition: { kind: 'lsn', lsn: 4 } },
  ])('TTL-4 an expired document does not meet $condition', ({ condition }) => {
    const { outcome } = plan({ documents: { old: EXPIRED } }, batch(del('old', condition)))
    expect(outcome).toEqual({ kind: 'refused', batchIndex: 0, operationIndex: 0 })
  })
})
