import { MAX_SESSIONS, type ClientConnection } from '../connections/client-connection.ts'

/** Sessions that strangers may begin, together: clients for Java begin one for each entity before they show a token. */
const STRANGERS_SESSIONS = 64_000
/** A client needs one or two to show a token. */
const LEAST_SESSIONS = 16

/**
 * The connections of a front. A client that has not shown a key yet is a stranger: when there is no room, a stranger gives way, the
 * oldest of the address that has the most of them. So clients without a key cannot keep others out.
 */
export class Connections {
  readonly #max: number
  /** With the addresses of the clients, the oldest first. */
  readonly #all = new Map<ClientConnection, string>()
  readonly #strangers = new Set<ClientConnection>()

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
    this.#strangers.add(connection)
  }

  /** It has shown a key. */
  know(connection: ClientConnection): void {
    this.#strangers.delete(connection)
  }

  remove(connection: ClientConnection): void {
    this.#all.delete(connection)
    this.#strangers.delete(connection)
  }

  /** Most sessions of each stranger: as many as were announced, unless there are many strangers. */
  strangerSessions(): number {
    const share = Math.floor(STRANGERS_SESSIONS / Math.max(1, this.#strangers.size))
    return Math.min(MAX_SESSIONS, Math.max(LEAST_SESSIONS, share))
  }

  #strangerToLeave(): ClientConnection | undefined {
    const strangers = Map.groupBy(this.#strangers, (one) => this.#all.get(one))
    let most: readonly ClientConnection[] = []
    for (const group of strangers.values()) if (group.length > most.length) most = group
    return most[0]
  }
}
