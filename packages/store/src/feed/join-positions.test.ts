import {
  FULL_RANGE,
  lsn,
  type FeedRange,
  type HeldPosition,
  type RangePosition,
} from '@tidemark/contracts'
import { openMemoryStore } from '@tidemark/testing'
import { expect, test } from 'vitest'
import { FeedReader } from './feed-reader.ts'
import { joinPositions } from './join-positions.ts'

const LOW: FeedRange = { minInclusive: '', maxExclusive: '20' }
const HIGH: FeedRange = { minInclusive: '20', maxExclusive: 'FF' }

/** Of a collection whose one range was never split: every commit is its own. */
async function setUp() {
  const store = await openMemoryStore({ maintenance: 'manual' })
  const collection = await store
    .database('db')
    .createCollectionIfNotExists({ id: 'items', partitionKey: '/id' })
  const reader = new FeedReader(await collection.open())
  const held = (range: FeedRange, position: Partial<RangePosition>): HeldPosition => {
    const whole = { range, epoch: 0, lsn: lsn(10), purgeStamp: undefined, ...position }
    return { range, continuation: reader.continuation([whole]) }
  }
  const join = (low: Partial<RangePosition>, high: Partial<RangePosition>) =>
    joinPositions(reader, [held(LOW, low), held(HIGH, high)])
  return { reader, held, join }
}

test('LE-10 positions join at one LSN of one history only', async () => {
  const { join } = await setUp()
  expect(await join({}, {})).toEqual({
    range: FULL_RANGE,
    epoch: 0,
    lsn: 10,
    purgeStamp: undefined,
  })
  expect(await join({ lsn: lsn(11) }, {})).toBeUndefined()
  expect(await join({ epoch: 1 }, {})).toBeUndefined()
  expect(await join({ epoch: 1 }, { epoch: 1 })).toMatchObject({ epoch: 1 })
})

test('TTL-15 the joined reader is as watchful as the part that knows least', async () => {
  const { join } = await setUp()
  const cases: readonly (readonly [number | undefined, number | undefined, number | undefined])[] =
    [
      [3, 3, 3],
      [3, 7, 3],
      [undefined, 7, 7],
      [undefined, undefined, undefined],
    ]
  for (const [low, high, joined] of cases) {
    const position = await join({ purgeStamp: low }, { purgeStamp: high })
    expect(position).toMatchObject({ purgeStamp: joined })
  }
})

test('TTL-15 positions do not join while a purge above them is known to one part only', async () => {
  const { reader, join } = await setUp()
  const { engine } = reader.open
  const horizons = [{ range: HIGH, lsn: 15, stamp: 5 }]
  engine.resolveStart = async () => ({ lsn: 20, epoch: 0, horizon: 15, horizons })
  expect(await join({ purgeStamp: 2 }, { purgeStamp: 5 })).toBeUndefined()
  expect(await join({ purgeStamp: 5 }, { purgeStamp: 5 })).toMatchObject({ purgeStamp: 5 })
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
