import { FULL_RANGE, systemRandom } from '@tidemark/contracts'
import type { CollectionRecord, WaitPlace } from '@tidemark/store/engine'
import { settle, SimulatedClock } from '@tidemark/testing'
import { expect, test } from 'vitest'
import { Connections, type ReadOptions } from '../connection/connections.ts'
import { Statements } from '../connection/statements.ts'
import { POSTGRES } from '../dialect/dialect.ts'
import type { ReadContext } from '../reader/read-context.ts'
import { ReplicaLag } from './replica-lag.ts'

const SEGMENT = 7
const PLACE: WaitPlace = {
  // Only its number is looked at.
  collection: { number: 1 } as CollectionRecord,
  range: FULL_RANGE,
  rangeNumber: 0,
}

/** A primary and its replica, whose newest LSNs the test sets; waits in one place, looked after every 50 ms. */
class Followed {
  readonly clock = new SimulatedClock()
  readonly lsns = { primary: 5, replica: 5 }
  readonly connections = new Connections({
    url: 'postgres://host',
    clock: this.clock,
    random: systemRandom,
  })
  readonly #lag: ReplicaLag

  constructor(maxReplicaLagMs: number) {
    const { clock, connections, lsns } = this
    const read = async (_statement: unknown, _values: unknown, options?: ReadOptions) => [
      [String(SEGMENT), String(lsns[options?.from ?? 'primary'])],
    ]
    const context = {
      hasReplica: true,
      statements: new Statements('tidemark', { dialect: POSTGRES, clock: 'server' }),
      collections: { known: () => ({ ranges: [{ number: 0, segment: SEGMENT }] }) },
      connections: Object.assign(connections, { read }),
    }
    // What it uses of it.
    const used = context as unknown as ReadContext
    this.#lag = new ReplicaLag({ context: used, clock, maxReplicaLagMs })
  }

  /** How long until the replica is left alone; undefined: it is not within `limitMs`. */
  async restsAfterMs(limitMs: number): Promise<number | undefined> {
    for (let passedMs = 0; passedMs <= limitMs; passedMs += 50) {
      this.#lag.look([PLACE])
      await settle(5)
      if (this.connections.replicaRests) return passedMs
      await this.clock.advance(50)
    }
    return undefined
  }
}

test('a replica that lacks a commit is left alone once it has for as long as it may, and a look more', async () => {
  const followed = new Followed(400)
  expect(await followed.restsAfterMs(5_000)).toBeUndefined()
  followed.lsns.primary = 6
  const tookMs = await followed.restsAfterMs(5_000)
  expect(tookMs).toBeGreaterThanOrEqual(400)
  expect(tookMs).toBeLessThanOrEqual(400 + 2 * 100)
})

test('one that is behind and follows is not', async () => {
  const followed = new Followed(400)
  for (let commit = 0; commit < 20; commit++) {
    followed.lsns.replica = followed.lsns.primary
    followed.lsns.primary += 1
    expect(await followed.restsAfterMs(300)).toBeUndefined()
  }
})

test('it is left alone for a second', async () => {
  const { clock, connections } = new Followed(400)
  connections.restReplica()
  await clock.advance(999)
  expect(connections.replicaRests).toBe(true)
  await clock.advance(1)
  expect(connections.replicaRests).toBe(false)
})
