import { setTimeout as sleep } from 'node:timers/promises'
import {
  errorCode,
  type Change,
  type IChangeFeedObserver,
  type ObserverContext,
} from '@tidemark/contracts'
import { ChangeFeedProcessorHost, type HostEventName } from '@tidemark/processor'
import { endWithParent } from '../end-with-parent.ts'
import { HistoryWriter } from '../history.ts'
import { GROUP, openKeyedStore, type KeyedEvent } from '../ranges/keyed-store.ts'
import { openLeases, stepLeaseClock } from './lease-place.ts'
import type { WorkerOrder, WorkerSample, WorkerTask } from './worker-task.ts'

/* A host whose every step is in its history, that misbehaves when it is told to, until it is killed. */

const EVENTS: readonly HostEventName[] = [
  'leaseReleased',
  'leaseLost',
  'feedError',
  'observerError',
  'observerStuck',
  'rangeReplaced',
  'leasesJoined',
  'horizonPassed',
  'leaseStoreUnavailable',
  'leaseStoreRecovered',
  'fenced',
  'leaseStoreLost',
  'leasesDamaged',
  'recovered',
  'positionReportFailed',
]
/** Of a process whose host stopped by itself. */
const STOPPED_BY_ITSELF = 3

endWithParent()
// The stage of the campaign is the only caller.
const task = JSON.parse(process.argv[2] ?? '') as WorkerTask
const history = new HistoryWriter(task.historyFile)
let { behaviour } = task
let batches = 0

function note(name: string, detail = ''): void {
  history.note({ kind: 'event', name, detail })
}

class Observer implements IChangeFeedObserver<KeyedEvent> {
  open({ leaseId: lease, fence }: ObserverContext): void {
    history.note({ kind: 'open', lease, epoch: fence.epoch })
  }

  async processChanges(
    { leaseId: lease, fence, signal }: ObserverContext,
    changes: readonly Change<KeyedEvent>[],
  ): Promise<void> {
    const { epoch } = fence
    const ids = changes.map(({ id }) => id)
    const lsns = changes.map(({ lsn }) => lsn)
    history.note({ kind: 'dispatch', lease, epoch, lsns, ids })
    await work(ids, {
      signal,
      done: (part) => history.note({ kind: 'complete', lease, epoch, ids: part }),
    })
  }

  close({ leaseId: lease, fence }: ObserverContext): void {
    history.note({ kind: 'close', lease, epoch: fence.epoch })
  }
}

async function work(
  ids: readonly string[],
  { signal, done }: { signal: AbortSignal; done: (ids: readonly string[]) => void },
): Promise<void> {
  const mode = behaviour
  batches += 1
  switch (mode.kind) {
    case 'steady':
      await sleep(Math.random() * mode.maxMs)
      break
    case 'slow':
      await sleep(mode.ms)
      break
    case 'throwing':
      await sleep(Math.random() * 5)
      if (batches % 3 !== 0) break
      done(ids.slice(0, Math.ceil(ids.length / 2)))
      note('threw')
      throw new Error('told to throw')
    case 'hanging': {
      behaviour = { kind: 'steady', maxMs: 5 }
      note('hangs', mode.abort)
      const aborted = Promise.withResolvers<void>()
      signal.addEventListener('abort', () => {
        note('aborted', mode.abort)
        if (mode.abort === 'obedient') aborted.reject(signal.reason)
      })
      await aborted.promise
    }
  }
  done(ids)
}

const { events, leases: beside } = await openKeyedStore({
  folder: task.folder,
  redisPort: undefined,
})
const leases = task.leases.kind === 'beside' ? beside : await openLeases(task.leases, task.renewMs)

async function join(): Promise<ChangeFeedProcessorHost<KeyedEvent>> {
  const host = new ChangeFeedProcessorHost<KeyedEvent>({
    hostName: task.hostName,
    group: GROUP,
    feed: events,
    leases,
    feedOptions: { startFromBeginning: true, maxItemCount: task.maxItemCount },
    hostOptions: {
      leaseRenewIntervalMs: task.renewMs,
      leaseExpirationIntervalMs: task.expirationMs,
      handoffTimeoutMs: task.drainMs,
      shutdownTimeoutMs: task.drainMs,
      abortGraceMs: task.graceMs,
      maxBatchMs: task.maxBatchMs,
      retryDelayMs: 50,
      retryMaxDelayMs: 500,
    },
  })
  for (const name of EVENTS) host.on(name, (event) => note(name, textOf(event)))
  host.on('joined', ({ incarnation }) => history.note({ kind: 'joined', incarnation }))
  host.on('stopped', ({ error }) => {
    if (error === undefined) return
    note('stopped', textOf({ error }))
    console.error(error)
    process.exit(STOPPED_BY_ITSELF)
  })
  await host.registerObserver(new Observer())
  note('registered')
  return host
}

/** Errors by their code. */
function textOf(event: unknown): string {
  return JSON.stringify(event, (_key, value: unknown) =>
    value instanceof Error ? `${errorCode(value) ?? value.name} ${value.message}` : value,
  )
}

/** Orders are obeyed one after the other. */
let obeying = Promise.resolve()
let host = await join()

async function obey(order: WorkerOrder): Promise<void> {
  switch (order.kind) {
    case 'block': {
      note('blocks')
      const endMs = performance.now() + order.ms
      while (performance.now() < endMs);
      return
    }
    case 'behave':
      behaviour = order.behaviour
      return
    case 'leave':
      await host.unregisterObservers()
      note('left')
      return
    case 'join':
      host = await join()
      return
    case 'stepClock':
      stepLeaseClock(order.byMs)
      note('clockSet', String(order.byMs))
      return
    case 'sample': {
      globalThis.gc?.()
      const { heapUsed, rss } = process.memoryUsage()
      const resources = process.getActiveResourcesInfo().length
      process.send?.({ heapBytes: heapUsed, residentBytes: rss, resources } satisfies WorkerSample)
    }
  }
}

// Only the stage sends messages.
process.on('message', (order) => {
  obeying = obeying.then(() => obey(order as WorkerOrder))
})
process.once('SIGTERM', () => {
  void host.unregisterObservers().then(() => {
    note('left')
    process.exit(0)
  })
})
note('started')
