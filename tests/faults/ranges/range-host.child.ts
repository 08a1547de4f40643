import { ChangeFeedProcessorHost, type HostEventName } from '@tidemark/processor'
import { HistoryWriter } from '../history.ts'
import { NotingObserver } from '../noting-observer.ts'
import { FAULT_TIMES } from '../host-process.ts'
import { GROUP, openKeyedStore, type KeyedEvent } from './keyed-store.ts'
import type { RangeHostTask } from './range-tasks.ts'
import { endWithParent } from '../end-with-parent.ts'

/* A worker that notes what it begins and what it has done, until it is killed. */

const EVENTS: readonly HostEventName[] = [
  'feedError',
  'observerError',
  'fenced',
  'leaseReleased',
  'rangeReplaced',
  'leasesJoined',
  'horizonPassed',
  'stopped',
]
/** Some batches take longer than others, so that kills and changes of ranges hit them. */
const MAX_OBSERVER_MS = 12
endWithParent()
// The stage of these tests is the only caller.
const task = JSON.parse(process.argv[2] ?? '') as RangeHostTask
const history = new HistoryWriter(task.historyFile)

const { events, leases } = await openKeyedStore(task)
const host = new ChangeFeedProcessorHost<KeyedEvent>({
  hostName: task.hostName,
  group: GROUP,
  feed: events,
  leases,
  feedOptions: { startFromBeginning: true, maxItemCount: 20 },
  hostOptions: {
    leaseRenewIntervalMs: FAULT_TIMES.renewMs,
    leaseExpirationIntervalMs: FAULT_TIMES.expirationMs,
  },
})
for (const name of EVENTS) {
  host.on(name, (event) => {
    const detail = JSON.stringify(event, (_key, value: unknown) =>
      value instanceof Error ? `${value.name} ${value.message}` : value,
    )
    history.note({ kind: 'event', name, detail })
  })
}
await host.registerObserver(new NotingObserver<KeyedEvent>(history, MAX_OBSERVER_MS))
history.note({ kind: 'event', name: 'started', detail: '' })
