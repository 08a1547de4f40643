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
import type { Duplex } from 'node:stream'
import { AddressUnavailableError } from '../errors/address-unavailable-error.ts'

export interface ListenOptions {
  /** @default '127.0.0.1' */
  readonly host?: string | undefined
  /** 0 = any free one. @default 8081 (the emulator's) */
  readonly port?: number | undefined
  /** Serves https. @default plain http */
  readonly tls?: { readonly cert: string; readonly key: string } | undefined
  /** All headers of a request together, in bytes. @default 32 KiB */
  readonly maxHeaderBytes?: number | undefined
  /** Connections at once; what comes above is closed. @default 10_000 */
  readonly maxConnections?: number | undefined
  /** Within this all headers must have come, in ms: against clients that send one byte at a time. @default 10_000 */
  readonly headersTimeoutMs?: number | undefined
  /** Within this a whole request must have come, in ms. @default 60_000 */
  readonly receiveTimeoutMs?: number | undefined
  /** How long an idle connection is kept, in ms. @default 65_000 (longer than a client's own 60 s) */
  readonly keepAliveTimeoutMs?: number | undefined
  /**
   * A connection on which nothing moved for so long is closed, in ms: against clients that do not take their answers.
   * Must be above the gateway's `requestTimeoutMs`. @default 120_000
   */
  readonly silenceTimeoutMs?: number | undefined
}

/** A socket that listens, and the connections that came of it. */
export interface Listener {
  readonly endpoint: string
  readonly port: number
  /** Stops listening; waits for `drain` up to `timeoutMs`, then aborts; at last no connection is left. */
  close(how: {
    drain: () => Promise<void>
    abort: () => void
    readonly timeoutMs: number
  }): Promise<void>
}

const DEFAULT_PORT = 8081
/** How often Node looks for connections that are over their time. */
const CHECK_INTERVAL_MS = 1000
/** After an abort the answers have so long to leave. */
const LAST_WORDS_MS = 500

/** Rejects with what the system says when the address cannot be had. */
export async function openListener(
  gateway: {
    serve(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void>
  },
  options: ListenOptions & { readonly host: string },
): Promise<Listener> {
  const { host, port = DEFAULT_PORT, tls, maxConnections = 10_000 } = options
  const onRequest = (incoming: IncomingMessage, outgoing: ServerResponse): void => {
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
    gateway.serve(incoming, outgoing).catch(() => outgoing.destroy())
  }
  const limits = serverOptions(options)
  const server =
    tls === undefined
      ? createServer(limits, onRequest)
      : createTlsServer({ ...limits, ...tls }, onRequest)
  server.maxConnections = maxConnections
  server.setTimeout(options.silenceTimeoutMs ?? 120_000)
  server.on('clientError', answerClientError)
  server.on('checkExpectation', onRequest)
  server.listen(port, host)
  try {
    await once(server, 'listening')
  } catch (cause) {
    throw new AddressUnavailableError({ host, port }, cause)
  }
  const address = server.address()
  const boundPort = typeof address === 'object' && address !== null ? address.port : port
  return {
    endpoint: `${tls === undefined ? 'http' : 'https'}://${shownHost(host)}:${boundPort}/`,
    port: boundPort,
    close: (how) => closeServer(server, how),
  }
}

function serverOptions(options: ListenOptions): ServerOptions {
  const { maxHeaderBytes = 32 * 1024, headersTimeoutMs = 10_000 } = options
  const { receiveTimeoutMs = 60_000, keepAliveTimeoutMs = 65_000 } = options
  return {
    maxHeaderSize: maxHeaderBytes,
    headersTimeout: Math.min(headersTimeoutMs, receiveTimeoutMs),
    requestTimeout: receiveTimeoutMs,
    keepAliveTimeout: keepAliveTimeoutMs,
    connectionsCheckingInterval: CHECK_INTERVAL_MS,
    noDelay: true,
    requireHostHeader: false,
  }
}

async function closeServer(
  server: Server | TlsServer,
  {
    drain,
    abort,
    timeoutMs,
  }: { drain: () => Promise<void>; abort: () => void; readonly timeoutMs: number },
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

function shownHost(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1'
  if (host === '::') return '[::1]'
  return host.includes(':') ? `[${host}]` : host
}
