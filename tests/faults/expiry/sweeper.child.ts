import type { StoreEventName } from '@tidemark/store'
import { HistoryWriter } from '../history.ts'
import { openExpiringStore } from './expiring-store.ts'
import type { SweeperTask } from './expiry-tasks.ts'
import { endWithParent } from '../end-with-parent.ts'

/* Has the store open and notes what it does in the background. SIGTERM ends it gracefully. */

const EVENTS: readonly StoreEventName[] = [
  'maintenanceStarted',
  'maintenanceEnded',
  'swept',
  'purged',
  'maintenanceFailed',
]
endWithParent()
// The tests of this folder are the only callers.
const task = JSON.parse(process.argv[2] ?? '') as SweeperTask
const history = new HistoryWriter(task.historyFile)
const { store } = await openExpiringStore(task)
for (const name of EVENTS) {
  store.events.on(name, (event) => {
    history.note({ kind: 'event', name, detail: JSON.stringify(event) })
  })
}
let sweptDocuments = 0
store.events.on('swept', ({ documents }) => {
  sweptDocuments += documents
  if (sweptDocuments >= (task.diesAfterDocuments ?? Infinity)) process.kill(process.pid, 'SIGKILL')
})
history.note({ kind: 'event', name: 'started', detail: '' })
const stayAwake = setInterval(() => {}, 60_000)
process.once('SIGTERM', () => {
  clearInterval(stayAwake)
  void store.close()
})
