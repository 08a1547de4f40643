import { createRequire } from 'node:module'
import { queryObjects } from 'node:v8'
import { openSqliteEngine } from '@tidemark/engine-sqlite'
import { openMessaging } from '@tidemark/messaging'
import { startAmqpServer } from '@tidemark/messaging-amqp'
import { ALL_RIGHTS, EMULATOR_ACCESS_KEY } from '@tidemark/messaging/front'
import { Store } from '@tidemark/store'
import { takeHoldings } from '../holdings.ts'
import type { FrontMessage, FrontTask } from './messages.ts'
import { createSoakQueues } from './queues.ts'

/* Serves until it is killed. A failure that is not a client's ends it, and so the run. */

// The soak is the only caller.
const task = JSON.parse(process.argv[2] ?? '') as FrontTask
// rhea exports neither of them.
const { Sender, Receiver } = createRequire(import.meta.url)('rhea/lib/link.js') as {
  readonly Sender: new () => object
  readonly Receiver: new () => object
}
const store = await Store.open({ engine: await openSqliteEngine({ folder: task.folder }) })
const broker = openMessaging(await store.createDatabaseIfNotExists('soak'), {
  limits: { minLockDuration: 'PT1S' },
})
await createSoakQueues(broker)
const { port } = await startAmqpServer({
  broker,
  port: 0,
  policies: [{ name: undefined, keys: [EMULATOR_ACCESS_KEY], rights: ALL_RIGHTS }],
  onFailure({ place, error }) {
    console.error(place, error)
    process.exit(1)
  },
})

function tell(message: FrontMessage): void {
  process.send?.(message)
}

process.on('disconnect', () => process.exit(0))
process.on('message', () => {
  const rheaLinks = Number(queryObjects(Sender)) + Number(queryObjects(Receiver))
  tell({ kind: 'holdings', ...takeHoldings(), rheaLinks })
})
tell({ kind: 'listening', port })
