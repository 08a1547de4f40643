import { ChangeFeedProcessorHost } from '@tidemark/processor'
import { endWithParent } from '../end-with-parent.ts'
import { HistoryWriter } from '../history.ts'
import { FAULT_TIMES } from '../host-process.ts'
import {
  GROUP,
  openPoisonStore,
  POISON,
  type PoisonHostTask,
  type PoisonOrder,
} from './poison-store.ts'

/* A worker whose observer cannot process one document. It stands still in the midst of a bisection to be killed. */

endWithParent()
// The test is the only caller.
const task = JSON.parse(process.argv[2] ?? '') as PoisonHostTask
const history = new HistoryWriter(task.historyFile)
const { orders, leases, letters } = await openPoisonStore(task.folder)
const host = new ChangeFeedProcessorHost<PoisonOrder>({
  hostName: 'worker-1',
  group: GROUP,
  feed: orders,
  leases,
  deadLetters: letters,
  feedOptions: { startFromBeginning: true, maxItemCount: 100 },
  hostOptions: {
    leaseRenewIntervalMs: FAULT_TIMES.renewMs,
    leaseExpirationIntervalMs: FAULT_TIMES.expirationMs,
    failurePolicy: { mode: 'deadLetter', maxAttempts: 2 },
    retryDelayMs: 5,
    redrivePollMs: 100,
  },
})
host.on('deadLettered', ({ id, attempts }) => {
  history.note({ kind: 'event', name: 'deadLettered', detail: JSON.stringify({ id, attempts }) })
  if (task.diesAtLetter) process.kill(process.pid, 'SIGKILL')
})
for (const name of ['redriven', 'stopped', 'deadLettersSuspended'] as const) {
  host.on(name, () => history.note({ kind: 'event', name, detail: '' }))
}
await host.registerObserver({
  async processChanges({ leaseId: lease, fence: { epoch }, redriven }, changes) {
    const ids = changes.map(({ id }) => id)
    history.note({ kind: 'dispatch', lease, epoch, lsns: changes.map(({ lsn }) => lsn), ids })
    if (ids.includes(POISON) && !task.isMended) {
      if (ids.length <= task.hangAt) {
        history.note({ kind: 'event', name: 'hanging', detail: String(ids.length) })
        await new Promise<never>(() => {})
      }
      throw new TypeError(`cannot process ${POISON}`)
    }
    if (redriven) history.note({ kind: 'event', name: 'acceptedRedriven', detail: ids.join() })
    history.note({ kind: 'complete', lease, epoch, ids })
  },
})
history.note({ kind: 'event', name: 'started', detail: '' })
process.once('SIGTERM', () => void host.unregisterObservers().then(() => process.exit(0)))
