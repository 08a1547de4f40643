import type { ClientConnection } from '../connections/client-connection.ts'

/**
 * The connections of a front. A client that has not shown a key yet is a stranger: when there is no room, the oldest
 * stranger gives way, so that clients without a key cannot keep others out.
 */
export class Connections {
  readonly #max: number
  readonly #all = new Set<ClientConnection>()

  constructor(max: number) {
    this.#max = max
  }

  get all(): ReadonlySet<ClientConnection> {
    return this.#all
  }

  /** False: there is no room. */
  makeRoom(): boolean {
    if (this.#all.size < this.#max) return true
    for (const connection of this.#all) {
      if (connection.isKnown) continue
      connection.destroy()
      return true
    }
    return false
  }

  add(connection: ClientConnection): void {
    this.#all.add(connection)
  }

  remove(connection: ClientConnection): void {
    this.#all.delete(connection)
  }
}
