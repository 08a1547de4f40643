import { CosmosClient } from '@azure/cosmos'
import { cosmosFeed, cosmosLeases } from '@tidemark/cosmos'
import { ChangeFeedProcessorHost, cosmosDefaults } from 'tidemark'
import { SendReceipts, type Mailer, type Order } from './receipts.ts'

// The change feed processor for a container of Azure Cosmos DB. Start as many of this process as you like.

const { COSMOS_ENDPOINT: endpoint, COSMOS_KEY: key } = process.env
if (endpoint === undefined || key === undefined) {
  throw new Error('set COSMOS_ENDPOINT and COSMOS_KEY')
}
// Or `aadCredentials: new DefaultAzureCredential()` of @azure/identity. Retries and regions are the client's, too.
const client = new CosmosClient({ endpoint, key })
const shop = client.database(process.env['COSMOS_DATABASE'] ?? 'shop')

/** Replace it with your mail service. */
const mailer: Mailer = {
  async send(key, { orderId, to, total }) {
    console.log(`receipt ${key} to ${to}: order ${orderId}, ${total}`)
  },
}

const host = new ChangeFeedProcessorHost<Order>({
  group: 'receipts', // each group sees every change
  feed: cosmosFeed<Order>(shop.container('orders')),
  leases: cosmosLeases(shop.container('leases')), // made if it is missing
  feedOptions: { startFromBeginning: true },
  hostOptions: cosmosDefaults, // the intervals of the .NET library, to be kind to your request units
})
const ended = new Promise<unknown>((resolve) => {
  process.once('SIGTERM', () => resolve(undefined))
  process.once('SIGINT', () => resolve(undefined))
  host.on('stopped', ({ error }) => resolve(error)) // it cannot go on
})

await host.registerObserver(new SendReceipts(mailer))
console.log('ready')
if ((await ended) !== undefined) process.exitCode = 1 // the host's log has said why
await host.unregisterObservers() // finishes, stores the positions, hands the leases over
client.dispose()
