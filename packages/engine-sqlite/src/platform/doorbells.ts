import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { createConnection, createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Longest path of a unix socket on Linux is 107 bytes, on macOS 103. */
const MAX_SOCKET_PATH = 100
const ONE_BYTE = Buffer.from([1])

/**
 * Tells the other processes that have the same folder open that something was committed: a byte over
 * unix sockets, every process connected with every other. Only a hint that saves waiting for the next
 * poll: a doorbell that cannot be set up, or a byte that is lost, costs milliseconds.
 */
export class Doorbells {
  readonly #folder: string
  readonly #id: string
  readonly #onRing: () => void
  readonly #peers = new Set<Socket>()
  #server: Server | undefined
  #status: 'new' | 'open' | 'closed' = 'new'

  /** `folder` holds one file a process; `id` is this one's, unique. */
  constructor(
    folder: string,
    { id, onRing }: { readonly id: string; readonly onRing: () => void },
  ) {
    this.#folder = folder
    this.#id = id
    this.#onRing = onRing
  }

  /** Never rejects: without doorbells readers poll. */
  async open(): Promise<void> {
    if (this.#status !== 'new') return
    this.#status = 'open'
    try {
      await mkdir(this.#folder, { recursive: true })
      const socketPath = this.#socketPath()
      this.#server = await listen(socketPath, (peer) => this.#adopt(peer))
      await writeFile(join(this.#folder, this.#id), socketPath)
      // After its own file is there: of two processes that start together, at least one sees the other.
      for (const name of await readdir(this.#folder)) {
        if (name !== this.#id && !name.endsWith('.sock')) await this.#connect(name)
      }
    } catch {
      // A folder or system without sockets: the poll does it.
    }
  }

  /** How many other processes are connected. */
  get peers(): number {
    return this.#peers.size
  }

  ring(): void {
    for (const peer of this.#peers) {
      // A peer that does not read its bytes has enough of them already.
      if (peer.writableLength === 0) peer.write(ONE_BYTE)
    }
  }

  async close(): Promise<void> {
    if (this.#status === 'closed') return
    this.#status = 'closed'
    for (const peer of this.#peers) peer.destroy()
    this.#peers.clear()
    const server = this.#server
    if (server !== undefined) await new Promise<void>((resolve) => server.close(() => resolve()))
    await rm(join(this.#folder, this.#id), { force: true }).catch(() => undefined)
  }

  #socketPath(): string {
    const inFolder = join(this.#folder, `${this.#id}.sock`)
    if (process.platform === 'win32') return `\\\\.\\pipe\\tidemark-${this.#id}`
    return Buffer.byteLength(inFolder) <= MAX_SOCKET_PATH
      ? inFolder
      : join(tmpdir(), `tidemark-${this.#id}.sock`)
  }

  async #connect(name: string): Promise<void> {
    const file = join(this.#folder, name)
    try {
      const socketPath = await readFile(file, 'utf8')
      // Written after its server listens, but not at once: an empty file is one that is being written.
      if (socketPath === '') return
      const socket = await connected(socketPath)
      this.#adopt(socket)
    } catch {
      // Its process is gone; so is its socket.
      await rm(file, { force: true }).catch(() => undefined)
      await rm(`${file}.sock`, { force: true }).catch(() => undefined)
    }
  }

  #adopt(peer: Socket): void {
    if (this.#status !== 'open') {
      peer.destroy()
      return
    }
    peer.unref()
    peer.setNoDelay(true)
    this.#peers.add(peer)
    peer.on('data', () => this.#onRing())
    peer.on('error', () => peer.destroy())
    peer.on('close', () => this.#peers.delete(peer))
  }
}

async function listen(path: string, onPeer: (peer: Socket) => void): Promise<Server> {
  const server = createServer(onPeer)
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(path, () => {
      server.off('error', reject)
      resolve()
    })
  })
  server.on('error', () => undefined)
  server.unref()
  return server
}

async function connected(path: string): Promise<Socket> {
  const socket = createConnection(path)
  return new Promise((resolve, reject) => {
    socket.once('connect', () => resolve(socket))
    socket.once('error', reject)
  })
}
