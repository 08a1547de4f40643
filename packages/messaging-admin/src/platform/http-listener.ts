import assert from 'node:assert/strict'
import { once } from 'node:events'
import {
  createServer,
  type IncomingMessage,
  type Server,
  type ServerOptions,
  type ServerResponse,
} from 'node:http'
import { createServer as createTlsServer, type Server as TlsServer } from 'node:https'
import { AddressUnavailableError } from '@tidemark/contracts'
import { reachableHost, bracketedHost } from '@tidemark/contracts/internal'

/** A response, without the headers that every one has. */
export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

export interface HttpListenerOptions {
  readonly host: string
  readonly port: number
  readonly tls: { readonly cert: string; readonly key: string } | undefined
  readonly answer: (incoming: IncomingMessage) => Promise<Answer>
}

/** A listening socket and its connections. */
export interface HttpListener {
  /** For clients on this machine, with a slash at its end. */
  readonly endpoint: string
  /** As the system says it. */
  readonly address: string
  readonly port: number
  /** Accepts no more connections. Resolves when the open ones have had their answers, or after `timeoutMs`. */
  close(timeoutMs: number): Promise<void>
}

/** Few clients, few calls: these only end what floods, or hangs. */
const MAX_CONNECTIONS = 1_000
const SILENCE_TIMEOUT_MS = 120_000
const LIMITS = {
  maxHeaderSize: 16 * 1024,
  headersTimeout: 10_000,
  requestTimeout: 60_000,
  keepAliveTimeout: 65_000,
  connectionsCheckingInterval: 1_000,
} satisfies ServerOptions

/** Rejects with ERR_ADDRESS_UNAVAILABLE. */
export async function openHttpListener(options: HttpListenerOptions): Promise<HttpListener> {
  const { host, port, tls, answer } = options
  const served = new Set<ServerResponse>()
  const onRequest = (incoming: IncomingMessage, outgoing: ServerResponse): void => {
    served.add(outgoing)
    outgoing.once('close', () => served.delete(outgoing))
    answer(incoming)
      .then((given) => sendAnswer({ incoming, outgoing }, given, { isLast: !server.listening }))
      .catch(() => outgoing.destroy())
  }
  const server =
    tls === undefined
      ? createServer(LIMITS, onRequest)
      : createTlsServer({ ...LIMITS, ...tls, handshakeTimeout: LIMITS.headersTimeout }, onRequest)
  server.maxConnections = MAX_CONNECTIONS
  server.setTimeout(SILENCE_TIMEOUT_MS)
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
    close: (timeoutMs) => closeServer(server, { served, timeoutMs }),
  }
}

function sendAnswer(
  { incoming, outgoing }: { readonly incoming: IncomingMessage; readonly outgoing: ServerResponse },
  { status, headers, body }: Answer,
  { isLast }: { readonly isLast: boolean },
): void {
  // What is left of a body that was not read would be taken for the next request.
  const isUnread = !incoming.complete
  outgoing.writeHead(status, {
    ...headers,
    'content-length': Buffer.byteLength(body),
    ...(isUnread || isLast ? { connection: 'close' } : {}),
  })
  outgoing.end(body)
}

async function closeServer(
  server: Server | TlsServer,
  {
    served,
    timeoutMs,
  }: { readonly served: ReadonlySet<ServerResponse>; readonly timeoutMs: number },
): Promise<void> {
  const closed = once(server, 'close')
  server.close()
  const answered = Promise.allSettled([...served].map((outgoing) => once(outgoing, 'close')))
  const timer = setTimeout(() => server.closeAllConnections(), timeoutMs)
  try {
    await Promise.race([answered, closed])
    // What is left has asked for nothing, and may never do so.
    server.closeAllConnections()
    await closed
  } finally {
    clearTimeout(timer)
  }
}
