import { serveParent } from '../../measuring/child-process.ts'
import { machineMs } from '../../measuring/stopwatch.ts'
import { BenchObserver, benchHost } from '../../store/drain.ts'
import { openBenchStore } from '../../store/open-bench-store.ts'
import { gatedFeed } from '../gated-feed.ts'

/** `start` joins the group, `go` lets it read, `look` tells how far it is, `stop` leaves. */
export type ShareRequest =
  | { readonly kind: 'start'; readonly place: string; readonly group: string }
  | { readonly kind: 'go' | 'look' | 'stop' }

export interface ShareReply {
  readonly leases: number
  readonly documents: number
  /** Machine clock after the newest batch. */
  readonly lastMs: number
}

interface Sharing {
  look(): ShareReply
  go(): void
  stop(): Promise<void>
}

async function share(place: string, group: string): Promise<Sharing> {
  const store = await openBenchStore(place)
  const gate = Promise.withResolvers<void>()
  const orders = gatedFeed(store.orders, gate.promise)
  const host = benchHost({ orders, leases: store.leases }, { group, fromBeginning: true })
  let leases = 0
  let documents = 0
  let lastMs = 0
  host.on('leaseAcquired', () => leases++)
  host.on('leaseReleased', () => leases--)
  host.on('leaseLost', () => leases--)
  await host.registerObserver(
    new BenchObserver((changes) => {
      documents += changes.length
      lastMs = machineMs()
    }),
  )
  return {
    look: () => ({ leases, documents, lastMs }),
    go: () => gate.resolve(),
    async stop() {
      await host.unregisterObservers()
      await store.close()
    },
  }
}

let sharing: Sharing | undefined
serveParent(async (request: ShareRequest): Promise<ShareReply> => {
  if (request.kind === 'start') sharing = await share(request.place, request.group)
  if (sharing === undefined) throw new Error('nothing was started')
  if (request.kind === 'go') sharing.go()
  const reply = sharing.look()
  if (request.kind === 'stop') await sharing.stop()
  return reply
})
