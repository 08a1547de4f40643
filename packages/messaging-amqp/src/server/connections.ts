import type { ClientConnection } from '../connections/client-connection.ts'

/**
 * The connections of a front. A client that has not shown a key yet is a stranger: when there is no room, a stranger gives way, the
 * oldest of the address that has the most of them. So clients without a key cannot keep others out.
 */
export class Connections {
  readonly #max: number
  /** With the addresses of the clients, the oldest first. */
  readonly #all = new Map<ClientConnection, string>()

  constructor(max: number) {
    this.#max = max
  }

  get all(): readonly ClientConnection[] {
    return [...this.#all.keys()]
  }

  /** False: there is no room. */
  makeRoom(): boolean {
    if (this.#all.size < this.#max) return true
    const leaving = this.#strangerToLeave()
    leaving?.destroy()
    return leaving !== undefined
  }

  add(connection: ClientConnection, address: string): void {
    this.#all.set(connection, address)
  }

  remove(connection: ClientConnection): void {
    this.#all.delete(connection)
  }

  #strangerToLeave(): ClientConnection | undefined {
    const strangers = Map.groupBy(
      this.all.filter(({ isKnown }) => !isKnown),
      (connection) => this.#all.get(connection),
    )
    let most: readonly ClientConnection[] = []
    for (const group of strangers.values()) if (group.length > most.length) most = group
    return most[0]
  }
}
