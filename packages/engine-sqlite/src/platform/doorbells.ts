import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { createConnection, createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Longest path of a unix socket on Linux is 107 bytes, on macOS 103. */
const MAX_SOCKET_PATH = 100
const ONE_BYTE = Buffer.from([1])
/** Endings of the folder's entries: a socket, or a file that says where the socket is. */
const SOCKET = '.sock'
const ELSEWHERE = '.path'

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

  /** `folder` has one entry a process; `id` names this one's and is unique. */
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
      await this.#listen()
      // After its own entry is there: of two processes that start together, at least one sees the other.
      for (const name of await readdir(this.#folder)) {
        if (!name.startsWith(this.#id)) await this.#connect(name)
      }
    } catch {
      // A folder or system without sockets: the poll does it.
    }
  }

  /** How many connections to other processes there are. */
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
    for (const entry of [SOCKET, ELSEWHERE]) {
      await rm(join(this.#folder, `${this.#id}${entry}`), { force: true }).catch(() => undefined)
    }
  }

  /** The entry of this process appears when it can be connected to, not before: see `#connect`. */
  async #listen(): Promise<void> {
    const entry = join(this.#folder, this.#id)
    const onPeer = (peer: Socket): void => this.#adopt(peer)
    if (process.platform !== 'win32' && Buffer.byteLength(`${entry}.new`) <= MAX_SOCKET_PATH) {
      this.#server = await listen(`${entry}.new`, onPeer)
      await rename(`${entry}.new`, `${entry}${SOCKET}`)
      return
    }
    const name = `tidemark-${this.#id}`
    const path = process.platform === 'win32' ? `\\\\.\\pipe\\${name}` : join(tmpdir(), name)
    this.#server = await listen(path, onPeer)
    await writeFile(`${entry}.new`, path)
    await rename(`${entry}.new`, `${entry}${ELSEWHERE}`)
  }

  async #connect(name: string): Promise<void> {
    const entry = join(this.#folder, name)
    let path = entry
    try {
      if (name.endsWith(ELSEWHERE)) path = await readFile(entry, 'utf8')
      else if (!name.endsWith(SOCKET)) return
      this.#adopt(await connected(path))
    } catch (error) {
      if (!isGone(error)) return
      // Nobody listens there any more: its process was killed.
      await rm(entry, { force: true }).catch(() => undefined)
      if (path !== entry) await rm(path, { force: true }).catch(() => undefined)
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

function isGone(error: unknown): boolean {
  if (!(error instanceof Error) || !('code' in error)) return false
  return error.code === 'ECONNREFUSED' || error.code === 'ENOENT'
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
