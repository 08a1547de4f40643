import { SimulatedClock, settle } from '@tidemark/testing'
import { describe, expect, it } from 'vitest'
import { ACTIVE } from '@tidemark/store/messages'
import { Prefetch } from './prefetch.ts'
import type { ReceiveRequest } from './receive-queue.ts'
import type { Received } from './received.ts'
import { WaitingQueue } from './waiting-queue.ts'

const LOCK_MS = 10_000

/** Keeps messages of a list ahead. */
function prefetchOf(numbers: number[], count: number) {
  const clock = new SimulatedClock()
  const returned: number[] = []
  const asked: number[] = []
  const source = new WaitingQueue<ReceiveRequest, Received>(
    (requests) => {
      asked.push(...requests.map(({ max }) => max))
      return Promise.resolve(
        requests.map(({ max }) =>
          numbers.splice(0, max).map((number) => received(number, clock.monotonicMs() + LOCK_MS)),
        ),
      )
    },
    () => undefined,
  )
  const prefetch = new Prefetch({
    clock,
    source,
    mode: 'peekLock',
    count,
    isStillLocked: ({ lock }) => lock !== undefined && lock.endsAtMs > clock.monotonicMs(),
    giveBack: (messages) => returned.push(...messages.map(({ message }) => message.number)),
  })
  prefetch.start()
  const take = async (max: number, waits = true): Promise<readonly number[]> => {
    const messages = await prefetch.ask({ mode: 'peekLock', max, waits }).delivered
    return messages.map(({ message }) => message.number)
  }
  return { clock, prefetch, source, take, returned, asked }
}

function received(number: number, endsAtMs: number): Received {
  return {
    message: {
      id: number,
      entity: 1,
      number,
      state: ACTIVE,
      session: undefined,
      enqueuedMs: 0,
      ttlMs: undefined,
      expiresMs: undefined,
      dueMs: undefined,
      lock: '0'.repeat(20),
      deliveries: 0,
      firstNumber: number,
      hops: 0,
      deadLetterSource: undefined,
      changes: undefined,
      bytes: 1,
      head: '{}',
      body: new Uint8Array(),
    },
    lock: { token: `${number}`, untilUtcMs: 0, endsAtMs },
  }
}

describe('Prefetch', () => {
  it('keeps as many ahead as it shall, and replaces those that are taken', async () => {
    const { prefetch, take, asked } = prefetchOf([1, 2, 3, 4, 5, 6], 3)
    await settle()
    expect(asked).toEqual([3])
    expect(await take(2)).toEqual([1, 2])
    await settle()
    expect(asked).toEqual([3, 2])
    expect(await take(3)).toEqual([3, 4, 5])
    await prefetch.close()
  })

  it('does not hand out a message whose lock has ended', async () => {
    const numbers = [1, 2, 3, 4]
    const { clock, prefetch, take, returned } = prefetchOf(numbers, 2)
    await settle()
    await clock.advance(LOCK_MS)
    expect(await take(1)).toEqual([3])
    await prefetch.close()
    expect(returned).toEqual([4])
  })

  it('gives back at its end what nobody saw', async () => {
    const { prefetch, returned, take } = prefetchOf([1, 2, 3], 3)
    expect(await take(1)).toEqual([1])
    await prefetch.close()
    expect(returned).toEqual([2, 3])
  })

  it('SET-21 answers at once who does not wait, also when nothing is ahead yet', async () => {
    const { prefetch, take } = prefetchOf([1], 5)
    expect(await take(1, false)).toEqual([1])
    expect(await take(1, false)).toEqual([])
    await prefetch.close()
  })

  it('has no timer while it is full, or while nothing is there', async () => {
    const full = prefetchOf([1, 2], 2)
    const empty = prefetchOf([], 2)
    await settle()
    expect([full.clock.sleeping, empty.clock.sleeping]).toEqual([0, 0])
    await Promise.all([full.prefetch.close(), empty.prefetch.close()])
  })

  it('tells who waits of an error, and tries again for the next one', async () => {
    const numbers: number[] = []
    const { prefetch, source, take } = prefetchOf(numbers, 2)
    const waiting = take(1)
    await settle()
    source.fail(new Error('disabled'))
    await expect(waiting).rejects.toThrow('disabled')
    numbers.push(1)
    expect(await take(1)).toEqual([1])
    await prefetch.close()
  })
})
