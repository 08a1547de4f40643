import { openMemoryStore } from '@tidemark/testing'
import { CosmosClient, type Container, type ContainerRequest } from '@azure/cosmos'
import type { Clock } from '@tidemark/contracts'
import type { Store } from '@tidemark/store'
import type { GatewayFailure } from './gateway-options.ts'
import { startGateway, type RunningGateway, type StartGatewayOptions } from './start-gateway.ts'

export const TEST_KEY = 'MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY='

/** A gateway over a store in memory, with the real client at it. */
export interface TestGateway extends AsyncDisposable {
  readonly store: Store
  readonly gateway: RunningGateway
  readonly client: CosmosClient
  /** What failed by no fault of a client: none, or the test is wrong. */
  readonly failures: readonly GatewayFailure[]
  container(request: ContainerRequest): Promise<Container>
}

export async function testGateway(
  options: Partial<StartGatewayOptions> = {},
  { storeClock }: { readonly storeClock?: Clock | undefined } = {},
): Promise<TestGateway> {
  const store = await openMemoryStore({ clock: storeClock })
  const failures: GatewayFailure[] = []
  const gateway = await startGateway({
    store,
    keys: { readWrite: [TEST_KEY] },
    port: 0,
    onFailure: (failure) => failures.push(failure),
    stopTimeoutMs: 1000,
    ...options,
  })
  const client = new CosmosClient({ endpoint: gateway.endpoint, key: TEST_KEY })
  return {
    store,
    gateway,
    client,
    failures,
    container: async (request) => {
      const { database } = await client.databases.createIfNotExists({ id: 'db' })
      return (await database.containers.create(request)).container
    },
    [Symbol.asyncDispose]: async () => {
      client.dispose()
      await gateway.stop()
      await store.close()
    },
  }
}
