import {
  FULL_RANGE,
  RangeGoneError,
  feedRangeId,
  rangeContains,
  type FeedRange,
} from '@tidemark/contracts'
import { openMemoryStore } from '@tidemark/testing'
import { describe, expect, test } from 'vitest'
import type { RangeRecord } from '../engine/catalog.ts'
import type { DatabaseEngine } from '../engine/storage-engine.ts'
import { resolveChangesOptions } from './changes-options.ts'
import { FeedReader } from './feed-reader.ts'
import { iterateChanges } from './iterate-changes.ts'

const HALVES: readonly FeedRange[] = [
  { minInclusive: '', maxExclusive: '20' },
  { minInclusive: '20', maxExclusive: 'FF' },
]

/** A reader of one range that can be told to look split, at any moment of an iteration. */
async function splittableReader(documents: number): Promise<{
  reader: FeedReader<{ readonly id: string }>
  readonly split: () => void
}> {
  const store = await openMemoryStore()
  const items = await store
    .database('db')
    .createCollectionIfNotExists({ id: 'items', partitionKey: '/id' })
  for (let n = 0; n < documents; n++) await items.create({ id: `d${n}` })
  const opened = await items.open()
  const { engine } = opened
  let present: readonly FeedRange[] = [FULL_RANGE]
  const assertPresent = (range: FeedRange): void => {
    if (present.some((each) => rangeContains(each, range))) return
    throw new RangeGoneError(feedRangeId(range), present)
  }
  const splittable: DatabaseEngine = Object.assign(Object.create(engine) as DatabaseEngine, {
    listRanges: async () =>
      present.map((range, number): RangeRecord => {
        const segment = number
        return { ...range, number, parents: [], segment, ts: 0 }
      }),
    readFeedPage: async (query: Parameters<DatabaseEngine['readFeedPage']>[0]) => {
      assertPresent(query.range)
      return engine.readFeedPage(query)
    },
    resolveStart: async (...args: Parameters<DatabaseEngine['resolveStart']>) =>
      engine.resolveStart(...args),
    waitForCommit: async (request: Parameters<DatabaseEngine['waitForCommit']>[0]) => {
      assertPresent(request.range)
      return engine.waitForCommit(request)
    },
  })
  return {
    reader: new FeedReader({ ...opened, engine: splittable }),
    split() {
      present = HALVES
    },
  }
}

describe('CF-8 CF-13 an iteration over a range that is split on the way', () => {
  test('goes on in the children, nothing twice and nothing lost', async () => {
    const { reader, split } = await splittableReader(40)
    const options = resolveChangesOptions({ from: 'beginning', follow: false, maxItemCount: 3 })
    const seen: string[] = []
    const ranges = new Set<string>()
    for await (const page of iterateChanges(async () => reader, options)) {
      seen.push(...page.changes.map(({ id }) => id))
      ranges.add(feedRangeId(page.range))
      if (seen.length === 9) split()
    }
    expect(seen).toHaveLength(40)
    expect(new Set(seen).size).toBe(40)
    for (const half of HALVES) expect(ranges).toContain(feedRangeId(half))
  })

  test('resumes from a continuation of before the split', async () => {
    const { reader, split } = await splittableReader(40)
    const seen: string[] = []
    let continuation = ''
    const beginning = resolveChangesOptions({ from: 'beginning', follow: false, maxItemCount: 10 })
    for await (const page of iterateChanges(async () => reader, beginning)) {
      seen.push(...page.changes.map(({ id }) => id))
      continuation = page.continuation
      break
    }
    split()
    const rest = resolveChangesOptions({ from: { continuation }, follow: false, maxItemCount: 4 })
    for await (const page of iterateChanges(async () => reader, rest)) {
      seen.push(...page.changes.map(({ id }) => id))
    }
    expect(seen).toHaveLength(40)
    expect(new Set(seen).size).toBe(40)
  })
})

describe('failures', () => {
  test('a range that is gone although the list still has it is an error, not a loop', async () => {
    const { reader } = await splittableReader(3)
    const broken: DatabaseEngine = Object.assign(
      Object.create(reader.open.engine) as DatabaseEngine,
      {
        readFeedPage: () => Promise.reject(new RangeGoneError('-FF', HALVES)),
        listRanges: () => reader.open.engine.listRanges(reader.open.record),
        resolveStart: (...args: Parameters<DatabaseEngine['resolveStart']>) =>
          reader.open.engine.resolveStart(...args),
      },
    )
    const other = new FeedReader({ ...reader.open, engine: broken })
    const options = resolveChangesOptions({ from: 'beginning', follow: false })
    await expect(iterateChanges(async () => other, options).next()).rejects.toMatchObject({
      code: 'ERR_RANGE_GONE',
    })
  })

  test('a wait that fails ends the iteration with its error', async () => {
    const { reader } = await splittableReader(0)
    const { engine, record } = reader.open
    const failure = new Error('the store went away')
    const broken: DatabaseEngine = Object.assign(Object.create(engine) as DatabaseEngine, {
      readFeedPage: (query: Parameters<DatabaseEngine['readFeedPage']>[0]) =>
        engine.readFeedPage(query),
      listRanges: () => engine.listRanges(record),
      resolveStart: (...args: Parameters<DatabaseEngine['resolveStart']>) =>
        engine.resolveStart(...args),
      waitForCommit: () => Promise.reject(failure),
    })
    const other = new FeedReader({ ...reader.open, engine: broken })
    const options = resolveChangesOptions({ from: 'beginning' })
    await expect(iterateChanges(async () => other, options).next()).rejects.toBe(failure)
  })
})
