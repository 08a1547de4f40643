import { join } from 'node:path'
import { openSqliteEngine } from '@tidemark/engine-sqlite'
import { startGateway } from '@tidemark/gateway'
import { Store } from '@tidemark/store'
import { endWithParent } from '../end-with-parent.ts'
import { HistoryWriter } from '../history.ts'
import { EVENTS, GATEWAY_KEY, RANGES, type GatewayTask } from './gateway-tasks.ts'

/* A gateway on a folder, until it is killed. What it failed at by no fault of a client is in its history. */

endWithParent()
// The stage of these tests is the only caller.
const { folder, port, historyFile } = JSON.parse(process.argv[2] ?? '') as GatewayTask
const history = new HistoryWriter(historyFile)
const store = await Store.open({
  engine: await openSqliteEngine({ folder: join(folder, 'store') }),
})
await store.database(EVENTS.database).createCollectionIfNotExists({
  id: EVENTS.container,
  partitionKey: '/key',
  partitionCount: RANGES,
})
const gateway = await startGateway({
  store,
  port,
  keys: { readWrite: [GATEWAY_KEY] },
  onFailure: ({ path, error }) =>
    history.note({ kind: 'event', name: 'failure', detail: `${path} ${String(error)}` }),
})
history.note({ kind: 'event', name: 'started', detail: gateway.endpoint })
