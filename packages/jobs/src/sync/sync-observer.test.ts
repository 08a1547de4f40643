import { expect, test } from 'vitest'
import { decodeContinuation, encodeContinuation } from '@tidemark/contracts'
import type { Collection } from '@tidemark/store'
import { stage, type Order } from './sync.fixture.ts'

/** The feed of a store in which another epoch begins while it is open, as that on a PostgreSQL server that fails over. */
function inEpoch(feed: Collection<Order>, epoch: () => number): Collection<Order> {
  const moved = (continuation: string): string => {
    const token = decodeContinuation(continuation)
    const positions = token.positions.map((position) => ({ ...position, epoch: epoch() }))
    return encodeContinuation({ ...token, positions })
  }
  return new Proxy(feed, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name, target)
      if (typeof member !== 'function') return member
      return (...given: unknown[]) => {
        const result: unknown = Reflect.apply(member, target, given)
        if (!(result instanceof Promise)) return result
        return result.then((value: unknown) => {
          if (typeof value !== 'object' || value === null) return value
          const continuation: unknown = Reflect.get(value, 'continuation')
          if (typeof continuation !== 'string') return value
          return { ...value, continuation: moved(continuation) }
        })
      }
    },
  })
}

test.each(['latestVersion', 'allVersions'] as const)(
  'JB-6 entries have the epoch in which they were read, also if it began after the range was opened: %s',
  async (mode) => {
    await using on = await stage()
    let epoch = 0
    const got: string[] = []
    const worker = on.worker({
      feed: inEpoch(on.orders, () => epoch),
      sink: async (batch) => void got.push(...batch.map((entry) => `${entry.id} ${entry.epoch}`)),
      feedOptions: { mode },
    })
    await worker.start()
    await on.orders.upsert({ id: 'a', customer: 'c', total: 1 })
    await worker.caughtUp()
    epoch = 1
    await on.orders.upsert({ id: 'b', customer: 'c', total: 1 })
    await worker.caughtUp()
    expect(got).toEqual(['a 0', 'b 1'])
  },
)
