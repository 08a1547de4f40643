import { FULL_RANGE, errorCode } from '@tidemark/contracts'
import { endWithParent } from '../end-with-parent.ts'
import { HistoryWriter } from '../history.ts'
import { openRivalStore } from './rival-store.ts'
import { JOB, type FencedWriterTask } from './rival-tasks.ts'

/* Writes as one owner of a job, until a later owner has written or SIGTERM comes. */

const LANES = 4

endWithParent()
// The tests of this folder are the only callers.
const task = JSON.parse(process.argv[2] ?? '') as FencedWriterTask
const { name, epoch } = task
const history = new HistoryWriter(task.historyFile)
let isStopping = false
process.once('SIGTERM', () => {
  isStopping = true
})
await using opened = await openRivalStore(task.postgresUrl)
history.note({ kind: 'event', name: 'started', detail: '' })
await Promise.all(Array.from({ length: LANES }, (_, lane) => write(lane)))

async function write(lane: number): Promise<void> {
  const { database, documents } = opened
  const fence = { job: JOB, range: FULL_RANGE, epoch }
  for (let count = 0; !isStopping; count++) {
    const document = { id: `${name}-${lane}-${count}`, key: `${name}-${count % 16}`, count }
    const operation = { kind: 'put', document } as const
    try {
      const { lsns } = await database.commitAtomically([{ collection: documents, operation }], {
        fence,
      })
      history.note({ kind: 'event', name: 'written', detail: String(lsns[0]) })
    } catch (error) {
      if (errorCode(error) !== 'ERR_FENCED_WRITE') throw error
      history.note({ kind: 'event', name: 'fenced', detail: '' })
      return
    }
  }
}
