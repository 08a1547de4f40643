import {
  FULL_RANGE,
  lsn,
  type FeedRange,
  type HeldPosition,
  type RangePosition,
} from '@tidemark/contracts'
import { expect, test } from 'vitest'
import { MemoryStorageEngine } from '../memory-engine/memory-storage-engine.ts'
import { Store } from '../store.ts'
import { FeedReader } from './feed-reader.ts'
import { joinPositions } from './join-positions.ts'

const LOW: FeedRange = { minInclusive: '', maxExclusive: '20' }
const HIGH: FeedRange = { minInclusive: '20', maxExclusive: 'FF' }

/** Of a collection whose one range was never split: every commit is its own. */
async function setUp() {
  const store = await Store.open({ engine: new MemoryStorageEngine(), maintenance: 'manual' })
  const collection = await store
    .database('db')
    .createCollectionIfNotExists({ id: 'items', partitionKey: '/id' })
  const reader = new FeedReader(await collection.open())
  const held = (range: FeedRange, position: Partial<RangePosition>): HeldPosition => {
    const whole = { range, epoch: 0, lsn: lsn(10), horizon: undefined, ...position }
    return { range, continuation: reader.continuation([whole]) }
  }
  const join = (low: Partial<RangePosition>, high: Partial<RangePosition>) =>
    joinPositions(reader, [held(LOW, low), held(HIGH, high)])
  return { reader, held, join }
}

test('LE-10 positions join at one LSN of one history only', async () => {
  const { join } = await setUp()
  expect(await join({}, {})).toEqual({ range: FULL_RANGE, epoch: 0, lsn: 10, horizon: undefined })
  expect(await join({ lsn: lsn(11) }, {})).toBeUndefined()
  expect(await join({ epoch: 1 }, {})).toBeUndefined()
  expect(await join({ epoch: 1 }, { epoch: 1 })).toMatchObject({ epoch: 1 })
})

test('TTL-15 the joined reader misses no purge that one of them would have noticed', async () => {
  const { join } = await setUp()
  const cases: readonly (readonly [number | undefined, number | undefined, number | 'not yet'])[] =
    [
      [3, 3, 3],
      [3, 7, 7],
      [undefined, 7, 7],
      [15, 15, 15],
      [undefined, 15, 15],
      [3, 15, 'not yet'],
      [12, 15, 'not yet'],
    ]
  for (const [low, high, joined] of cases) {
    const at = (horizon: number | undefined) => ({
      horizon: horizon === undefined ? undefined : lsn(horizon),
    })
    const position = await join(at(low), at(high))
    if (joined === 'not yet') expect(position).toBeUndefined()
    else expect(position?.horizon).toBe(joined)
  }
})

test('three and more join, in order and without gaps', async () => {
  const { reader, held } = await setUp()
  const thirds = [
    held({ minInclusive: '', maxExclusive: '10' }, {}),
    held({ minInclusive: '10', maxExclusive: '20' }, {}),
    held(HIGH, {}),
  ]
  expect(await joinPositions(reader, thirds)).toMatchObject({ range: FULL_RANGE })
  for (const wrong of [[], thirds.slice(1, 2), thirds.toReversed(), [thirds[0]!, thirds[2]!]]) {
    await expect(joinPositions(reader, wrong)).rejects.toMatchObject({ code: 'ERR_INVALID_OPTION' })
  }
})
