import { FULL_RANGE, type FeedRange } from '@tidemark/contracts'
import type { CommitOutcome, DatabaseEngine } from '@tidemark/store/engine'
import { sharedPostgres, type SharedPostgres } from '@tidemark/testing/servers'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { StoreUnderTest, put } from '../maintenance/store-under-test.fixture.ts'

/*
 * Commits of one job to two segments, where no lock of a segment keeps one behind the other. The first is held while
 * it has its fence: a document of its key is on its way in a transaction that nobody has ended.
 */

let server: SharedPostgres

beforeAll(async () => {
  server = await sharedPostgres()
})

afterAll(async () => {
  await server[Symbol.asyncDispose]()
})

const HIGH: FeedRange = { minInclusive: '20', maxExclusive: 'FF' }
const inLow = { epk: '00', partitionKey: '["low"]' }
const inHigh = { epk: '30', partitionKey: '["high"]' }

interface FencedWrite {
  readonly key: typeof inLow
  readonly id: string
  readonly range: FeedRange
  readonly epoch: number
}

async function openStore(): Promise<StoreUnderTest> {
  const store = await StoreUnderTest.open(server)
  await store.split('20')
  for (const { database } of [store, { database: store.other }]) {
    await write(store, database, { key: inLow, id: 'known', range: FULL_RANGE, epoch: 5 })
    await write(store, database, { key: inHigh, id: 'known', range: HIGH, epoch: 5 })
  }
  return store
}

function write(
  { collection }: StoreUnderTest,
  by: DatabaseEngine,
  { key, id, range, epoch }: FencedWrite,
): Promise<CommitOutcome> {
  const batches = [{ collection: collection.number, ...key, operations: [put(id)] }]
  return by.commit({ batches, fence: { job: 'job', range, epoch } })
}

/** Holds the first write, sends the second, and tells which came first: its answer, or that it waits. */
async function overtaking(
  store: StoreUnderTest,
  first: FencedWrite,
  second: FencedWrite,
): Promise<{
  readonly seen: 'waits' | CommitOutcome
  readonly outcomes: readonly CommitOutcome[]
}> {
  await store.query('BEGIN')
  await store.query(
    `INSERT INTO doc(lsn, exp, ts, segment, ord, coll, ttl, kind, epk, pk, id, rid, body)
     VALUES (999, 0, 0, 999, 1, $1, 0, 0, $2, $3, $4, '', '')`,
    [store.collection.number, first.key.epk, first.key.partitionKey, first.id],
  )
  const held = write(store, store.database, first)
  await store.untilBlocked(1)
  const other = write(store, store.other, second)
  const bothWait = store.untilBlocked(2).then(() => 'waits' as const)
  const seen = await Promise.race([other, bothWait])
  await store.query('ROLLBACK')
  return { seen, outcomes: await Promise.all([held, other]) }
}

test('LE-11 a newer epoch is acknowledged only when what an older one has under way in another segment is visible', async () => {
  await using store = await openStore()
  const { seen, outcomes } = await overtaking(
    store,
    { key: inLow, id: 'older', range: FULL_RANGE, epoch: 5 },
    { key: inHigh, id: 'newer', range: HIGH, epoch: 6 },
  )
  expect(seen).toBe('waits')
  expect(outcomes.map(({ kind }) => kind)).toEqual(['committed', 'committed'])
})

test.each([
  { what: 'that it has written with before', epoch: 5 },
  { what: 'that is new', epoch: 4 },
])(
  'LE-11 an older epoch ($what) waits for a newer one that is under way in another segment, and is refused',
  async ({ epoch }) => {
    await using store = await openStore()
    const { seen, outcomes } = await overtaking(
      store,
      { key: inLow, id: 'newer', range: FULL_RANGE, epoch: 6 },
      { key: inHigh, id: 'older', range: HIGH, epoch },
    )
    expect(seen).toBe('waits')
    expect(outcomes).toMatchObject([{ kind: 'committed' }, { kind: 'fenced', currentEpoch: 6 }])
    const rows = await store.query(`SELECT id FROM doc WHERE id <> 'known'`)
    expect(rows).toEqual([['newer']])
  },
)
