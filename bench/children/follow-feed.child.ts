import { serveParent } from '../measuring/child-process.ts'
import { untilSize } from '../measuring/latency-figures.ts'
import { machineMs } from '../measuring/stopwatch.ts'
import { BenchObserver, benchHost, startWorking } from '../store/drain.ts'
import { openBenchStore } from '../store/open-bench-store.ts'

export type FollowRequest =
  | { readonly kind: 'start'; readonly place: string; readonly group: string }
  | { readonly kind: 'stop'; readonly expected: number }

export interface FollowReply {
  /** Machine clock of the arrival, by revision; empty for `start`. */
  readonly arrivals: ReadonlyMap<number, number>
}

/** What runs between `start` and `stop`. */
interface Following {
  readonly arrivals: Map<number, number>
  stop(): Promise<void>
}

async function follow(place: string, group: string): Promise<Following> {
  const store = await openBenchStore(place)
  const host = benchHost(store, { group, fromBeginning: false })
  const arrivals = new Map<number, number>()
  await startWorking(
    host,
    new BenchObserver((changes) => {
      const now = machineMs()
      for (const change of changes) {
        if (change.kind === 'document') arrivals.set(change.document.revision, now)
      }
    }),
  )
  return {
    arrivals,
    async stop() {
      await host.unregisterObservers()
      await store.close()
    },
  }
}

let following: Following | undefined
serveParent(async (request: FollowRequest): Promise<FollowReply> => {
  if (request.kind === 'start') {
    following = await follow(request.place, request.group)
    return { arrivals: new Map() }
  }
  if (following === undefined) throw new Error('nothing was started')
  await untilSize(following.arrivals, request.expected)
  await following.stop()
  return { arrivals: following.arrivals }
})
