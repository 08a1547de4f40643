import {
  FULL_RANGE,
  HorizonPassedError,
  RangeGoneError,
  commonKeys,
  decodeContinuation,
  feedRangeId,
  lsn,
  rangeContains,
  rangeContainsEpk,
  type FeedRange,
  type RangePosition,
} from '@tidemark/contracts'
import fc from 'fast-check'
import { openMemoryStore } from '@tidemark/testing'
import { describe, expect, test } from 'vitest'
import type { DatabaseEngine } from '../engine/storage-engine.ts'
import { FeedReader } from './feed-reader.ts'
import { RangeCursors, type RangeCursor } from './range-cursors.ts'

const NEWEST = 50
const BOUNDS = ['', '10', '20', '30', '40', '50', '60', 'FF']

/** The keys from the first to the last bound, in parts that meet at those between. */
function parts(...bounds: readonly string[]): readonly FeedRange[] {
  return bounds.slice(1).map((maxExclusive, index) => {
    return { minInclusive: bounds[index] ?? '', maxExclusive }
  })
}

const memory = await openMemoryStore({ maintenance: 'manual' })
const items = await memory
  .database('db')
  .createCollectionIfNotExists({ id: 'items', partitionKey: '/id' })
const open = await items.open()

/** A feed of which only its ranges matter. */
class CutFeed {
  present: readonly FeedRange[]
  readonly reader: FeedReader<{ readonly id: string }>

  constructor(present: readonly FeedRange[]) {
    this.present = present
    const engine = Object.assign(Object.create(null) as DatabaseEngine, {
      listRanges: async () =>
        this.present.map((range, number) => ({ ...range, number, parents: [], segment: 0, ts: 0 })),
      resolveStart: async ({ start }: Parameters<DatabaseEngine['resolveStart']>[0]) => {
        const at = start.kind === 'beginning' ? 0 : NEWEST
        return { lsn: at, epoch: 0, horizon: 0, horizons: [] }
      },
    })
    this.reader = new FeedReader({ ...open, engine })
  }

  token(positions: readonly RangePosition[]): string {
    return this.reader.continuation(positions)
  }

  resume(continuation: string, range = FULL_RANGE): Promise<RangeCursors<{ readonly id: string }>> {
    const start = { continuation }
    return RangeCursors.open(this.reader, { start, range })
  }

  begin(): Promise<RangeCursors<{ readonly id: string }>> {
    return RangeCursors.open(this.reader, { start: 'beginning', range: FULL_RANGE })
  }
}

function at(range: FeedRange, position: number): RangePosition {
  return { range, epoch: 1, lsn: lsn(position), purgeStamp: 1 }
}

/** `'-40@5'` is a position of LSN 5. */
function texts(positions: readonly RangePosition[]): string[] {
  return positions.map(({ range, lsn: position }) => `${feedRangeId(range)}@${position}`)
}

function held(cursors: RangeCursors<{ readonly id: string }>): string[] {
  return texts(decodeContinuation(cursors.continuation()).positions)
}

function cursorIn(cursors: RangeCursors<{ readonly id: string }>, epk: string): RangeCursor {
  const found = cursors.all.find(({ position }) => rangeContainsEpk(position.range, epk))
  if (found === undefined) throw new Error(`no cursor has ${epk}`)
  return found
}

function passed({ position: { range, lsn: stood } }: RangeCursor): HorizonPassedError {
  return new HorizonPassedError({ range, lsn: stood, horizon: 40 })
}

const GONE = new RangeGoneError('-FF', [])

describe('CF-13 turns', () => {
  test('every range that may have more has its turn before any has a second one', async () => {
    const cursors = await new CutFeed(parts('', '20', '40', 'FF')).begin()
    const turns = (count: number): (string | undefined)[] =>
      Array.from({ length: count }, () => cursors.next()?.position.range.minInclusive)
    expect(turns(4)).toEqual(['', '20', '40', ''])
    cursors.advance(cursorIn(cursors, '20'), {
      position: at(parts('20', '40')[0]!, 3),
      caughtUp: true,
    })
    expect(turns(3)).toEqual(['40', '', '40'])
    expect(cursors.caughtUp).toBe(false)
    for (const cursor of cursors.all) cursor.caughtUp = true
    expect(turns(1)).toEqual([undefined])
    expect(cursors.caughtUp).toBe(true)
  })
})

describe('TTL-15 ranges that begin anew', () => {
  test('a continuation resumes each where it stood until its own page has said so', async () => {
    const feed = new CutFeed(parts('', '20', '40', 'FF'))
    const [one, two, three] = feed.present
    const cursors = await feed.resume(feed.token([at(one!, 1), at(two!, 2), at(three!, 3)]))
    const [first, second] = [cursorIn(cursors, '00'), cursorIn(cursors, '20')]
    await cursors.resync(first, passed(first))
    await cursors.resync(second, passed(second))
    expect(held(cursors)).toEqual(['-20@1', '20-40@2', '40-FF@3'])
    expect(first).toMatchObject({
      position: { lsn: 0 },
      caughtUp: false,
      resync: { told: { range: one, lsn: 1, horizon: 40, untilLsn: NEWEST } },
    })
    // The first range's page comes; the second range's has not.
    cursors.advance(first, { position: at(one!, 44), caughtUp: true })
    first.resync = undefined
    expect(held(cursors)).toEqual(['-20@44', '20-40@2', '40-FF@3'])
    cursors.advance(second, { position: at(two!, 45), caughtUp: false })
    expect(held(cursors)).toEqual(['-20@44', '20-40@2', '40-FF@3'])
  })

  test('ST-9 one that is split before it said so says it in every child, and is resumed in every child', async () => {
    const feed = new CutFeed(parts('', '40', 'FF'))
    const [low, high] = feed.present
    const cursors = await feed.resume(feed.token([at(low!, 1), at(high!, 2)]))
    const early = cursorIn(cursors, '00')
    await cursors.resync(early, passed(early))
    feed.present = parts('', '20', '40', '60', 'FF')
    await cursors.recut(GONE)
    expect(texts(cursors.all.map(({ position }) => position))).toEqual([
      '-20@0',
      '20-40@0',
      '40-60@2',
      '60-FF@2',
    ])
    expect(cursors.all.map(({ resync }) => resync && feedRangeId(resync.told.range))).toEqual([
      '-20',
      '20-40',
      undefined,
      undefined,
    ])
    const continuation = cursors.continuation()
    expect(held(cursors)).toEqual(['-20@1', '20-40@1', '40-60@2', '60-FF@2'])
    // Positions that overlap would be refused.
    expect(held(await feed.resume(continuation))).toEqual(held(cursors))
  })
})

describe('CF-8 ST-9 positions over ranges that were cut otherwise since', () => {
  const cutting = fc.subarray(BOUNDS.slice(1, -1)).map((inner) => parts('', ...inner, 'FF'))
  const wantedRange = fc
    .tuple(fc.nat(BOUNDS.length - 1), fc.nat(BOUNDS.length - 1))
    .filter(([a, b]) => a < b)
    .map(([a, b]) => parts(BOUNDS[a] ?? '', BOUNDS[b] ?? '')[0] ?? FULL_RANGE)

  /** Every key of `wanted` once, each in one present range, at the position that was held for it. */
  function expectHeld(
    cursors: RangeCursors<{ readonly id: string }>,
    {
      old,
      present,
      wanted,
    }: { old: readonly FeedRange[]; present: readonly FeedRange[]; wanted: FeedRange },
  ): void {
    const found = cursors.all.map(({ position }) => position)
    const inner = found.flatMap(({ range }) => [range.minInclusive, range.maxExclusive])
    expect([inner.at(0), inner.at(-1)]).toEqual([wanted.minInclusive, wanted.maxExclusive])
    for (let n = 1; n < inner.length - 1; n += 2) expect(inner[n]).toBe(inner[n + 1])
    for (const { range, lsn: position } of found) {
      expect(present.some((each) => rangeContains(each, range))).toBe(true)
      const [, ...more] = old.filter((each) => commonKeys(each, range) !== undefined)
      expect(more).toEqual([])
      expect(rangeContains(old[position - 1] ?? FULL_RANGE, range)).toBe(true)
    }
  }

  test('keep each key at its position, from a continuation and after a cut on the way', async () => {
    await fc.assert(
      fc.asyncProperty(cutting, cutting, cutting, wantedRange, async (old, now, later, wanted) => {
        const feed = new CutFeed(now)
        const token = feed.token(old.map((range, index) => at(range, index + 1)).toReversed())
        const cursors = await feed.resume(token, wanted)
        expectHeld(cursors, { old, present: now, wanted })
        feed.present = later
        await cursors.recut(GONE)
        expectHeld(cursors, { old, present: later, wanted })
      }),
    )
  })

  test.each([
    { holds: ['-20', '40-FF'], what: 'a gap' },
    { holds: ['-40', '20-FF'], what: 'keys twice' },
    { holds: ['-40', '20-30', '40-FF'], what: 'keys twice inside another' },
    { holds: ['-FF', '20-30'], what: 'keys twice inside all of them' },
    { holds: ['-FF', '20-FF'], what: 'the last keys twice' },
    { holds: ['20-FF'], what: 'not the first keys' },
    { holds: ['-20', '20-40'], what: 'not the last keys' },
  ])('a continuation with $what is refused', async ({ holds }) => {
    const feed = new CutFeed([FULL_RANGE])
    const positions = holds.map((id) => at(parts(...id.split('-'))[0]!, 1))
    await expect(feed.resume(feed.token(positions))).rejects.toMatchObject({
      code: 'ERR_INVALID_CONTINUATION',
    })
  })
})

test('ST-9 ranges that are gone time and again although the list is the same are an error, unless a read went well', async () => {
  const feed = new CutFeed(parts('', '40', 'FF'))
  const cursors = await feed.begin()
  const recut = async (times: number): Promise<void> => {
    for (let n = 0; n < times; n++) await cursors.recut(GONE)
  }
  await recut(9)
  cursors.advance(cursorIn(cursors, '00'), { position: at(feed.present[0]!, 1), caughtUp: false })
  await recut(9)
  feed.present = parts('', '20', '40', 'FF')
  await recut(10)
  await expect(recut(1)).rejects.toBe(GONE)
})
