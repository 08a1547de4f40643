import type { Socket } from 'node:net'
import { clientAddress } from './client-address.ts'

export interface ConnectionLimits {
  readonly maxConnections: number
  readonly maxConnectionsOfOne: number
  readonly maxPipelinedRequests: number
}

interface Connection {
  readonly socket: Socket
  readonly client: string
  /** Those that are not answered yet. */
  requests: number
}

/**
 * The connections of a listener. Those of which no request was authorized yet are strangers: where there is no room for
 * another connection, the stranger that came first gives way, so that nobody without a key can keep others out.
 */
export class Connections {
  readonly #limits: ConnectionLimits
  readonly #all = new Map<string, Connection>()
  /** The first to come is the first in the set. */
  readonly #strangers = new Set<Connection>()
  readonly #countOf = new Map<string, number>()

  constructor(limits: ConnectionLimits) {
    this.#limits = limits
  }

  /** Takes a new connection, or closes it. */
  admit(socket: Socket): void {
    const connection = { socket, client: clientAddress(socket.remoteAddress), requests: 0 }
    const { client } = connection
    const { maxConnections, maxConnectionsOfOne } = this.#limits
    const count = this.#countOf.get(client) ?? 0
    const isShareTaken = count >= maxConnectionsOfOne && !this.#dropStranger(client)
    const isFull = isShareTaken || (this.#all.size >= maxConnections && !this.#dropStranger())
    // Without a port: it is gone again.
    if (isFull || socket.remotePort === undefined) {
      socket.destroy()
      return
    }
    const id = idOf(socket)
    this.#all.set(id, connection)
    this.#strangers.add(connection)
    this.#countOf.set(client, (this.#countOf.get(client) ?? 0) + 1)
    socket.once('close', () => this.#forget(id, connection))
  }

  /** A request of that connection was authorized. */
  know(socket: Socket): void {
    const connection = this.#all.get(idOf(socket))
    if (connection !== undefined) this.#strangers.delete(connection)
  }

  /**
   * Counts a request until its answer has gone. False, and the connection is closed, when its client has sent too many
   * without waiting for answers: they would be served all at once, and their answers kept until the first one has gone.
   */
  begin(socket: Socket, answer: { once(event: 'close', listener: () => void): unknown }): boolean {
    const connection = this.#all.get(idOf(socket))
    if (connection === undefined) return false
    if (connection.requests >= this.#limits.maxPipelinedRequests) {
      connection.socket.destroy()
      return false
    }
    connection.requests++
    answer.once('close', () => connection.requests--)
    return true
  }

  #dropStranger(client?: string): boolean {
    for (const connection of this.#strangers) {
      if (client !== undefined && connection.client !== client) continue
      this.#forget(idOf(connection.socket), connection)
      connection.socket.destroy()
      return true
    }
    return false
  }

  #forget(id: string, connection: Connection): void {
    if (this.#all.get(id) !== connection) return
    this.#all.delete(id)
    this.#strangers.delete(connection)
    const { client } = connection
    const left = (this.#countOf.get(client) ?? 0) - 1
    if (left > 0) this.#countOf.set(client, left)
    else this.#countOf.delete(client)
  }
}

/** With TLS a request's socket is another object than the connection's; their far ends are the same. */
function idOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`
}

/** What of a limit one client may have: at least 1. */
export function shareOf(limit: number, share: number): number {
  return Math.max(1, Math.floor(limit * share))
}
