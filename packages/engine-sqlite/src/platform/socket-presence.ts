import {
  chmodSync,
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  rmSync,
  statfsSync,
} from 'node:fs'
import { readdir, rename, unlink } from 'node:fs/promises'
import { createConnection, type Server, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { AnnouncedPresence, Presence, Random } from '@tidemark/contracts'
import { errnoOf } from '../folder/link-into-place.ts'
import { FILE_MODE, type StoreAccess } from '../store-access.ts'
import { kernelBootId } from './boot-id.ts'
import { listenAt, makeSocketFolder } from './socket-folder.ts'

/**
 * File systems, by the magic numbers that `statfs` gives, that one kernel alone has mounted and where a file has one inode in its
 * memory, whatever path led there. Elsewhere a socket also refuses connections when the process that listens is on another machine,
 * or reached the file by another mount (overlay).
 */
const LOCAL_FILE_SYSTEMS: ReadonlySet<number> = new Set([
  0xef53, // ext2, ext3, ext4
  0x58465342, // XFS
  0x9123683e, // Btrfs
  0x01021994, // tmpfs
  0x2fc12fc1, // ZFS
  0xf2f52010, // F2FS
])

const ENTRY = /^[0-9a-f]{32}\.(?:sock|new)$/
/** How a connection ends or fails that says nothing yet. Whoever sees it connects again. */
const UNDECIDED: ReadonlySet<string | undefined> = new Set([
  'ended',
  // The process ended, or closed, before it had accepted the connection.
  'ECONNRESET',
  // More connections wait to be accepted than there is room for. So somebody listens.
  'EAGAIN',
  // The one that watches has no descriptor left.
  'EMFILE',
  'ENFILE',
])
const NAME_AND_INODE = /^([0-9a-f]{32})\.([0-9]{1,20})$/
/** Between two connections to one process: a dying one closes its connections and its socket one after the other. */
const RECONNECT_PAUSE_MS = 50
/** Until then those who watch a process that was killed have seen it. */
const REMOVE_AFTER_MS = 60_000
/** Entries that a start looks at: a crash loop leaves one each time, and none of its processes lives until they are removed. */
const LOOKS_AT = 1000

export interface SocketPresenceOptions {
  readonly access: StoreAccess
  readonly random: Random
  /** How long the sockets that killed processes left stay. @default 60_000 */
  readonly removeAfterMs?: number | undefined
  /** Types of file systems that are announced on. Tests set it. @default those that one kernel alone has */
  readonly fileSystems?: ReadonlySet<number> | undefined
}

/**
 * A process announces itself by a unix socket that it listens on, in a folder of the store. The system closes the socket when the
 * process has ended, all of its threads, however it ended, and not before: one that is stopped still has it. From then on
 * connections are refused. Process ids have no part in it.
 *
 * Entries in the folder may come from anyone. The process connects to and removes only sockets with names of its form, and nothing
 * outside the folder.
 */
export class SocketPresence implements Presence {
  readonly #folder: string
  readonly #options: SocketPresenceOptions

  constructor(folder: string, options: SocketPresenceOptions) {
    this.#folder = folder
    this.#options = options
  }

  async announce(): Promise<AnnouncedPresence | undefined> {
    const bootId = kernelBootId()
    if (process.platform !== 'linux' || bootId === undefined) return undefined
    let folder: number | undefined
    try {
      const { access, fileSystems = LOCAL_FILE_SYSTEMS } = this.#options
      await makeSocketFolder(this.#folder, access)
      const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW } = constants
      folder = openSync(this.#folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
      if (fileSystems.has(statfsSync(pathOf(folder)).type)) {
        const { dev, ino } = fstatSync(folder, { bigint: true })
        return await ListeningProcess.start(folder, `${bootId}.${dev}.${ino}`, this.#options)
      }
    } catch {
      // A folder without sockets: whoever waits for a death waits for the end of the session.
    }
    if (folder !== undefined) closeSync(folder)
    return undefined
  }
}

/** The folder as long as it is open here, whatever it is called, by a path that is never too long for a socket. */
function pathOf(folder: number): string {
  return `/proc/self/fd/${folder}`
}

class ListeningProcess implements AnnouncedPresence {
  readonly id: string
  readonly #folder: number
  readonly #place: string
  readonly #entry: string
  readonly #server: Server
  readonly #peers: ReadonlySet<Socket>
  readonly #closing = new AbortController()
  #closed: Promise<void> | undefined

  /** Rejects when it cannot listen; nothing is announced then, and the caller closes the folder. */
  static async start(
    folder: number,
    place: string,
    { access, random, removeAfterMs = REMOVE_AFTER_MS }: SocketPresenceOptions,
  ): Promise<ListeningProcess> {
    const dead = await deadEntries(folder)
    const name = random.hex(16)
    const entry = `${pathOf(folder)}/${name}.sock`
    const made = `${pathOf(folder)}/${name}.new`
    const peers = new Set<Socket>()
    const server = await listenAt(made, (peer) => adopt(peer, peers))
    try {
      chmodSync(made, FILE_MODE[access])
      const { ino } = lstatSync(made, { bigint: true })
      // Only now it has the name that it is watched by: what has that name has listened from the start.
      await rename(made, entry)
      const id = `${place}/${name}.${ino}`
      const listening = new ListeningProcess({ id, folder, place, entry, server, peers })
      void listening.#removeLater(dead, removeAfterMs)
      return listening
    } catch (error) {
      server.close()
      throw error
    }
  }

  private constructor(parts: {
    readonly id: string
    readonly folder: number
    readonly place: string
    readonly entry: string
    readonly server: Server
    readonly peers: ReadonlySet<Socket>
  }) {
    this.id = parts.id
    this.#folder = parts.folder
    this.#place = parts.place
    this.#entry = parts.entry
    this.#server = parts.server
    this.#peers = parts.peers
  }

  watch(id: string, onGone: () => void): () => void {
    const stop = new AbortController()
    const slash = id.indexOf('/')
    const [, name, ino] = NAME_AND_INODE.exec(id.slice(slash + 1)) ?? []
    if (id.slice(0, slash) === this.#place && name !== undefined && ino !== undefined) {
      const entry = `${pathOf(this.#folder)}/${name}.sock`
      const signal = AbortSignal.any([stop.signal, this.#closing.signal])
      void untilDead(entry, BigInt(ino), signal).then((isDead) => {
        if (isDead && !signal.aborted) onGone()
      })
    }
    return () => stop.abort()
  }

  close(): Promise<void> {
    this.#closed ??= this.#close()
    return this.#closed
  }

  async #close(): Promise<void> {
    this.#closing.abort()
    try {
      await unlink(this.#entry)
    } catch (error) {
      // A socket that is still there must not refuse while this process lives: the system closes it in the end.
      if (errnoOf(error) !== 'ENOENT') return
    }
    for (const peer of this.#peers) peer.destroy()
    await new Promise<void>((resolve) => this.#server.close(() => resolve()))
    closeSync(this.#folder)
  }

  /** What was dead when this process came. Whoever died later is for others to see first. */
  async #removeLater(dead: readonly string[], afterMs: number): Promise<void> {
    try {
      await sleep(afterMs, undefined, { signal: this.#closing.signal, ref: false })
      for (const entry of dead) rmSync(entry, { force: true })
    } catch {
      // Closed, or not permitted: the next one that comes does it.
    }
  }
}

function adopt(peer: Socket, peers: Set<Socket>): void {
  peers.add(peer)
  peer.unref()
  // Nothing is ever said; without reading its end would not be noticed.
  peer.resume()
  peer.on('error', () => undefined)
  peer.on('close', () => peers.delete(peer))
}

async function deadEntries(folder: number): Promise<readonly string[]> {
  const dead: string[] = []
  for (const name of (await readdir(pathOf(folder))).slice(0, LOOKS_AT)) {
    const entry = `${pathOf(folder)}/${name}`
    if (!ENTRY.test(name) || !lstatSync(entry, { throwIfNoEntry: false })?.isSocket()) continue
    if (await refuses(entry)) dead.push(entry)
  }
  return dead
}

function refuses(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection(path)
    socket.once('connect', () => {
      socket.destroy()
      resolve(false)
    })
    socket.once('error', (error) => resolve(errnoOf(error) === 'ECONNREFUSED'))
  })
}

/**
 * Resolves to true when the process that listened on the socket is dead, to false when it cannot be known, or when `signal` aborts.
 * Holds a connection as long as the process lives.
 */
async function untilDead(entry: string, ino: bigint, signal: AbortSignal): Promise<boolean> {
  while (!signal.aborted) {
    const end = await connectionEnd(entry, signal)
    if (signal.aborted) return false
    // Looked at afterwards: a process that closes its socket removes the entry before.
    if (end === 'ECONNREFUSED') return isSameSocket(entry, ino)
    if (!UNDECIDED.has(end)) return false
    await sleep(RECONNECT_PAUSE_MS, undefined, { signal, ref: false }).catch(() => undefined)
  }
  return false
}

function isSameSocket(entry: string, ino: bigint): boolean {
  try {
    const found = lstatSync(entry, { bigint: true })
    return found.isSocket() && found.ino === ino
  } catch {
    return false
  }
}

/** Connects, and resolves when the connection has ended: to `ended`, or the error code if there was none. */
function connectionEnd(path: string, signal: AbortSignal): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = createConnection({ path, signal })
    let end: string | undefined
    socket.unref()
    socket.resume()
    socket.once('connect', () => (end = 'ended'))
    socket.on('error', (error) => (end ??= errnoOf(error)))
    socket.once('close', () => resolve(end))
  })
}
