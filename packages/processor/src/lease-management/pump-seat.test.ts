import { describe, expect, test } from 'vitest'
import { errorCode, type Checkpoint } from '@tidemark/contracts'
import { at, held, lease } from './lease-core-driver.fixture.ts'
import { PumpSeat } from './pump-seat.ts'

interface Seated {
  readonly seat: PumpSeat
  /** What was asked to be stored. */
  readonly asked: Checkpoint[]
  /** Asks for it, and notes its name when it is stored or refused. */
  readonly store: (name: string, checkpoint: Checkpoint) => void
  readonly settled: string[]
}

function seated(): Seated {
  const asked: Checkpoint[] = []
  const settled: string[] = []
  const seat = new PumpSeat(held('-40'), {
    lease: lease('-40', { checkpoint: at(0) }),
    generation: 'g',
    links: {
      mayDispatch: () => true,
      progress: (_held, checkpoint) => void asked.push(checkpoint),
      closed: () => {},
    },
  })
  const store = (name: string, checkpoint: Checkpoint): void => {
    void seat.storeCheckpoint(checkpoint).then(
      () => settled.push(name),
      (error: unknown) => settled.push(`${name} ${errorCode(error)}`),
    )
  }
  return { seat, asked, store, settled }
}

async function settling({ settled }: Seated): Promise<readonly string[]> {
  await new Promise((resolve) => setImmediate(resolve))
  return settled
}

function tried(n: number, count: number): Checkpoint {
  return { ...at(n), attempts: { count, size: 4 } }
}

describe('positions that a pump asks to be stored', () => {
  test('PH-4 each resolves when it, or a later one, is stored, and not before', async () => {
    const one = seated()
    for (const n of [1, 2, 3]) one.store(`${n}`, at(n))
    one.seat.stored(one.asked[1]!)
    expect(await settling(one)).toEqual(['1', '2'])
    one.seat.stored(one.asked[2]!)
    expect(await settling(one)).toEqual(['1', '2', '3'])
  })

  test('PH-7 of several at one LSN, which tell of ever more attempts, the stored one settles those before it only', async () => {
    const one = seated()
    const [first, second, third] = [1, 2, 3].map((count) => tried(5, count))
    one.store('first', first!)
    one.store('second', second!)
    one.store('third', third!)
    one.seat.stored(second!)
    expect(await settling(one)).toEqual(['first', 'second'])
    one.seat.stored(third!)
    expect(await settling(one)).toEqual(['first', 'second', 'third'])
  })

  test('PH-7 one that was stored before, and is acknowledged once more, settles no later one at its LSN', async () => {
    const one = seated()
    const [first, second] = [tried(5, 1), tried(5, 2)]
    one.store('first', first)
    one.seat.stored(first)
    one.store('second', second)
    // The store had lost it, and got it again.
    one.seat.stored(first)
    expect(await settling(one)).toEqual(['first'])
    one.seat.stored(second)
    expect(await settling(one)).toEqual(['first', 'second'])
  })

  test('PH-4 one that was asked for twice, and is stored once, resolves for both', async () => {
    const one = seated()
    const twice = tried(5, 1)
    one.store('first', twice)
    one.store('second', twice)
    one.seat.stored(twice)
    expect(await settling(one)).toEqual(['first', 'second'])
  })

  test('one that is below what is stored has been overtaken: it resolves, and nobody is asked', async () => {
    const one = seated()
    one.store('late', at(9))
    one.seat.stored(one.asked[0]!)
    one.store('early', at(3))
    expect(await settling(one)).toEqual(['late', 'early'])
    expect(one.asked).toEqual([at(9)])
  })

  test('LE-11 when the lease is over all are refused, also those that come after', async () => {
    const one = seated()
    one.store('before', at(1))
    one.seat.over()
    one.store('after', at(2))
    expect(await settling(one)).toEqual(['before ERR_LEASE_LOST', 'after ERR_LEASE_LOST'])
    expect(one.asked).toEqual([at(1)])
    expect(one.seat.mayDispatch()).toBe(false)
  })
})
