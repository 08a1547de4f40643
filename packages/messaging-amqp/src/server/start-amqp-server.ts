import { once } from 'node:events'
import { createServer, type Server, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { createServer as createTlsServer } from 'node:tls'
import { AddressUnavailableError, InvalidOptionError } from '@tidemark/contracts'
import {
  bracketedHost,
  checkOptions,
  isLoopbackAddress,
  option,
  optionHaving,
  optionRule,
  optionWhole,
  reachableHost,
  requiredOption,
  type OptionRules,
} from '@tidemark/contracts/internal'
import type { MessageBroker } from '@tidemark/messaging'
import { AccessPolicies, includesEmulatorKey, type AccessPolicy } from '@tidemark/messaging/front'
import { ClientConnection } from '../connections/client-connection.ts'
import { Connections } from './connections.ts'

/** A failure inside the front, for a log. Never contains keys, tokens or messages. */
export interface AmqpFailure {
  /** Of the client. */
  readonly address: string
  /** What it was about, such as `link to 'orders'`. */
  readonly place: string
  readonly error: unknown
}

export interface AmqpServerOptions {
  /** The front does not close it. */
  readonly broker: MessageBroker
  /** Who may do what. */
  readonly policies: readonly AccessPolicy[]
  /** Address to listen at. @default '127.0.0.1' */
  readonly host?: string | undefined
  /** 0: any free one. @unit port @range 0 to 65_535 @default 5672, with `tls` 5671 */
  readonly port?: number | undefined
  /** PEM texts. @default none: AMQP without TLS */
  readonly tls?: { readonly cert: string; readonly key: string } | undefined
  /** Allows AMQP without TLS on an address other than loopback. @default false */
  readonly insecureAmqp?: boolean | undefined
  /**
   * At the limit a connection without a valid token is closed, or else the new one.
   * @range 1 to 1_000_000 @default 5_000
   */
  readonly maxConnections?: number | undefined
  /** Of one connection, over all of its sessions. @range 1 to 65_536 @default 1_000 */
  readonly maxLinksPerConnection?: number | undefined
  /** Called for every failure that is not a client's fault. @default nothing */
  readonly onFailure?: ((failure: AmqpFailure) => void) | undefined
}

/** A front that listens. */
export interface RunningAmqpServer {
  /** `amqp://127.0.0.1:5672`, or `amqps://…`: for clients on this machine. */
  readonly url: string
  /** Address and port of the socket. */
  readonly address: string
  readonly host: string
  readonly port: number
  /**
   * Serves a client that connected another way, such as over a WebSocket. `address` is the client's; `onKnown` is called when it has
   * shown a key.
   */
  accept(
    stream: Duplex,
    client: { readonly address: string; readonly onKnown?: (() => void) | undefined },
  ): void
  /** Replaces all policies, and closes links that are no longer permitted. @throws ERR_INVALID_OPTION */
  replacePolicies(policies: readonly AccessPolicy[]): void
  /** Accepts no more connections, and closes the open ones. Locks of messages stay; sessions are released. Idempotent. */
  stop(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/**
 * Starts an AMQP front over a broker. Binds to loopback by default.
 *
 * Rejects with ERR_INVALID_OPTION, also for the emulator's well-known key, or for AMQP without TLS and without `insecureAmqp`, on
 * another address than loopback, and with ERR_ADDRESS_UNAVAILABLE when the address cannot be had.
 */
export async function startAmqpServer(options: AmqpServerOptions): Promise<RunningAmqpServer> {
  checkOptions(options, RULES)
  const { host = '127.0.0.1', tls, policies, maxConnections = 5_000 } = options
  const { port = tls === undefined ? AMQP_PORT : AMQPS_PORT } = options
  assertSafe(host, options)
  const access = new AccessPolicies(policies)
  const connections = new Connections(maxConnections)
  const accept: RunningAmqpServer['accept'] = (stream, client) =>
    acceptClient(stream, client, { options, access, connections })
  const server = listenerOf(options, (socket) =>
    accept(socket, { address: socket.remoteAddress ?? '' }),
  )
  await listen(server, { host, port })
  const bound = server.address()
  if (typeof bound !== 'object' || bound === null)
    throw new AddressUnavailableError({ host, port }, undefined)
  let stopping: Promise<void> | undefined
  const stop = (): Promise<void> => (stopping ??= stopServer(server, connections))
  return {
    url: `${tls === undefined ? 'amqp' : 'amqps'}://${reachableHost(host)}:${bound.port}`,
    address: `${bracketedHost(bound.address)}:${bound.port}`,
    host,
    port: bound.port,
    accept,
    replacePolicies: (replaced) => {
      assertSafe(host, { ...options, policies: replaced })
      access.replace(replaced)
      for (const connection of connections.all) connection.links.checkClaims()
    },
    stop,
    [Symbol.asyncDispose]: stop,
  }
}

const AMQP_PORT = 5672
const AMQPS_PORT = 5671
const HANDSHAKE_MS = 10_000

const RULES: OptionRules<AmqpServerOptions> = {
  broker: requiredOption(optionHaving('an open message broker', 'createSender', 'front')),
  policies: requiredOption({
    ...optionRule('a list of access policies', (value) => Array.isArray(value)),
    secret: true,
  }),
  host: option.text,
  port: optionWhole(0, 65_535),
  tls: optionRule(
    'a certificate and its key',
    (value) => typeof value === 'object' && value !== null,
  ),
  insecureAmqp: option.flag,
  maxConnections: optionWhole(1, 1_000_000),
  maxLinksPerConnection: optionWhole(1, 65_536),
  onFailure: option.function,
}

function acceptClient(
  stream: Duplex,
  { address, onKnown }: Parameters<RunningAmqpServer['accept']>[1],
  {
    options,
    access,
    connections,
  }: {
    readonly options: AmqpServerOptions
    readonly access: AccessPolicies
    readonly connections: Connections
  },
): void {
  const { broker, maxLinksPerConnection = 1_000, onFailure } = options
  if (!connections.makeRoom()) {
    stream.destroy()
    return
  }
  const connection: ClientConnection = new ClientConnection({
    stream,
    broker,
    front: broker.front(),
    policies: access,
    maxLinks: maxLinksPerConnection,
    strangerSessions: () => connections.strangerSessions(),
    report: (place, error) => onFailure?.({ address, place, error }),
    onKnown: () => {
      connections.know(connection)
      onKnown?.()
    },
    onEnded: () => connections.remove(connection),
  })
  connections.add(connection, address)
}

function listenerOf({ tls }: AmqpServerOptions, accept: (socket: Socket) => void): Server {
  if (tls === undefined) return createServer({ noDelay: true }, accept)
  const server = createTlsServer({ ...tls, handshakeTimeout: HANDSHAKE_MS, noDelay: true })
  server.on('secureConnection', accept)
  server.on('tlsClientError', (_error, socket) => socket.destroy())
  return server
}

async function listen(
  server: Server,
  place: { readonly host: string; readonly port: number },
): Promise<void> {
  server.listen(place)
  try {
    await once(server, 'listening')
  } catch (cause) {
    throw new AddressUnavailableError(place, cause)
  }
}

async function stopServer(server: Server, connections: Connections): Promise<void> {
  const closed = once(server, 'close')
  server.close()
  const error = {
    condition: 'amqp:connection:forced',
    description: 'The connection was closed: the server is stopping.',
  }
  await Promise.all(connections.all.map((connection) => connection.stop(error)))
  await closed
}

/** A front that other machines can reach needs secret keys, and TLS unless it is told to go without. */
function assertSafe(host: string, { policies, tls, insecureAmqp }: AmqpServerOptions): void {
  if (isLoopbackAddress(host)) return
  if (includesEmulatorKey(policies)) {
    throw new InvalidOptionError(
      `the emulator's key is known to everybody: with it the front listens on loopback only, not on ${host}; give it a key of your own`,
    )
  }
  if (tls === undefined && insecureAmqp !== true) {
    throw new InvalidOptionError(
      `AMQP without TLS on ${host} lets everybody on the network read messages: give a certificate (tls; --tls-cert and --tls-key), ` +
        `or, in a network that you trust, allow it (insecureAmqp; --insecure-amqp)`,
    )
  }
}
