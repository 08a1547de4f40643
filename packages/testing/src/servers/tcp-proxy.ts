import { once } from 'node:events'
import { connect, createServer, type Server, type Socket } from 'node:net'

/** `toServer`: what clients send. `toClient`: what the server answers. */
export type ProxyDirection = 'toServer' | 'toClient'

/**
 * A TCP proxy on the loopback interface whose connections a test can cut: each direction for itself
 * and silently (a black hole), or by closing them.
 */
export class TcpProxy implements AsyncDisposable {
  readonly host = '127.0.0.1'
  readonly port: number
  readonly #server: Server
  #target: { readonly host: string; readonly port: number }
  readonly #sockets = new Set<Socket>()
  readonly #blocked = new Set<ProxyDirection>()
  #refusing = false
  #dropped = 0

  /** Use `startTcpProxy`. */
  constructor(server: Server, target: { host: string; port: number }) {
    const address = server.address()
    this.port = typeof address === 'object' && address !== null ? address.port : 0
    this.#server = server
    this.#target = target
    server.on('connection', (client) => this.#accept(client))
  }

  /** Bytes that were swallowed: shows that a fault happened. */
  get droppedBytes(): number {
    return this.#dropped
  }

  /** From now on swallows what goes that way. Connections stay open. @default both directions */
  block(...directions: readonly ProxyDirection[]): void {
    for (const direction of directions.length > 0 ? directions : BOTH) this.#blocked.add(direction)
  }

  /**
   * Lets data through again. A connection that lost bytes is closed first: half of a conversation
   * is not one, and a real network would have sent them again or reset it.
   */
  unblock(): void {
    if (this.#blocked.size === 0) return
    this.#blocked.clear()
    this.cut()
  }

  /** Resets all connections. New ones are accepted. */
  cut(): void {
    for (const socket of this.#sockets) socket.resetAndDestroy()
  }

  /** Resets all connections and every new one until `accept`. */
  refuse(): void {
    this.#refusing = true
    this.cut()
  }

  accept(): void {
    this.#refusing = false
  }

  /** As an address that moves to another server: new connections go there. Present ones stay where they are. */
  moveTo(target: { readonly host: string; readonly port: number }): void {
    this.#target = target
  }

  async stop(): Promise<void> {
    const closed = once(this.#server, 'close')
    this.#server.close()
    for (const socket of this.#sockets) socket.destroy()
    await closed
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop()
  }

  #accept(client: Socket): void {
    if (this.#refusing) {
      client.resetAndDestroy()
      return
    }
    const server = connect({ host: this.#target.host, port: this.#target.port })
    this.#pipe(client, server, 'toServer')
    this.#pipe(server, client, 'toClient')
  }

  #pipe(from: Socket, to: Socket, direction: ProxyDirection): void {
    this.#sockets.add(from)
    from.setNoDelay(true)
    from.on('data', (data: Buffer) => {
      if (this.#blocked.has(direction)) this.#dropped += data.length
      else to.write(data)
    })
    // The other side learns of the end only if its direction is open.
    from.on('end', () => {
      if (!this.#blocked.has(direction)) to.end()
    })
    from.on('error', () => {})
    from.on('close', () => {
      this.#sockets.delete(from)
      if (!this.#blocked.has(direction)) to.destroy()
    })
  }
}

const BOTH: readonly ProxyDirection[] = ['toServer', 'toClient']

/** A proxy to `target` on a free port. */
export async function startTcpProxy(target: { host: string; port: number }): Promise<TcpProxy> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  return new TcpProxy(server, target)
}
