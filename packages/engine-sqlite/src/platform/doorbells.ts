import { chmodSync, closeSync, constants, openSync } from 'node:fs'
import { lstat, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { createConnection, type Server, type Socket } from 'node:net'
import { join } from 'node:path'
import { FILE_MODE, type StoreAccess } from '../store-access.ts'
import { listenAt, makeSocketFolder } from './socket-folder.ts'

/** Longest path of a unix socket on Linux is 107 bytes, on macOS 103. */
const MAX_SOCKET_PATH = 100
const ONE_BYTE = Buffer.from([1])
/** The folder's entries, named after processes: sockets, or on Windows empty files that each stand for a pipe. */
const ENTRY = /^([0-9a-f]{16})\.(?:sock|pipe)$/
const ENDING = process.platform === 'win32' ? '.pipe' : '.sock'

/**
 * Signals commits to the other processes that have the same folder open: one byte over unix sockets, with every process
 * connected to every other. It is only a hint that saves the wait for the next poll: a doorbell that cannot be set up,
 * or a lost byte, costs milliseconds.
 *
 * Entries in the folder may come from anyone. The process connects to and removes only sockets with names of this form,
 * and nothing outside the folder.
 */
export class Doorbells {
  readonly #folder: string
  readonly #id: string
  readonly #access: StoreAccess
  readonly #onRing: () => void
  readonly #peers = new Set<Socket>()
  #server: Server | undefined
  /** The folder of the sockets: its path, or a short path to it while it is open here. */
  #place: string
  #openFolder: number | undefined
  #status: 'new' | 'open' | 'closed' = 'new'

  /** `folder` has one entry for each process. `id` names this one's: 16 hexadecimal digits, unique. */
  constructor(
    folder: string,
    {
      id,
      access,
      onRing,
    }: { readonly id: string; readonly access: StoreAccess; readonly onRing: () => void },
  ) {
    this.#folder = folder
    this.#place = folder
    this.#id = id
    this.#access = access
    this.#onRing = onRing
  }

  /** Never rejects: without doorbells, readers poll. */
  async open(): Promise<void> {
    if (this.#status !== 'new') return
    this.#status = 'open'
    try {
      await this.#makeFolder()
      await this.#listen()
      // After its own entry exists: of two processes that start together, at least one sees the other.
      for (const name of await readdir(this.#folder)) {
        const id = ENTRY.exec(name)?.[1]
        if (id !== undefined && id !== this.#id && name.endsWith(ENDING)) await this.#connect(id)
      }
    } catch {
      // A folder or system without sockets: the poll is enough.
    }
  }

  /** Number of connections to other processes. */
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
    if (server !== undefined) await this.#remove(this.#id)
    if (this.#openFolder !== undefined) closeSync(this.#openFolder)
  }

  async #makeFolder(): Promise<void> {
    await makeSocketFolder(this.#folder, this.#access)
    const longest = join(this.#folder, `${this.#id}${ENDING}`)
    if (process.platform === 'win32' || Buffer.byteLength(longest) <= MAX_SOCKET_PATH) return
    if (process.platform !== 'linux') throw new Error(`${longest} is too long for a socket`)
    const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW } = constants
    this.#openFolder = openSync(this.#folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
    this.#place = `/proc/self/fd/${this.#openFolder}`
  }

  /** The entry of this process appears when it accepts connections, not before: see `#connect`. */
  async #listen(): Promise<void> {
    const made = join(this.#place, `${this.#id}.new`)
    const onPeer = (peer: Socket): void => this.#adopt(peer)
    if (process.platform === 'win32') {
      this.#server = await listenAt(pipeOf(this.#id), onPeer)
      await writeFile(made, '')
    } else {
      this.#server = await listenAt(made, onPeer)
      chmodSync(made, FILE_MODE[this.#access])
    }
    await rename(made, join(this.#place, `${this.#id}${ENDING}`))
  }

  async #connect(id: string): Promise<void> {
    const entry = join(this.#place, `${id}${ENDING}`)
    const isPipe = process.platform === 'win32'
    try {
      const found = await lstat(entry)
      if (isPipe ? !found.isFile() : !found.isSocket()) return
      this.#adopt(await connected(isPipe ? pipeOf(id) : entry))
    } catch (error) {
      // It has no listener any more: its process was killed.
      if (isGone(error)) await this.#remove(id)
    }
  }

  async #remove(id: string): Promise<void> {
    await rm(join(this.#place, `${id}${ENDING}`), { force: true }).catch(() => undefined)
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

function pipeOf(id: string): string {
  return `\\\\.\\pipe\\tidemark-${id}`
}

async function connected(path: string): Promise<Socket> {
  const socket = createConnection(path)
  return new Promise((resolve, reject) => {
    socket.once('connect', () => resolve(socket))
    socket.once('error', reject)
  })
}
