import { FULL_RANGE, lsn, type FeedRange } from '@tidemark/contracts'
import type { CommitBatch, CommitOutcome } from '@tidemark/store/engine'
import { describe, expect, test, type TestContext } from 'vitest'
import { SteppedClock } from '../../stepped-clock.ts'
import {
  DEFINITION,
  EngineFixture,
  committed,
  del,
  put,
  type EngineSetup,
  type StorageEngineConformance,
  type StorageEngineUnderTest,
} from './fixtures.ts'

/** One collection through two handles, as two processes have them. */
interface Handles {
  readonly one: EngineFixture
  readonly two: EngineFixture
}

const LOW: FeedRange = { minInclusive: '', maxExclusive: '20' }
const HIGH: FeedRange = { minInclusive: '20', maxExclusive: 'FF' }

/**
 * What two handles of one store share. Each keeps what it has read: whatever one of them has done by the time it was
 * answered counts for the next call of the other, and what failed counts for neither.
 */
export function storageEngineSharing(
  open: (clock?: SteppedClock) => Promise<StorageEngineUnderTest>,
  scope: StorageEngineConformance['scope'],
): void {
  const openBoth = async (
    context: TestContext,
    setup: EngineSetup = {},
    clock?: SteppedClock,
  ): Promise<Handles> => {
    const { engine, openSecond } = await open(clock)
    if (engine.supports.processes === 'single') context.skip('one process only')
    const one = await EngineFixture.make(engine, setup)
    const second = await openSecond?.()
    if (second === undefined) throw new Error('an engine for many needs `openSecond`')
    return { one, two: await one.through(second) }
  }

  describe('two handles of one store', () => {
    sharedCounters(openBoth)
    if (scope === 'layout') return
    sharedFences(openBoth)
    sharedCatalog(openBoth)
    sharedEntries(openBoth)
    sharedTime(openBoth)
  })
}

type OpenBoth = (
  context: TestContext,
  setup?: EngineSetup,
  clock?: SteppedClock,
) => Promise<Handles>

/** A commit that no engine can carry out, and that fails the group that it is in. */
function failing(fixture: EngineFixture): CommitBatch {
  return fixture.batch('p', [put('twice'), put('twice')])
}

function fenced(
  fixture: EngineFixture,
  epoch: number,
  {
    range = FULL_RANGE,
    batch = fixture.batch('p', [put(`at ${epoch}`)]),
  }: { readonly range?: FeedRange; readonly batch?: CommitBatch } = {},
): Promise<CommitOutcome> {
  return fixture.database.commit({ batches: [batch], fence: { job: 'job', range, epoch } })
}

function sharedFences(openBoth: OpenBoth): void {
  test('LE-11 a fence that is raised through the other refuses the earlier owner', async (context) => {
    const { one, two } = await openBoth(context)
    committed(await fenced(one, 5))
    committed(await fenced(one, 5))
    committed(await fenced(two, 6, { range: LOW }))
    const late = one.batch('p', [put('late')])
    expect(await fenced(one, 5, { batch: late })).toEqual({ kind: 'fenced', currentEpoch: 6 })
    // What it had written with before was of the lower keys only.
    committed(await fenced(two, 9, { range: HIGH }))
    expect(await fenced(one, 8, { range: HIGH, batch: late })).toEqual({
      kind: 'fenced',
      currentEpoch: 9,
    })
    expect(await two.read('p', 'late')).toBeUndefined()
    committed(await fenced(one, 10))
    expect(await fenced(two, 9, { range: LOW })).toEqual({ kind: 'fenced', currentEpoch: 10 })
  })

  test('LE-11 the fence of a commit that failed refuses nobody, and those beside it count', async (context) => {
    const { one, two } = await openBoth(context)
    committed(await fenced(one, 5))
    const outcomes = await Promise.allSettled([
      fenced(one, 6),
      fenced(one, 9, { batch: failing(one) }),
      fenced(one, 7),
    ])
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
    for (const each of [one, two]) {
      expect(await fenced(each, 6)).toEqual({ kind: 'fenced', currentEpoch: 7 })
      committed(await fenced(each, 7))
    }
    committed(await fenced(one, 8))
  })
}

function sharedCounters(openBoth: OpenBoth): void {
  test('ST-5 no LSN is given out twice, whoever writes, beside commits that fail, and as segments run full', async (context) => {
    const { one, two } = await openBoth(context)
    const lsns: number[] = []
    const ids: string[] = []
    const write = async (fixture: EngineFixture): Promise<void> => {
      const id = `d${ids.length}`
      ids.push(id)
      lsns.push(await fixture.write('p', id))
    }
    for (let n = 0; n < 8; n++) await write(n % 2 === 0 ? one : two)
    for (const fixture of [one, two, one]) {
      await expect(fixture.commit(failing(fixture))).rejects.toThrow()
      await write(two)
      await write(one)
    }
    expect(lsns).toEqual([...new Set(lsns)].toSorted((a, b) => a - b))
    await Promise.all(Array.from({ length: 20 }, (_, n) => write(n % 2 === 0 ? one : two)))
    expect(new Set(lsns).size).toBe(ids.length)
    for (const each of [one, two]) expect((await each.feedIds()).toSorted()).toEqual(ids.toSorted())
  })
}

function sharedCatalog(openBoth: OpenBoth): void {
  test('a definition that one changes is what the other writes under, also after its group failed', async (context) => {
    const { one, two } = await openBoth(context)
    await one.write('p', 'before')
    const bad = put('bad', { ttl: 'invalid' })
    committed(await one.commit(one.batch('p', [bad])))
    await two.update({ defaultTtl: 60 })
    expect(await one.commit(one.batch('p', [bad]))).toMatchObject({ kind: 'invalidTtl' })
    await expect(one.commit(failing(one))).rejects.toThrow()
    await two.update({ allVersions: { retentionSeconds: 60, previousImages: false } })
    const { lsn: at } = await two.start({ kind: 'now' }, { mode: 'allVersions' })
    await one.write('p', 'after')
    expect(await two.log({ afterLsn: at })).toEqual(['create after'])
  })

  test('numbers of collections and ranges are given out once, and a name once', async (context) => {
    const { one, two } = await openBoth(context)
    const create = (fixture: EngineFixture, id: string) =>
      fixture.database.createCollection(id, DEFINITION, [FULL_RANGE])
    const made = [await create(one, 'c0'), await create(two, 'c1'), await create(one, 'c2')]
    made.push(...(await Promise.all([create(one, 'c3'), create(two, 'c4')])))
    expect(new Set(made.map(({ number }) => number)).size).toBe(5)
    expect(new Set(made.map(({ rid }) => rid)).size).toBe(5)
    const same = await Promise.allSettled([create(one, 'same'), create(two, 'same')])
    expect(same.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
    const [low] = await one.split('20')
    const [lower] = await two.split('10')
    await one.split('40')
    const ranges = await two.ranges()
    expect(await one.ranges()).toEqual(ranges)
    const numbers = [low, ...ranges].map(({ number }) => number)
    expect(new Set(numbers).size).toBe(5)
    expect(lower.parents).toContain(low.number)
    const stale = { collection: one.collection, range: low.number, at: '08' }
    await expect(one.database.splitRange(stale)).rejects.toMatchObject({ code: 'ERR_RANGE_GONE' })
  })

  test('a collection that one deletes takes nothing from the other, also when another has its name', async (context) => {
    const { one, two } = await openBoth(context)
    await one.write('p', 'a')
    await two.database.deleteCollection('coll')
    const write = () => one.commit(one.batch('p', [put('late')]))
    expect(await write()).toMatchObject({ kind: 'collectionGone' })
    await two.database.createCollection('coll', DEFINITION, [FULL_RANGE])
    expect(await write()).toMatchObject({ kind: 'collectionGone' })
    const again = await one.through(one.engine)
    await again.write('p', 'new')
    expect(await (await two.through(two.engine)).feedIds()).toEqual(['new'])
  })
}

function sharedEntries(openBoth: OpenBoth): void {
  test('an entry of a unique key is one document’s, whoever gives it out, and what failed holds none', async (context) => {
    const { one, two } = await openBoth(context, { definition: { uniqueKeys: [['/mail']] } })
    const entry = (fixture: EngineFixture, id: string, mail: string): CommitBatch => ({
      ...fixture.batch('p', [put(id)]),
      uniqueSteps: [{ id, entries: [mail] }],
    })
    const give = (fixture: EngineFixture, id: string, mail: string): Promise<CommitOutcome> =>
      fixture.commit(entry(fixture, id, mail))
    const taken = expect.objectContaining({ kind: 'notUnique' })
    committed(await give(one, 'a', 'm1'))
    expect(await give(two, 'b', 'm1')).toEqual(taken)
    const leave = { ...one.batch('p', [del('a')]), uniqueSteps: [{ id: 'a', entries: [] }] }
    committed(await one.commit(leave))
    committed(await give(two, 'b', 'm1'))
    expect(await give(one, 'a', 'm1')).toEqual(taken)
    const outcomes = await Promise.allSettled([
      give(one, 'c', 'm2'),
      one.commit(entry(one, 'd', 'm3'), failing(one)),
    ])
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected'])
    expect(await give(two, 'e', 'm2')).toEqual(taken)
    committed(await give(two, 'e', 'm3'))
    const wanting = [one, two, one, two].map((fixture, n) => give(fixture, `f${n}`, 'm4'))
    const kinds = (await Promise.all(wanting)).map(({ kind }) => kind)
    expect(kinds.toSorted()).toEqual(['committed', 'notUnique', 'notUnique', 'notUnique'])
  })
}

function sharedTime(openBoth: OpenBoth): void {
  test('TTL-4 the store’s clock is one: what expired for one has expired for the other, whose machine is behind', async (context) => {
    const clock = new SteppedClock()
    const { one, two } = await openBoth(context, { definition: { defaultTtl: 30 } }, clock)
    const commit = async (fixture: EngineFixture, id: string): Promise<number> => {
      const outcome = await fixture.commit(fixture.batch('p', [put(id)]))
      if (outcome.kind !== 'committed') throw new Error('not committed')
      return outcome.timeMs
    }
    await commit(one, 'old')
    clock.step(60_000)
    const aheadMs = await commit(two, 'late')
    clock.step(-50_000)
    await expect(one.commit(failing(one))).rejects.toThrow()
    expect(await commit(one, 'next')).toBeGreaterThanOrEqual(aheadMs)
    expect(one.database.nowMs()).toBeGreaterThanOrEqual(aheadMs)
    expect(await one.read('p', 'old')).toBeUndefined()
    // Each is the first that hears of the time from the other.
    for (const [n, countOf] of [
      async () => ((await one.read('p', 'next')) === undefined ? 0 : 1),
      async () => (await one.count()) - 1,
      async () => (await one.feedIds()).length - 1,
    ].entries()) {
      const behindMs = 100_000 * (n + 1)
      clock.step(behindMs)
      await commit(two, 'newest')
      clock.step(-behindMs)
      expect(await countOf()).toBe(0)
      await commit(two, 'next')
    }
  })

  test('TTL-14 TTL-15 positions that one reports decide about the purge of the other, whose horizon both tell', async (context) => {
    const clock = new SteppedClock()
    const pendingDeletes = { retentionSeconds: 5, waitFor: ['group'] }
    const { one, two } = await openBoth(
      context,
      { definition: { defaultTtl: 5, pendingDeletes } },
      clock,
    )
    await one.write('p', 'a')
    clock.step(5000)
    await one.maintain('sweep')
    clock.step(5000)
    expect(await one.maintain('purge')).toBe(0)
    const { lsn: at } = await two.page(0)
    await two.database.reportPositions(two.collection, [
      { group: 'group', range: FULL_RANGE, lsn: lsn(at) },
    ])
    expect(await one.database.readPositions(one.collection, 'group')).toHaveLength(1)
    expect(await one.maintain('purge')).toBe(1)
    for (const each of [one, two]) expect((await each.page(0)).horizon).toBe(at)
  })
}
