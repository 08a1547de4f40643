import type { IncomingMessage, Server } from 'node:http'
import type { Server as TlsServer } from 'node:https'
import type { Duplex } from 'node:stream'
import type { Connections } from './connections.ts'

/** A request for another protocol on its connection. */
export interface UpgradeRequest {
  readonly request: IncomingMessage
  /** The connection. Whoever gets it answers on it and ends it; the gateway ends what is left when it stops. */
  readonly stream: Duplex
  /** What the client has sent after the request. */
  readonly head: Buffer
  /** The client has shown a key there: its connection gives way to no other any more. */
  readonly onKnown: () => void
}

/** Some clients offer HTTP/2 (`h2c`) with every request: those requests are served as they are. */
export function asksForWebSocket({ headers }: IncomingMessage): boolean {
  return headers.upgrade?.trim().toLowerCase() === 'websocket'
}

/** Returns the connections that were handed over and are open. */
export function handOverUpgrades(
  server: Server | TlsServer,
  {
    connections,
    onUpgrade,
  }: {
    readonly connections: Connections
    readonly onUpgrade: ((upgrade: UpgradeRequest) => void) | undefined
  },
): ReadonlySet<Duplex> {
  const upgraded = new Set<Duplex>()
  if (onUpgrade === undefined) return upgraded
  server.on('upgrade', (request: IncomingMessage, stream: Duplex, head: Buffer) => {
    // Node has removed its own listener.
    stream.on('error', () => stream.destroy())
    if (!connections.begin(request.socket, stream)) {
      stream.destroy()
      return
    }
    upgraded.add(stream)
    stream.once('close', () => upgraded.delete(stream))
    try {
      const onKnown = (): void => connections.know(request.socket, undefined)
      onUpgrade({ request, stream, head, onKnown })
    } catch {
      stream.destroy()
    }
  })
  return upgraded
}
