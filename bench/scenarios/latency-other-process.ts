import type { FollowReply, FollowRequest } from '../children/follow-feed.child.ts'
import type { RawFollowReply, RawFollowRequest } from '../children/raw-follow-feed.child.ts'
import { orderDocument } from '../data/order-document.ts'
import { BenchChild } from '../measuring/child-process.ts'
import {
  LATENCY_KEYS,
  latencyFigures,
  latencyMeasures,
  WRITES_PER_SECOND,
} from '../measuring/latency-figures.ts'
import { latencies, writePaced } from '../measuring/paced-writes.ts'
import type { PreparedScenario, Scenario } from '../measuring/scenario.ts'
import { Doorbell } from '../raw/doorbell.ts'
import { PrototypeData } from '../raw/prototype-data.ts'
import { PrototypeGroupCommit } from '../raw/prototype-group-commit.ts'
import { openBenchStore } from '../store/open-bench-store.ts'

/** Commit here to observer in a worker process, while 1,000 documents a second are written. */
export const latencyOtherProcess: Scenario = {
  name: 'latency-other-process',
  measures: latencyMeasures(
    'latency.otherProcess',
    'bare reader woken by a byte over a unix socket',
  ),
  async prepare({ folder }): Promise<PreparedScenario> {
    const store = await openBenchStore(folder)
    const follower = await BenchChild.start<FollowRequest, FollowReply>(
      new URL('../children/follow-feed.child.ts', import.meta.url),
    )
    const prototype = new PrototypeGroupCommit(folder)
    const data = new PrototypeData()
    await prototype.write([data.write(0, 0)])
    const rawFollower = await BenchChild.start<RawFollowRequest, RawFollowReply>(
      new URL('../children/raw-follow-feed.child.ts', import.meta.url),
    )
    const bell = `${folder}/doorbell`
    await rawFollower.call({ kind: 'start', file: prototype.file, bell })
    const doorbell = await Doorbell.connect(bell)
    let groups = 0
    return {
      async ours(seconds) {
        await follower.call({ kind: 'start', place: folder, group: `latency-${++groups}` })
        const times = await writePaced(
          async (revision) => {
            await store.orders.upsert(orderDocument(revision % LATENCY_KEYS, revision))
          },
          { perSecond: WRITES_PER_SECOND, seconds },
        )
        const { arrivals } = await follower.call({
          kind: 'stop',
          expected: times.acknowledged.size,
        })
        return latencyFigures('latency.otherProcess', latencies(times, arrivals))
      },
      async raw(seconds) {
        const times = await writePaced(
          async (revision) => {
            await prototype.write([data.write(revision % LATENCY_KEYS, revision)])
          },
          { perSecond: WRITES_PER_SECOND, seconds, onAcknowledged: () => doorbell.ring() },
        )
        const { arrivals } = await rawFollower.call({
          kind: 'take',
          expected: times.acknowledged.size,
        })
        return latencyFigures('latency.otherProcess', latencies(times, arrivals))
      },
      async [Symbol.asyncDispose]() {
        doorbell[Symbol.dispose]()
        await Promise.all([
          follower[Symbol.asyncDispose](),
          rawFollower[Symbol.asyncDispose](),
          prototype[Symbol.asyncDispose](),
        ])
        await store.close()
      },
    }
  },
}
