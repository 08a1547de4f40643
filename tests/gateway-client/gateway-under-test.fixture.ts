import { openMemoryStore } from '@tidemark/testing'
import type { Clock } from '@tidemark/contracts'
import { startGateway, type RunningGateway } from '@tidemark/gateway'
import { CosmosConnection, type CosmosConnectionOptions } from '@tidemark/gateway/client'
import type { Store } from '@tidemark/store'
import { type MaintenanceMode } from '@tidemark/store'

export const TEST_KEY = 'MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY='

/** A gateway in this process, over a store in memory. */
export interface GatewayUnderTest extends AsyncDisposable {
  readonly store: Store
  readonly gateway: RunningGateway
  /** What failed by no fault of a client. */
  readonly failures: readonly unknown[]
  connect(options?: Partial<CosmosConnectionOptions>): CosmosConnection
}

/** `clock` is the store's; requests and their timeouts run by the machine's. */
export async function gatewayUnderTest({
  clock,
  maintenance,
  store: given,
}: {
  readonly clock?: Clock
  readonly maintenance?: MaintenanceMode
  /** In place of one that is made. Closed with the gateway. */
  readonly store?: Store
} = {}): Promise<GatewayUnderTest> {
  const store = given ?? (await openMemoryStore({ clock, maintenance }))
  const failures: unknown[] = []
  const gateway = await startGateway({
    store,
    keys: { readWrite: [TEST_KEY] },
    port: 0,
    onFailure: ({ error }) => failures.push(error),
    stopTimeoutMs: 1000,
  })
  const { endpoint } = gateway
  return {
    store,
    gateway,
    failures,
    connect: (options) => new CosmosConnection({ endpoint, key: TEST_KEY, ...options }),
    [Symbol.asyncDispose]: async () => {
      await gateway.stop()
      await store.close()
    },
  }
}
