import { STATUS_CODES, type IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { isLoopbackOrigin } from '@tidemark/contracts/internal'
import { resourcePath } from '@tidemark/messaging/front'
import { createWebSocketStream, WebSocketServer } from 'ws'

/** A request for a WebSocket, as Node's HTTP server tells of it. */
export interface UpgradeRequest {
  readonly request: IncomingMessage
  readonly stream: Duplex
  /** What the client has sent after the request. */
  readonly head: Buffer
  /** Is called when the client has shown a key: the HTTP server may take it for a stranger until then. @default nothing */
  readonly onKnown?: (() => void) | undefined
}

export interface WebSocketDoorOptions {
  /** Takes a client that speaks AMQP. */
  readonly accept: (
    stream: Duplex,
    client: { readonly address: string; readonly onKnown: (() => void) | undefined },
  ) => void
  /** Whether pages of this machine alone may connect: a browser would tell a page of any other what is in the queues. */
  readonly isForLoopbackOnly: () => boolean
}

/** Where the clients of Service Bus connect. */
const PATH = '/$servicebus/websocket'
/** The first that a client offers is taken: .NET, Java and Go offer `amqp` (AMQP over WebSockets, section 2.1). */
const PROTOCOLS: ReadonlySet<string> = new Set(['AMQPWSB10', 'amqp'])
/** Clients send a frame, which is 64 KiB at most, or some small ones, in a message. */
const MAX_MESSAGE_BYTES = 1024 * 1024

interface Refusal {
  readonly status: number
  readonly message: string
}

/** For an HTTP server that gets requests for WebSockets: those of clients of Service Bus become connections of the AMQP server. */
export function webSocketDoor({
  accept,
  isForLoopbackOnly,
}: WebSocketDoorOptions): (upgrade: UpgradeRequest) => void {
  const server = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    maxPayload: MAX_MESSAGE_BYTES,
    handleProtocols: (offered) => [...offered].find((one) => PROTOCOLS.has(one)) ?? false,
  })
  return ({ request, stream, head, onKnown }) => {
    const refusal = refusalOf(request, { isForLoopbackOnly: isForLoopbackOnly() })
    if (refusal !== undefined) {
      refuse(stream, refusal)
      return
    }
    const address = request.socket.remoteAddress ?? ''
    server.handleUpgrade(request, stream, head, (socket) => {
      const duplex = createWebSocketStream(socket)
      // What is not AMQP, or not a WebSocket, ends the connection; there is nobody to tell.
      duplex.on('error', () => duplex.destroy())
      accept(duplex, { address, onKnown })
    })
  }
}

function refusalOf(
  { url = '/', headers }: IncomingMessage,
  { isForLoopbackOnly }: { readonly isForLoopbackOnly: boolean },
): Refusal | undefined {
  if (pathOf(url) !== PATH) {
    return { status: 404, message: `There are WebSockets at ${PATH} only.` }
  }
  const { origin, 'sec-websocket-protocol': offered = '' } = headers
  if (isForLoopbackOnly && origin !== undefined && !isLoopbackOrigin(origin)) {
    return {
      status: 403,
      message: 'The emulator’s key is accepted, so pages of this machine only.',
    }
  }
  if (!offered.split(',').some((protocol) => PROTOCOLS.has(protocol.trim()))) {
    const message = `The client must offer the sub-protocol ${[...PROTOCOLS].join(' or ')}.`
    return { status: 400, message }
  }
  return undefined
}

/** Java writes the whole address (RFC 9112, section 3.2.2), and .NET a slash at the end. */
function pathOf(url: string): string {
  return `/${resourcePath(url)}`
}

function refuse(stream: Duplex, { status, message }: Refusal): void {
  const reason = STATUS_CODES[status] ?? ''
  const body = JSON.stringify({ code: reason.replaceAll(' ', ''), message })
  stream.end(
    `HTTP/1.1 ${status} ${reason}\r\nconnection: close\r\ncontent-type: application/json\r\n` +
      `content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
    () => stream.destroy(),
  )
}
