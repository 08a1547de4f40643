import type { Checkpoint } from '@tidemark/contracts'
import { SimulatedClock } from '@tidemark/testing'
import { expect, test } from 'vitest'
import { at, lease } from '../lease-management/lease-core-driver.fixture.ts'
import { PositionKeeper } from './position-keeper.ts'

type Parts = ConstructorParameters<typeof PositionKeeper>[0]

const TRIES = { count: 2, size: 1 }

/** One change is done, and those behind it have been tried twice. */
async function keeperWithTries(): Promise<{
  readonly keeper: PositionKeeper
  readonly stored: Checkpoint[]
}> {
  const stored: Checkpoint[] = []
  const parts = {
    clock: new SimulatedClock(),
    seat: {
      lease: lease('-40', { checkpoint: at(0) }),
      storeCheckpoint: async (checkpoint: Checkpoint) => void stored.push(checkpoint),
    },
    bell: { ring: () => {} },
    ending: { endedSignal: new AbortController().signal },
    options: { checkpointFrequency: 'everyBatch', maxUnstoredBatches: 2 },
    onNotice: () => {},
  }
  const keeper = new PositionKeeper(parts as unknown as Parts)
  keeper.done(at(1), 1)
  await keeper.mark(at(1), TRIES)
  return { keeper, stored }
}

test.each<readonly [string, (keeper: PositionKeeper) => Promise<void>]>([
  ['what was done before, with nothing in hand', (keeper) => keeper.storeAsked(undefined)],
  ['nothing new', (keeper) => keeper.storeAgain()],
])(
  'PH-7 an observer that stores %s does not make the tries of the next changes forgotten',
  async (_, store) => {
    const { keeper, stored } = await keeperWithTries()
    await store(keeper)
    expect(stored.at(-1)).toEqual({ ...at(1), attempts: TRIES })
    expect(keeper.last(undefined)).toEqual({ ...at(1), attempts: TRIES })
  },
)

test('PH-7 one that stores the end of what it has in hand has accepted it: its tries are over', async () => {
  const { keeper, stored } = await keeperWithTries()
  await keeper.storeAsked(at(2))
  expect(stored.at(-1)).toEqual(at(2))
})
