import type { RunningGateway, StartGatewayOptions } from '@tidemark/gateway'
import type { MessageBroker } from '@tidemark/messaging'
import type { RunningAdminServer } from '@tidemark/messaging-admin'
import type { AmqpServerOptions, RunningAmqpServer } from '@tidemark/messaging-amqp'
import { loadFronts, type FrontPackages } from '../../platform/optional-packages.ts'
import { frontPolicies, includesWellKnownKey, type ServedKeys } from './served-keys.ts'
import type { Tls } from './tls-files.ts'

/** Queues and topics, and by what they are served. */
export interface QueueFronts {
  readonly broker: MessageBroker
  /** Undefined: no such front. */
  readonly amqpPort: number | undefined
  readonly adminPort: number | undefined
  readonly insecureAmqp?: boolean | undefined
  /** Accepts the emulator's key, too, where only this machine can connect. */
  readonly isForTests: boolean
  /** For a log. `place` says who did what. */
  readonly onFailure: (error: unknown, place: string) => void
}

export interface FrontsOptions {
  readonly gateway: Omit<StartGatewayOptions, 'keys' | 'host' | 'tls' | 'onUpgrade'> | undefined
  readonly queues: QueueFronts | undefined
  readonly keys: ServedKeys
  readonly host: string
  readonly tls: Tls | undefined
  readonly insecureHttp: boolean | undefined
  readonly maxConnections: number | undefined
}

/** What listens. */
export interface RunningFronts {
  readonly gateway: RunningGateway | undefined
  readonly amqp: RunningAmqpServer | undefined
  readonly admin: RunningAdminServer | undefined
  /** For all of them. @throws ERR_INVALID_OPTION */
  replaceKeys(keys: ServedKeys): void
  /** Accepts no more connections. Resolves when everything in progress has ended. */
  [Symbol.asyncDispose](): Promise<void>
}

/** Starts every front that is asked for, or none. Rejects as they do, and as `loadFronts`. */
export async function startFronts(options: FrontsOptions): Promise<RunningFronts> {
  const { gateway: gatewayOptions, queues, keys, ...shared } = options
  const policiesOf = (present: ServedKeys) =>
    queues === undefined ? [] : frontPolicies(present, { ...shared, ...queues })
  let policies = policiesOf(keys)
  const packages = await loadFronts({
    gateway: gatewayOptions !== undefined,
    amqp: queues?.amqpPort !== undefined,
    admin: queues?.adminPort !== undefined,
  })
  const started: AsyncDisposable[] = []
  try {
    const amqp = queues && (await startAmqp(packages.amqp, queues, { ...shared, policies }))
    if (amqp !== undefined) started.push(amqp)
    const admin = queues && (await startAdmin(packages.admin, queues, { ...shared, policies }))
    if (admin !== undefined) started.push(admin)
    // Last, because it hands WebSockets to the AMQP front.
    const gateway =
      gatewayOptions &&
      (await packages.gateway?.startGateway({
        ...gatewayOptions,
        ...shared,
        keys: gatewayKeysOf(keys),
        onUpgrade:
          amqp &&
          packages.amqp?.webSocketDoor({
            accept: (stream, client) => amqp.accept(stream, client),
            isForLoopbackOnly: () => includesWellKnownKey(policies),
          }),
      }))
    if (gateway !== undefined) started.push(gateway)
    return {
      gateway,
      amqp,
      admin,
      replaceKeys: (present) => {
        const next = policiesOf(present)
        gateway?.replaceKeys(gatewayKeysOf(present))
        amqp?.replacePolicies(next)
        admin?.replacePolicies(next)
        policies = next
      },
      [Symbol.asyncDispose]: () => stopAll(started),
    }
  } catch (error) {
    await stopAll(started)
    throw error
  }
}

interface SharedOptions extends Omit<FrontsOptions, 'gateway' | 'queues' | 'keys'> {
  readonly policies: AmqpServerOptions['policies']
}

async function startAmqp(
  amqp: FrontPackages['amqp'],
  { broker, amqpPort: port, insecureAmqp, onFailure }: QueueFronts,
  { policies, host, tls, maxConnections }: SharedOptions,
): Promise<RunningAmqpServer | undefined> {
  if (port === undefined) return undefined
  return amqp?.startAmqpServer({
    broker,
    policies,
    host,
    port,
    tls,
    insecureAmqp,
    maxConnections,
    onFailure: ({ error, place, address }) => onFailure(error, `${place}, client ${address}`),
  })
}

async function startAdmin(
  admin: FrontPackages['admin'],
  { broker, adminPort: port, onFailure }: QueueFronts,
  { policies, host, tls, insecureHttp }: SharedOptions,
): Promise<RunningAdminServer | undefined> {
  if (port === undefined) return undefined
  return admin?.startAdminServer({
    broker,
    policies,
    host,
    port,
    tls,
    insecureHttp,
    onFailure: ({ error, method, path, trackingId }) =>
      onFailure(error, `${method} ${path}, tracking ${trackingId}`),
  })
}

function gatewayKeysOf({ readWrite, readOnly }: ServedKeys) {
  return { readWrite, readOnly }
}

/** All at once: clients of one do not wait for those of another. */
async function stopAll(fronts: readonly AsyncDisposable[]): Promise<void> {
  await Promise.all(fronts.map((front) => front[Symbol.asyncDispose]()))
}
