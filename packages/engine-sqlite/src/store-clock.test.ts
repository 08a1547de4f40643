import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SimulatedClock } from '@tidemark/testing'
import { onTestFinished, describe, expect, test } from 'vitest'
import { Store } from '@tidemark/store'
import { StoreClock } from '@tidemark/store/engine'
import { openTestedEngine } from './testing.ts'

const MONTH_MS = 30 * 86_400_000

describe('TTL-5 the clock of a store', () => {
  test('is the wall clock, as long as that goes ahead', async () => {
    const wall = new SimulatedClock()
    const clock = new StoreClock(wall)
    for (const step of [0, 1, 999, 86_400_000]) {
      await wall.advance(step)
      expect(clock.nowMs()).toBe(wall.wallMs())
    }
    wall.jumpWall(MONTH_MS)
    expect(clock.nowMs()).toBe(wall.wallMs())
  })

  test('goes on, and never back, when the wall clock was set ahead and back', async () => {
    const wall = new SimulatedClock()
    const clock = new StoreClock(wall)
    clock.nowMs()
    wall.jumpWall(MONTH_MS)
    const aheadMs = clock.nowMs()
    wall.jumpWall(-MONTH_MS)
    for (const passedMs of [0, 10, 2_000, 86_400_000]) {
      const before = clock.nowMs()
      await wall.advance(passedMs)
      expect(clock.nowMs() - before).toBe(passedMs)
    }
    expect(clock.nowMs()).toBe(aheadMs + 86_402_010)
    // Once the wall clock has caught up, it is the clock again.
    wall.jumpWall(MONTH_MS + 5)
    expect(clock.nowMs()).toBe(wall.wallMs())
    await wall.advance(1_000)
    expect(clock.nowMs()).toBe(wall.wallMs())
  })

  test('waits for a wall clock that is a second behind, or less', async () => {
    const wall = new SimulatedClock()
    const clock = new StoreClock(wall)
    const startMs = clock.nowMs()
    wall.jumpWall(-1_000)
    await wall.advance(900)
    expect(clock.nowMs()).toBe(startMs)
    await wall.advance(200)
    expect(clock.nowMs()).toBe(startMs + 100)
    expect(clock.nowMs()).toBe(wall.wallMs())
  })

  test('goes on from the time of a commit that is ahead of this machine', async () => {
    const wall = new SimulatedClock()
    const clock = new StoreClock(wall)
    const committedMs = wall.wallMs() + MONTH_MS
    expect(clock.nowMs(committedMs)).toBe(committedMs)
    await wall.advance(3_000)
    expect(clock.nowMs()).toBe(committedMs + 3_000)
    expect(clock.nowMs(committedMs + 5_000)).toBe(committedMs + 5_000)
    await wall.advance(1_000)
    expect(clock.nowMs()).toBe(committedMs + 6_000)
  })

  test('takes no word of a jump that no commit saw, after a small correction', async () => {
    const wall = new SimulatedClock()
    let aheadMs: number | undefined
    const noted = {
      nowMs: () => aheadMs && aheadMs + wall.monotonicMs(),
      note: (nowMs: number) => {
        aheadMs = nowMs - wall.monotonicMs()
      },
    }
    const reader = new StoreClock(wall, noted)
    reader.nowMs()
    wall.jumpWall(MONTH_MS)
    reader.nowMs()
    wall.jumpWall(-MONTH_MS)
    reader.nowMs()
    expect(aheadMs).toBeDefined()
    for (const isOpenBefore of [true, false]) {
      const clock = new StoreClock(wall, noted)
      const committedMs = wall.wallMs()
      if (isOpenBefore) clock.nowMs(committedMs)
      wall.jumpWall(-1_500)
      await wall.advance(100)
      expect(clock.nowMs(committedMs) - committedMs).toBeLessThanOrEqual(100)
    }
  })

  test('stands still between processes of one boot no longer than until it was first noticed', async () => {
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
})
