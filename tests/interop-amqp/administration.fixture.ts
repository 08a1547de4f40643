import {
  ServiceBusAdministrationClient,
  type ServiceBusAdministrationClientOptions,
} from '@azure/service-bus'
import { openMessaging, type MessageBroker, type NamespaceOptions } from '@tidemark/messaging'
import { ALL_RIGHTS, type AccessPolicy } from '@tidemark/messaging/front'
import {
  startAdminServer,
  type AdminFailure,
  type AdminServerOptions,
  type RunningAdminServer,
} from '@tidemark/messaging-admin'
import { openMemoryStore } from '@tidemark/testing'
import { LOCALHOST_TLS } from '@tidemark/testing/servers'

export const KEY = Buffer.alloc(32, 7).toString('base64')
export const ROOT: AccessPolicy = {
  name: 'RootManageSharedAccessKey',
  keys: [KEY],
  rights: ALL_RIGHTS,
}

/** A namespace whose entities are managed over TLS, and the official client as it is. */
export interface Administration extends AsyncDisposable {
  readonly broker: MessageBroker
  readonly server: RunningAdminServer
  readonly client: ServiceBusAdministrationClient
  readonly failures: readonly AdminFailure[]
  /** Another client, with another policy or other options. */
  connect(
    policy?: { readonly name: string | undefined; readonly keys: readonly string[] },
    options?: ServiceBusAdministrationClientOptions,
  ): ServiceBusAdministrationClient
}

export async function administration(
  options: Partial<AdminServerOptions> & { readonly namespace?: NamespaceOptions } = {},
): Promise<Administration> {
  const { namespace = {}, ...server } = options
  const store = await openMemoryStore()
  const broker = openMessaging(await store.createDatabaseIfNotExists('shop'), namespace)
  const failures: AdminFailure[] = []
  const running = await startAdminServer({
    broker,
    policies: [ROOT],
    port: 0,
    tls: LOCALHOST_TLS,
    onFailure: (failure) => failures.push(failure),
    ...server,
  })
  const connect: Administration['connect'] = ({ name, keys: [key] } = ROOT, given = {}) =>
    new ServiceBusAdministrationClient(
      `Endpoint=sb://localhost:${running.port};SharedAccessKeyName=${name};SharedAccessKey=${key}`,
      // The certificate signed itself; a failure is told at once, and not after several tries.
      { tlsOptions: { ca: LOCALHOST_TLS.cert }, retryOptions: { maxRetries: 0 }, ...given },
    )
  return {
    broker,
    server: running,
    client: connect(),
    failures,
    connect,
    [Symbol.asyncDispose]: async () => {
      await running.stop()
      await broker.close()
      await store.close()
    },
  }
}

/** What an official client's call is refused with: status, code, and the detail without what differs each time. */
export async function refusal(call: Promise<unknown>): Promise<unknown> {
  try {
    await call
  } catch (error) {
    if (!(error instanceof Error)) throw error
    return {
      status: Reflect.get(error, 'statusCode'),
      code: Reflect.get(error, 'code'),
      detail: error.message.replace(/^SubCode=\d+\. /, '').replace(/ TrackingId:.*$/, ''),
    }
  }
  return 'not refused'
}

export async function all<Item>(items: AsyncIterable<Item>): Promise<readonly Item[]> {
  const found: Item[] = []
  for await (const item of items) found.push(item)
  return found
}
