import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import { endWithParent } from '../end-with-parent.ts'
import { HistoryWriter } from '../history.ts'
import type { LogReaderTask } from './log-tasks.ts'

/* Needs the log of writes nearly all the time, as somebody who pages through a large collection does. */

endWithParent()
// The stage of the campaign is the only caller.
const task = JSON.parse(process.argv[2] ?? '') as LogReaderTask
const history = new HistoryWriter(task.historyFile)
const connection = new DatabaseSync(task.file, { readOnly: true, timeout: 5000 })
for (let reads = 0; ; reads++) {
  connection.exec('BEGIN')
  connection.prepare('SELECT count(*) FROM doc').get()
  if (reads === 0) history.note({ kind: 'event', name: 'started', detail: '' })
  await sleep(task.readMs)
  connection.exec('COMMIT')
}
