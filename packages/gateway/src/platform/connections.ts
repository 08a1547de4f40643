import type { Socket } from 'node:net'
import { clientAddress } from './client-address.ts'

export interface ConnectionLimits {
  readonly maxConnections: number
  readonly maxConnectionsOfOne: number
  readonly maxPipelinedRequests: number
}

interface Connection {
  readonly socket: Socket
  readonly address: string
  /** The key that may only read of which a request was signed. */
  readOnlyKey: object | undefined
  /** Those that are not answered yet. */
  requests: number
}

/**
 * The connections of a listener. A connection without an authorized request so far is a stranger: if there is no room for
 * another connection, a stranger gives way, so that clients without a key cannot keep others out. The oldest one from the
 * same address goes first, so that a flood displaces itself; otherwise the oldest of all.
 */
export class Connections {
  readonly #limits: ConnectionLimits
  readonly #all = new Map<string, Connection>()
  /** The first to come is the first in the set. */
  readonly #strangers = new Set<Connection>()
  readonly #strangersOf = new Map<string, Set<Connection>>()
  /** By addresses and by keys. */
  readonly #countOf = new Map<unknown, number>()

  constructor(limits: ConnectionLimits) {
    this.#limits = limits
  }

  /** Takes a new connection, or closes it. */
  admit(socket: Socket): void {
    const address = clientAddress(socket.remoteAddress)
    // Without a port: it is gone again.
    if (socket.remotePort === undefined || !this.#makeRoom(address)) {
      socket.destroy()
      return
    }
    const id = idOf(socket)
    const connection: Connection = { socket, address, readOnlyKey: undefined, requests: 0 }
    this.#all.set(id, connection)
    this.#strangers.add(connection)
    const ofAddress = this.#strangersOf.get(address)
    if (ofAddress === undefined) this.#strangersOf.set(address, new Set([connection]))
    else ofAddress.add(connection)
    this.#count(address, 1)
    socket.once('close', () => this.#forget(id, connection))
  }

  /**
   * A request of that connection was authorized.
   *
   * @param readOnlyKey the key if it may only read: it has the share of one client, too, from whatever addresses, and the connection
   * is closed when it has that already
   */
  know(socket: Socket, readOnlyKey: object | undefined): void {
    const id = idOf(socket)
    const connection = this.#all.get(id)
    if (connection === undefined) return
    this.#noStranger(connection)
    if (readOnlyKey === undefined || connection.readOnlyKey !== undefined) return
    if (this.#hasShare(readOnlyKey)) {
      this.#forget(id, connection)
      connection.socket.destroy()
      return
    }
    connection.readOnlyKey = readOnlyKey
    this.#count(readOnlyKey, 1)
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

  #makeRoom(address: string): boolean {
    const isFull = this.#all.size >= this.#limits.maxConnections
    if (!isFull && !this.#hasShare(address)) return true
    const [ofAddress] = this.#strangersOf.get(address) ?? []
    const [first] = this.#hasShare(address) ? [] : this.#strangers
    const stranger = ofAddress ?? first
    if (stranger === undefined) return false
    this.#forget(idOf(stranger.socket), stranger)
    stranger.socket.destroy()
    return true
  }

  #forget(id: string, connection: Connection): void {
    if (this.#all.get(id) !== connection) return
    this.#all.delete(id)
    this.#noStranger(connection)
    this.#count(connection.address, -1)
    if (connection.readOnlyKey !== undefined) this.#count(connection.readOnlyKey, -1)
  }

  #noStranger(connection: Connection): void {
    this.#strangers.delete(connection)
    const ofAddress = this.#strangersOf.get(connection.address)
    ofAddress?.delete(connection)
    if (ofAddress?.size === 0) this.#strangersOf.delete(connection.address)
  }

  #hasShare(client: unknown): boolean {
    return (this.#countOf.get(client) ?? 0) >= this.#limits.maxConnectionsOfOne
  }

  #count(client: unknown, by: number): void {
    const count = (this.#countOf.get(client) ?? 0) + by
    if (count === 0) this.#countOf.delete(client)
    else this.#countOf.set(client, count)
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
