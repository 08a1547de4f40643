import { once } from 'node:events'
import { connect, createServer, type Server, type Socket } from 'node:net'

/** Rings a reader in another process: one byte over a unix socket. */
export class Doorbell implements Disposable {
  readonly #socket: Socket

  private constructor(socket: Socket) {
    this.#socket = socket
  }

  static async connect(path: string): Promise<Doorbell> {
    const socket = connect(path)
    await once(socket, 'connect')
    return new Doorbell(socket)
  }

  ring(): void {
    this.#socket.write('!')
  }

  [Symbol.dispose](): void {
    this.#socket.destroy()
  }
}

/** Calls back for every chunk of rings that arrives. */
export async function listenForRings(path: string, onRing: () => void): Promise<Server> {
  const server = createServer((socket) => socket.on('data', onRing))
  server.listen(path)
  await once(server, 'listening')
  return server
}
