import { CosmosClient, type Container, type CosmosClientOptions } from '@azure/cosmos'
import type { Clock } from '@tidemark/contracts'
import type { MaintenanceMode, Store } from '@tidemark/store'
import { TEST_KEY, gatewayUnderTest } from '../gateway-client/gateway-under-test.fixture.ts'
import { PlainAccount } from './plain-account.fixture.ts'

/** An account to its official client, and the store behind it to the test. */
export interface AccountUnderTest extends AsyncDisposable {
  readonly store: Store
  readonly account: PlainAccount
  /** What failed by no fault of a client. */
  readonly failures: readonly unknown[]
  /** Of a client of its own. */
  container(name: string, options?: Partial<CosmosClientOptions>): Container
}

const DATABASE = 'db'

export async function accountUnderTest({
  client: Client = CosmosClient,
  ...options
}: {
  readonly clock?: Clock
  readonly maintenance?: MaintenanceMode
  /** Of another version. */
  readonly client?: typeof CosmosClient
} = {}): Promise<AccountUnderTest> {
  const under = await gatewayUnderTest(options)
  const account = await PlainAccount.before(under.gateway.endpoint, options.clock)
  const clients: CosmosClient[] = []
  return {
    store: under.store,
    account,
    failures: under.failures,
    container: (name, given) => {
      const client = new Client({ endpoint: account.endpoint, key: TEST_KEY, ...given })
      clients.push(client)
      return client.database(DATABASE).container(name)
    },
    [Symbol.asyncDispose]: async () => {
      for (const client of clients) client.dispose()
      await account[Symbol.asyncDispose]()
      await under[Symbol.asyncDispose]()
    },
  }
}
