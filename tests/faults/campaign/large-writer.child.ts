import { join } from 'node:path'
import { openSqliteEngine } from '@tidemark/engine-sqlite'
import { Store } from '@tidemark/store'
import { endWithParent } from '../end-with-parent.ts'
import { HistoryWriter } from '../history.ts'
import type { LargeWriterOrder, LargeWriterTask } from './log-tasks.ts'

/* Writes large documents beside the hosts' feed, as many as it is told in one turn, until it is killed. */

endWithParent()
// The stage of the campaign is the only caller.
const task = JSON.parse(process.argv[2] ?? '') as LargeWriterTask
const history = new HistoryWriter(task.historyFile)
const engine = await openSqliteEngine({ folder: join(task.folder, 'store') })
const store = await Store.open({ engine, maintenance: 'manual' })
for (const name of ['logHeld', 'logFreed'] as const) {
  store.events.on(name, ({ bytes }) => note(name, `${bytes}`))
}
const large = await store
  .database('shop')
  .createCollectionIfNotExists<{ readonly id: string; readonly text: string }>({
    id: 'large',
    partitionKey: '/id',
  })
const text = 'x'.repeat(2 ** 20)

function note(name: string, detail = ''): void {
  history.note({ kind: 'event', name, detail })
}

async function write({ documents }: LargeWriterOrder): Promise<void> {
  note('writing')
  await Promise.all(
    Array.from({ length: documents }, (_, n) => large.upsert({ id: `large-${n}`, text })),
  )
  note('written')
}

// Only the stage sends messages.
process.on('message', (order) => void write(order as LargeWriterOrder))
note('started')
