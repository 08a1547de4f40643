import type { FollowReply, FollowRequest } from '../../children/follow-feed.child.ts'
import { orderDocument } from '../../data/order-document.ts'
import { BenchChild } from '../../measuring/child-process.ts'
import {
  LATENCY_KEYS,
  latencyFigures,
  latencyMeasures,
  WRITES_PER_SECOND,
} from '../../measuring/latency-figures.ts'
import { latencies, writePaced } from '../../measuring/paced-writes.ts'
import type { Goal, PreparedScenario, Scenario } from '../../measuring/scenario.ts'
import { PrototypeData } from '../../raw/prototype-data.ts'
import { SEGMENTS } from '../../raw/prototype-schema.ts'
import { openBenchStore } from '../../store/open-bench-store.ts'
import { startBenchServer } from '../bench-server.ts'
import type { TailReply, TailRequest } from '../children/raw-follow.child.ts'
import { PrototypeGroups } from '../raw/prototype-groups.ts'
import { createPrototype } from '../raw/prototype-schema.ts'

const PREFIX = 'postgres.latency.otherProcess'
const GOALS: Readonly<Record<string, Goal>> = {
  [`${PREFIX}.p50`]: { of: 'value', is: 'atMost', limit: 3 },
  [`${PREFIX}.p99`]: { of: 'value', is: 'atMost', limit: 20 },
}

/** Commit here to observer in another process, while 1,000 documents a second are written. */
export const postgresLatency: Scenario = {
  name: 'postgres-latency',
  measures: latencyMeasures(PREFIX, 'bare reader woken by a NOTIFY in each group').map(
    (measure) => ({ ...measure, goal: GOALS[measure.name] }),
  ),
  async prepare(): Promise<PreparedScenario> {
    const server = await startBenchServer()
    const place = await server.createDatabase()
    const store = await openBenchStore(place)
    const follower = await BenchChild.start<FollowRequest, FollowReply>(
      new URL('../../children/follow-feed.child.ts', import.meta.url),
    )
    const bare = await server.createDatabase()
    await createPrototype(bare, SEGMENTS)
    const prototype = new PrototypeGroups(bare, { notifies: true })
    const data = new PrototypeData()
    const tail = await BenchChild.start<TailRequest, TailReply>(
      new URL('../children/raw-follow.child.ts', import.meta.url),
    )
    await tail.call({ kind: 'start', url: bare })
    let groups = 0
    return {
      async ours(seconds) {
        await follower.call({ kind: 'start', place, group: `latency-${++groups}` })
        const times = await writePaced(
          async (revision) => {
            await store.orders.upsert(orderDocument(revision % LATENCY_KEYS, revision))
          },
          { perSecond: WRITES_PER_SECOND, seconds },
        )
        const expected = times.acknowledged.size
        const { arrivals } = await follower.call({ kind: 'stop', expected })
        return latencyFigures(PREFIX, latencies(times, arrivals))
      },
      async raw(seconds) {
        const times = await writePaced(
          (revision) => prototype.write(data.write(revision % LATENCY_KEYS, revision)),
          { perSecond: WRITES_PER_SECOND, seconds },
        )
        const { arrivals } = await tail.call({ kind: 'take', expected: times.acknowledged.size })
        return latencyFigures(PREFIX, latencies(times, arrivals))
      },
      async [Symbol.asyncDispose]() {
        await tail.call({ kind: 'stop' })
        await Promise.all([
          follower[Symbol.asyncDispose](),
          tail[Symbol.asyncDispose](),
          prototype[Symbol.asyncDispose](),
        ])
        await store.close()
        await server[Symbol.asyncDispose]()
      },
    }
  },
}
