import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SimulatedClock } from '@tidemark/testing'
import { onTestFinished, expect, test } from 'vitest'
import { Store } from '@tidemark/store'
import { openTestedEngine } from './testing.ts'

const MONTH_MS = 30 * 86_400_000

test('TTL-5 the clock of a store stands still between processes of one boot no longer than until it was first noticed', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'tidemark-clock-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const wall = new SimulatedClock()
  const startMs = wall.monotonicMs()
  const open = async (bootId: string): Promise<Store> =>
    Store.open({
      engine: await openTestedEngine({
        folder,
        clock: wall,
        bootId,
        machineMs: () => wall.monotonicMs() - startMs,
      }),
      clock: wall,
      maintenance: 'manual',
    })
  const ids = async (bootId: string): Promise<readonly string[]> => {
    const store = await open(bootId)
    try {
      const page = await store.database('db').collection('c').readDocuments()
      return page.documents.map(({ id }) => id)
    } finally {
      await store.close()
    }
  }
  const store = await open('boot')
  const database = await store.createDatabaseIfNotExists('db')
  const definition = { id: 'c', partitionKey: '/id', defaultTtl: 60 }
  const collection = await database.createCollectionIfNotExists(definition)
  wall.jumpWall(MONTH_MS)
  await collection.upsert({ id: 'a' })
  await store.close()
  wall.jumpWall(-MONTH_MS)
  expect(await ids('boot')).toEqual(['a'])
  // Nobody has the store open meanwhile.
  await wall.advance(61_000)
  expect(await ids('boot')).toEqual([])
  // What was noted says nothing about another boot; then the clock is that of the last commit.
  expect(await ids('later')).toEqual(['a'])
})
