import { setTimeout as sleep } from 'node:timers/promises'
import type { Change, IChangeFeedObserver, ObserverContext } from '@tidemark/contracts'
import { RedisLeaseStore } from '@tidemark/lease-redis'
import {
  ChangeFeedProcessorHost,
  DocumentLeaseStore,
  type HostEventName,
} from '@tidemark/processor'
import { Redis } from 'ioredis'
import { openFeedStore, type Order } from './feed-store.ts'
import { HistoryWriter, machineMs } from './history.ts'
import type { HostProcessOptions } from './host-process.ts'

// A worker process whose every step is in its history file. SIGTERM stops it gracefully.

const EVENTS: readonly HostEventName[] = [
  'leaseLost',
  'leaseReleased',
  'feedError',
  'observerError',
  'leaseStoreUnavailable',
  'leaseStoreRecovered',
  'leaseStoreLost',
  'recovered',
  'fenced',
  'stopped',
]

// `HostProcess` is the only caller.
const options = JSON.parse(process.argv[2] ?? '') as HostProcessOptions & { historyFile: string }
const history = new HistoryWriter(options.historyFile)

class RecordingObserver implements IChangeFeedObserver<Order> {
  open({ leaseId, fence }: ObserverContext): void {
    history.note({ kind: 'open', lease: leaseId, epoch: fence.epoch })
  }

  async processChanges(context: ObserverContext, changes: readonly Change<Order>[]): Promise<void> {
    const { leaseId: lease, fence } = context
    history.note({
      kind: 'dispatch',
      lease,
      epoch: fence.epoch,
      lsns: changes.map(({ lsn }) => lsn),
      ids: changes.map(({ id }) => id),
    })
    if (options.observerMs > 0) await sleep(options.observerMs)
    if (!options.checkpointInObserver) return
    const askedAtMs = machineMs()
    const code = await context.checkpoint().then(
      () => undefined,
      (error: unknown) => codeOf(error),
    )
    history.note({ kind: 'checkpoint', lease, epoch: fence.epoch, askedAtMs, code })
  }

  close({ leaseId, fence }: ObserverContext): void {
    history.note({ kind: 'close', lease: leaseId, epoch: fence.epoch })
  }
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : String(error)
}

/** Events as text: errors by their code. */
function detailOf(event: unknown): string {
  return JSON.stringify(event, (_key, value: unknown) =>
    value instanceof Error ? `${codeOf(value)} ${value.message}` : value,
  )
}

const store = await openFeedStore(options.folder)
const redis =
  options.redisPort === undefined
    ? undefined
    : new Redis({
        host: '127.0.0.1',
        port: options.redisPort,
        retryStrategy: () => 50,
        maxRetriesPerRequest: null,
      })
redis?.on('error', () => {})

const host = new ChangeFeedProcessorHost<Order>({
  hostName: options.hostName,
  group: options.group,
  feed: store.orders,
  leases:
    redis === undefined
      ? new DocumentLeaseStore(store.leases)
      : new RedisLeaseStore(redis, { commandTimeoutMs: options.renewMs, allowVolatile: true }),
  feedOptions: { startFromBeginning: true, maxItemCount: options.maxItemCount },
  hostOptions: {
    leaseRenewIntervalMs: options.renewMs,
    leaseExpirationIntervalMs: options.expirationMs,
  },
})
host.on('joined', ({ incarnation }) => history.note({ kind: 'joined', incarnation }))
for (const name of EVENTS) {
  host.on(name, (event) => history.note({ kind: 'event', name, detail: detailOf(event) }))
}

process.once('SIGTERM', () => {
  void stop()
})
await host.registerObserver(new RecordingObserver())
history.note({ kind: 'event', name: 'registered', detail: '' })

async function stop(): Promise<void> {
  await host.unregisterObservers()
  redis?.disconnect()
  await store.close()
  process.exit(0)
}
