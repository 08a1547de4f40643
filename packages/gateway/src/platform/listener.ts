import assert from 'node:assert/strict'
import { once } from 'node:events'
import {
  createServer,
  STATUS_CODES,
  type IncomingMessage,
  type Server,
  type ServerOptions,
  type ServerResponse,
} from 'node:http'
import { createServer as createTlsServer, type Server as TlsServer } from 'node:https'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { AddressUnavailableError } from '@tidemark/contracts'
import {
  bracketedHost,
  option,
  optionGroup,
  optionRule,
  optionWhole,
  reachableHost,
  requiredOption,
  type OptionRules,
} from '@tidemark/contracts/internal'
import { Connections, shareOf } from './connections.ts'
import { asksForWebSocket, handOverUpgrades, type UpgradeRequest } from './upgrades.ts'

export interface ListenOptions {
  /** Address to listen at. @default '127.0.0.1' */
  readonly host?: string | undefined
  /** 0 = any free port. @unit port @range 0 to 65_535 @default 8081 (the emulator's) */
  readonly port?: number | undefined
  /** Serves https. @default plain http */
  readonly tls?: { readonly cert: string; readonly key: string } | undefined
  /** All headers of a request together, in bytes. @range 1 to 2_147_483_647 @default 32 KiB */
  readonly maxHeaderBytes?: number | undefined
  /**
   * Maximum number of connections; more are closed. A new connection replaces one that has had no authorized request
   * yet.
   * @range 1 to 2_147_483_647 @default 10_000
   */
  readonly maxConnections?: number | undefined
  /**
   * Maximum number of unanswered requests of one connection; a client that sends more is disconnected. HTTP/1.1
   * clients rarely send more than one.
   * @range 1 to 2_147_483_647 @default 32
   */
  readonly maxPipelinedRequests?: number | undefined
  /**
   * Time for all headers of a request, in ms; for the first request, it starts with the connection. Protects against
   * clients that send nothing, or one byte at a time.
   * @range 0 to 2_147_483_647; 0: no limit @default 10_000
   */
  readonly headersTimeoutMs?: number | undefined
  /** Time for a whole request to arrive, in ms. @range 0 to 2_147_483_647; 0: no limit @default 60_000 */
  readonly receiveTimeoutMs?: number | undefined
  /**
   * How long a connection is kept after a response, in ms. After an unauthorized request, it is closed with the
   * response.
   * @range 0 to 2_147_483_647; 0: no limit @default 65_000 (longer than a client's own 60 s)
   */
  readonly keepAliveTimeoutMs?: number | undefined
  /**
   * A connection without traffic for this long is closed, in ms. Protects against clients that do not read their
   * responses. Keep it above the gateway's `requestTimeoutMs`.
   * @range 0 to 2_147_483_647; 0: no limit @default 120_000
   */
  readonly silenceTimeoutMs?: number | undefined
  /**
   * Gets requests for a WebSocket, and answers them. Their connections count, and are strangers' until it calls `onKnown`.
   * What it throws ends the connection. On Node before 22.21 it gets requests for every other protocol, too.
   * @default a request is served as if it did not ask for another protocol
   */
  readonly onUpgrade?: ((upgrade: UpgradeRequest) => void) | undefined
}

const pem = requiredOption({
  ...optionRule('PEM text', (value) => typeof value === 'string' || value instanceof Uint8Array),
  secret: true,
})

/** Longer timers fire at once. */
export const MAX_TIMER_MS = 2_147_483_647

export const listenRules: OptionRules<ListenOptions> = {
  host: option.text,
  port: optionWhole(0, 65_535),
  tls: optionGroup<NonNullable<ListenOptions['tls']>>({ cert: pem, key: pem }),
  maxHeaderBytes: optionWhole(1, MAX_TIMER_MS),
  maxConnections: optionWhole(1, MAX_TIMER_MS),
  maxPipelinedRequests: optionWhole(1, MAX_TIMER_MS),
  headersTimeoutMs: optionWhole(0, MAX_TIMER_MS),
  receiveTimeoutMs: optionWhole(0, MAX_TIMER_MS),
  keepAliveTimeoutMs: optionWhole(0, MAX_TIMER_MS),
  silenceTimeoutMs: optionWhole(0, MAX_TIMER_MS),
  onUpgrade: option.function,
}

/** A listening socket and its connections. */
export interface Listener {
  /** For clients on this machine. */
  readonly endpoint: string
  /** As the system reports it. */
  readonly address: string
  readonly port: number
  /** Stops listening, waits for `drain` up to `timeoutMs`, then aborts, until no connection is left. */
  close(how: {
    drain: () => Promise<void>
    abort: () => void
    readonly timeoutMs: number
  }): Promise<void>
}

const DEFAULT_PORT = 8081
/** How often Node checks for connections that exceed their time limits. */
const CHECK_INTERVAL_MS = 1000
/** Time for responses after an abort. */
const LAST_WORDS_MS = 500

/** Rejects with the system's error if it cannot listen at the address. */
export async function openListener(
  gateway: {
    serve(
      incoming: IncomingMessage,
      outgoing: ServerResponse,
      told: { readonly onAuthorized: (readOnlyKey: object | undefined) => void },
    ): Promise<void>
  },
  options: ListenOptions & { readonly host: string; readonly clientShare: number },
): Promise<Listener> {
  const { host, port = DEFAULT_PORT, tls, maxConnections = 10_000 } = options
  const connections = new Connections({
    maxConnections,
    maxConnectionsOfOne: shareOf(maxConnections, options.clientShare),
    maxPipelinedRequests: options.maxPipelinedRequests ?? 32,
  })
  const onRequest = (incoming: IncomingMessage, outgoing: ServerResponse): void => {
    const { socket } = incoming
    if (!connections.begin(socket, outgoing)) return
    const { host: name, expect } = incoming.headers
    // Node would refuse these itself, without a word that a client could read.
    if (name === undefined && incoming.httpVersion === '1.1') {
      refuse(outgoing, { status: 400, message: 'The request has no host header.' })
      return
    }
    if (expect !== undefined && expect.toLowerCase() !== '100-continue') {
      refuse(outgoing, { status: 417, message: 'The header expect asks for what is not known.' })
      return
    }
    const onAuthorized = (readOnlyKey: object | undefined): void =>
      connections.know(socket, readOnlyKey)
    gateway.serve(incoming, outgoing, { onAuthorized }).catch(() => outgoing.destroy())
  }
  const limits = serverOptions(options)
  const server =
    tls === undefined
      ? createServer(limits, onRequest)
      : createTlsServer({ ...limits, ...tls, handshakeTimeout: limits.headersTimeout }, onRequest)
  server.on('connection', (socket: Socket) => connections.admit(socket))
  server.setTimeout(options.silenceTimeoutMs ?? 120_000)
  server.on('clientError', answerClientError)
  server.on('checkExpectation', onRequest)
  const upgraded = handOverUpgrades(server, { connections, onUpgrade: options.onUpgrade })
  server.listen(port, host)
  try {
    await once(server, 'listening')
  } catch (cause) {
    throw new AddressUnavailableError({ host, port }, cause)
  }
  const bound = server.address()
  // A text where it listens on a socket of the file system, which it never does.
  assert(typeof bound === 'object' && bound !== null)
  return {
    endpoint: `${tls === undefined ? 'http' : 'https'}://${reachableHost(host)}:${bound.port}/`,
    address: `${bracketedHost(bound.address)}:${bound.port}`,
    port: bound.port,
    close: (how) => closeServer(server, { ...how, upgraded }),
  }
}

function serverOptions(options: ListenOptions) {
  const { maxHeaderBytes = 32 * 1024, headersTimeoutMs = 10_000 } = options
  const { receiveTimeoutMs = 60_000, keepAliveTimeoutMs = 65_000, onUpgrade } = options
  return {
    maxHeaderSize: maxHeaderBytes,
    headersTimeout: Math.min(headersTimeoutMs, receiveTimeoutMs),
    requestTimeout: receiveTimeoutMs,
    keepAliveTimeout: keepAliveTimeoutMs,
    connectionsCheckingInterval: CHECK_INTERVAL_MS,
    noDelay: true,
    requireHostHeader: false,
    ...(onUpgrade !== undefined && { shouldUpgradeCallback: asksForWebSocket }),
  } satisfies ServerOptions
}

async function closeServer(
  server: Server | TlsServer,
  {
    drain,
    abort,
    timeoutMs,
    upgraded,
  }: Parameters<Listener['close']>[0] & { readonly upgraded: ReadonlySet<Duplex> },
): Promise<void> {
  const closed = once(server, 'close')
  server.close()
  const isDrained = drain()
  server.closeIdleConnections()
  await within(isDrained, timeoutMs)
  abort()
  await within(isDrained, LAST_WORDS_MS)
  server.closeIdleConnections()
  await within(closed, LAST_WORDS_MS)
  server.closeAllConnections()
  for (const stream of upgraded) stream.destroy()
  await closed
}

/** Resolves when the promise does, or when the time is over. */
async function within(promise: Promise<unknown>, timeoutMs: number): Promise<void> {
  const { promise: over, resolve } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, timeoutMs)
  try {
    await Promise.race([promise, over])
  } finally {
    clearTimeout(timer)
  }
}

/** Answers with JSON, and reads nothing more of this connection. */
function refuse(
  outgoing: ServerResponse,
  { status, message }: { readonly status: number; readonly message: string },
): void {
  outgoing.statusCode = status
  outgoing.setHeader('content-type', 'application/json')
  outgoing.setHeader('connection', 'close')
  const code = (STATUS_CODES[status] ?? '').replaceAll(' ', '')
  outgoing.end(JSON.stringify({ code, message }))
}

/** What Node itself cannot read is answered as JSON, too, where the connection still takes it. */
function answerClientError(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  const [status, reason] =
    error.code === 'HPE_HEADER_OVERFLOW'
      ? [431, 'Request Header Fields Too Large']
      : error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
        ? [408, 'Request Timeout']
        : [400, 'Bad Request']
  const body = JSON.stringify({ code: reason.replaceAll(' ', ''), message: `${reason}.` })
  socket.end(
    `HTTP/1.1 ${status} ${reason}\r\nconnection: close\r\ncontent-type: application/json\r\n` +
      `content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
    () => socket.destroy(),
  )
}
