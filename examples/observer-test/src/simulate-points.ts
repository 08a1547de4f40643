import assert from 'node:assert/strict'
import { simulateObserver, type SimulationReport } from '@tidemark/testing/simulation'
import type { IChangeFeedObserver } from 'tidemark'
import { PointsDatabase } from './points-database.ts'
import type { Order, Query } from './points-observers.ts'

/** Runs an observer of orders under faults; every customer must have the points of all their orders in the end. */
export function simulatePoints(
  newObserver: (query: Query) => IChangeFeedObserver<Order>,
  seeds: number,
): Promise<SimulationReport> {
  return simulateObserver<Order, PointsDatabase>(({ request }) => newObserver(request), {
    feed: {
      partitionKey: ({ customer }) => customer,
      documents: (random) =>
        Array.from({ length: 50 }, (_, index) => ({
          id: `order-${index}`,
          customer: random.pick(['ann', 'bob', 'cem', 'dag', 'eve']),
          total: random.between(1, 100),
        })),
    },
    world: () => new PointsDatabase(),
    check: ({ world, changes }) => {
      const wanted = new Map<string, number>()
      for (const change of changes) {
        if (change.kind !== 'document') continue
        const { customer, total } = change.document
        wanted.set(customer, (wanted.get(customer) ?? 0) + total)
      }
      for (const [customer, points] of wanted) {
        assert.equal(world.points(customer), points, `${customer} has the wrong points`)
      }
    },
    seeds,
  })
}
