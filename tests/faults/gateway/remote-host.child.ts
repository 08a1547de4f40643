import { CosmosClient } from '@azure/cosmos'
import { cosmosFeed, cosmosLeases } from '@tidemark/cosmos'
import {
  CosmosConnection,
  CosmosDocumentCollection,
  openChangeFeed,
} from '@tidemark/gateway/client'
import {
  ChangeFeedProcessorHost,
  DocumentLeaseStore,
  type HostEventName,
} from '@tidemark/processor'
import { PlainAccount } from '../../azure-client/plain-account.fixture.ts'
import { endWithParent } from '../end-with-parent.ts'
import { HistoryWriter } from '../history.ts'
import { NotingObserver } from '../noting-observer.ts'
import { notingFetch } from './noting-fetch.ts'
import {
  EVENTS,
  GATEWAY_KEY,
  GROUP,
  LEASES,
  type RemoteEvent,
  type RemoteHostTask,
} from './gateway-tasks.ts'

/*
 * A worker that has nothing but an endpoint and a key: its feed and its leases are behind them. Of an account it has the official
 * client. SIGTERM stops it.
 */

const TOLD: readonly HostEventName[] = [
  'feedError',
  'observerError',
  'fenced',
  'leaseLost',
  'leaseStoreUnavailable',
  'leaseStoreRecovered',
  'stopped',
]
/** So that kills hit the midst of a batch. */
const MAX_OBSERVER_MS = 10

endWithParent()
// The stage of these tests is the only caller.
const task = JSON.parse(process.argv[2] ?? '') as RemoteHostTask
const history = new HistoryWriter(task.historyFile)

const { feed, leases } = task.isPlain ? await ofAccount() : await ofGateway()
const host = new ChangeFeedProcessorHost<RemoteEvent>({
  hostName: task.hostName,
  group: GROUP,
  feed,
  leases,
  feedOptions: { startFromBeginning: true, maxItemCount: 20 },
  hostOptions: {
    leaseRenewIntervalMs: 500,
    leaseExpirationIntervalMs: task.expirationMs,
    feedPollDelayMs: 50,
  },
})
for (const name of TOLD) {
  host.on(name, (event) => {
    const detail = JSON.stringify(event, (_key, value: unknown) =>
      value instanceof Error ? `${value.name} ${value.message}` : value,
    )
    history.note({ kind: 'event', name, detail })
  })
}
process.once('SIGTERM', () => {
  void host.unregisterObservers().then(() => process.exit(0))
})
await host.registerObserver(new NotingObserver<RemoteEvent>(history, MAX_OBSERVER_MS))
history.note({ kind: 'event', name: 'started', detail: '' })

async function ofGateway() {
  const connection = new CosmosConnection({
    endpoint: task.endpoint,
    key: GATEWAY_KEY,
    fetch: notingFetch(fetch, noteFailure),
  })
  return {
    feed: await openChangeFeed<RemoteEvent>(connection, EVENTS),
    leases: new DocumentLeaseStore(new CosmosDocumentCollection(connection, LEASES)),
  }
}

async function ofAccount() {
  const account = await PlainAccount.before(task.endpoint)
  account.onFailure = noteFailure
  const client = new CosmosClient({ endpoint: account.endpoint, key: GATEWAY_KEY })
  const container = (name: { readonly database: string; readonly container: string }) =>
    client.database(name.database).container(name.container)
  return {
    feed: cosmosFeed<RemoteEvent>(container(EVENTS)),
    leases: cosmosLeases(container(LEASES)),
  }
}

function noteFailure(): void {
  history.note({ kind: 'event', name: 'connectionFailed', detail: '' })
}
