import { Store } from '@tidemark/store'
import type { CommitOutcome } from '@tidemark/store/engine'
import { sharedPostgres, type SharedPostgres } from '@tidemark/testing/servers'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { CountingPool } from '../counting-pool.fixture.ts'
import { numbersOf, QueueUnderTest } from '../messages/messages-under-test.fixture.ts'
import { openPostgresEngine } from '../postgres-engine.ts'

let server: SharedPostgres
beforeAll(async () => {
  server = await sharedPostgres()
})
afterAll(() => server[Symbol.asyncDispose]())

const COMMITS = 40
/** A transaction of one commit with a message takes five: BEGIN, documents, counter, message, COMMIT. */
const STATEMENTS_ALONE = 5

test('commits that wait for one queue go together; beside one that is refused, each alone', async () => {
  await using counting = new CountingPool(await server.createDatabase())
  await using store = await Store.open({
    engine: await openPostgresEngine({ pool: counting.pool }),
    maintenance: 'manual',
  })
  const { id: name } = await store.createDatabase('db')
  const documents = await store.database(name).createCollection({ id: 'c', partitionKey: '/pk' })
  const { engine, record, encoder } = await documents.open()
  const queue = await QueueUnderTest.create(engine.messages, 'orders')
  const { epk, text: partitionKey } = encoder.encodeKey('pk')
  const commit = (id: string, bytes = 1): Promise<CommitOutcome> => {
    const put = { kind: 'put', condition: { kind: 'absent' }, body: '{}', ttl: 0 } as const
    const operations = [{ ...put, id, rid: id }]
    const command = queue.sendCommand([id], bytes)
    return engine.commit({
      batches: [{ collection: record.number, epk, partitionKey, operations }],
      sends: { commands: [command], caller: { lockMs: undefined } },
    })
  }
  const all = (prefix: string, tooLarge?: number): Promise<readonly CommitOutcome[]> =>
    Promise.all(
      Array.from({ length: COMMITS }, (_, n) =>
        commit(`${prefix}${n}`, n === tooLarge ? 1_000_000 : 1),
      ),
    )
  const kindsOf = (outcomes: readonly CommitOutcome[]) => outcomes.map(({ kind }) => kind)

  counting.take()
  expect(new Set(kindsOf(await all('a')))).toEqual(new Set(['committed']))
  expect(counting.take()).toBeLessThan((COMMITS * STATEMENTS_ALONE) / 4)
  // The first document of each is there already: only this one is refused, and the group is written.
  expect(kindsOf(await Promise.all([commit('a0'), commit('b0')]))).toEqual(['refused', 'committed'])
  const outcomes = await all('c', 7)
  expect(outcomes[7]).toEqual({ kind: 'notSent', index: 0, answer: { kind: 'tooLarge' } })
  expect(kindsOf(outcomes).filter((kind) => kind === 'committed')).toHaveLength(COMMITS - 1)
  expect(numbersOf(await queue.receive(1000))).toEqual(
    Array.from({ length: 2 * COMMITS }, (_, n) => n + 1),
  )
  expect(await documents.count()).toBe(2 * COMMITS)
  expect(await engine.check()).toEqual([])
})
