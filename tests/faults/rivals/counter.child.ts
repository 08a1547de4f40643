import { endWithParent } from '../end-with-parent.ts'
import { HistoryWriter } from '../history.ts'
import { countUp } from './count-up.ts'
import { openRivalStore } from './rival-store.ts'
import { COUNTERS, type CounterTask } from './rival-tasks.ts'

/* Counts up, all counters at once, and is stopped in the middle of it. SIGTERM ends it gracefully. */

endWithParent()
// The tests of this folder are the only callers.
const task = JSON.parse(process.argv[2] ?? '') as CounterTask
const history = new HistoryWriter(task.historyFile)
let isStopping = false
process.once('SIGTERM', () => {
  isStopping = true
})
await using opened = await openRivalStore(task.postgresUrl)
history.note({ kind: 'event', name: 'started', detail: '' })
await Promise.all(COUNTERS.map((id) => countForEver(id)))

async function countForEver(id: string): Promise<void> {
  while (!isStopping) {
    history.note({ kind: 'event', name: await countUp(opened.documents, id), detail: id })
  }
}
