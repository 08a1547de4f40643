import { setTimeout as sleep } from 'node:timers/promises'
import { errorCode } from '@tidemark/contracts'
import { RedisLeaseStore } from '@tidemark/lease-redis'
import { ChangeFeedProcessorHost } from '@tidemark/processor'
import { Redis } from 'ioredis'
import { endWithParent } from '../faults/end-with-parent.ts'
import { HistoryWriter } from '../faults/history.ts'
import { takeHoldings } from './holdings.ts'
import { ProgressLog } from './progress-log.ts'
import { openSoakStore, SOAK_GROUP, type SoakEvent } from './soak-store.ts'
import type { SoakCounts, SoakHostTask, SoakOrder } from './soak-tasks.ts'

/* A host that writes down what it has done, until it is killed. */

const MAX_OBSERVER_MS = 6
endWithParent()
// The soak is the only caller.
const task = JSON.parse(process.argv[2] ?? '') as SoakHostTask
const history = new HistoryWriter(task.historyFile)
const progress = new ProgressLog(task.progressPath)
let failed = 0

const { events } = await openSoakStore(task.folder)
const redis = new Redis({
  port: task.redisPort,
  retryStrategy: () => 50,
  maxRetriesPerRequest: null,
})
redis.on('error', () => {})
const leases = new RedisLeaseStore(redis, { allowVolatile: true })

async function join(): Promise<ChangeFeedProcessorHost<SoakEvent>> {
  const host = new ChangeFeedProcessorHost<SoakEvent>({
    hostName: task.hostName,
    group: SOAK_GROUP,
    feed: events,
    leases,
    feedOptions: { startFromBeginning: true, pendingDeletes: false },
    hostOptions: {
      retryDelayMs: 20,
      leaseRenewIntervalMs: 1_000,
      leaseExpirationIntervalMs: 4_000,
    },
  })
  host.on('stopped', ({ error }) => {
    if (error === undefined) return
    console.error(error)
    process.exit(3)
  })
  host.on('horizonPassed', ({ error }) => note('horizonPassed', errorCode(error) ?? ''))
  await host.registerObserver({
    async processChanges(_context, changes) {
      await sleep(Math.random() * MAX_OBSERVER_MS)
      if (Math.random() < task.failing) {
        failed += 1
        throw new Error('one that fails')
      }
      progress.note(changes.map(({ id }) => id))
    },
  })
  return host
}

function note(name: string, detail = ''): void {
  history.note({ kind: 'event', name, detail })
}

let host = await join()

async function obey(order: SoakOrder): Promise<void> {
  if (order.kind === 'rejoin') {
    await host.unregisterObservers()
    host = await join()
  }
  process.send?.({ ...takeHoldings(), failed } satisfies SoakCounts)
}

let obeying = Promise.resolve()
// Only the soak sends messages.
process.on('message', (order) => {
  obeying = obeying.then(() => obey(order as SoakOrder))
})
note('started')
