import type { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { READ_ONLY_KEY, signedHeaders } from '../gateway/signed-request.ts'

/** The container that the bystander reads in; its documents are large. */
export const ATTACKED_DOCS = '/dbs/hostile/colls/items/docs'

/** What a hostile client does with one connection. */
export interface Attack {
  readonly name: string
  /** At once. */
  readonly sockets: number
  /** Ends with the socket, with the round, or when there is nothing more to do but to hold the connection. */
  readonly act: (socket: Socket, round: AbortSignal) => Promise<void>
}

/** Signed with the key that may only read: those who have it are not to be trusted either. */
function request(method: string, headers: Readonly<Record<string, string>> = {}): string {
  const signed = signedHeaders({ method, path: ATTACKED_DOCS, key: READ_ONLY_KEY })
  const all = { host: 'localhost', ...signed, ...headers }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  return `${method} ${ATTACKED_DOCS} HTTP/1.1\r\n${lines.join('')}\r\n`
}

const FEED = { 'a-im': 'Incremental feed' }
const WAIT = { ...FEED, 'if-none-match': '*', 'x-tidemark-wait-ms': '60000' }
const QUERY = { 'x-ms-documentdb-isquery': 'true', 'content-type': 'application/query+json' }
const UNSIGNED = 'GET /dbs HTTP/1.1\r\nhost: localhost\r\n\r\n'
const FORGED = `GET /dbs HTTP/1.1\r\nhost: localhost\r\nx-ms-date: ${new Date().toUTCString()}\r\nauthorization: type%3Dmaster%26ver%3D1.0%26sig%3D${'A'.repeat(43)}%3D\r\n\r\n`
const DRIP_MS = 20

async function drip(socket: Socket, round: AbortSignal): Promise<void> {
  while (socket.writable && !round.aborted) {
    socket.write('a')
    await sleep(DRIP_MS)
  }
}

export const ATTACKS: readonly Attack[] = [
  { name: 'idle sockets', sockets: 300, act: async () => {} },
  {
    name: 'slow headers',
    sockets: 60,
    act: async (socket, round) => {
      socket.write('GET /dbs HTTP/1.1\r\nhost: localhost\r\nx-slow: ')
      await drip(socket, round)
    },
  },
  {
    name: 'slow bodies',
    sockets: 60,
    act: async (socket, round) => {
      socket.write(request('POST', { ...QUERY, 'content-length': '100000' }))
      await drip(socket, round)
    },
  },
  {
    name: 'requests without a signature',
    sockets: 60,
    act: async (socket) => void socket.write(UNSIGNED),
  },
  {
    name: 'pipelines of forged signatures',
    sockets: 30,
    act: async (socket) => void socket.write(FORGED.repeat(100)),
  },
  {
    name: 'floods of connections',
    sockets: 60,
    act: async (socket) => void socket.resetAndDestroy(),
  },
  {
    name: 'huge headers',
    sockets: 10,
    act: async (socket, round) => {
      socket.write('GET /dbs HTTP/1.1\r\nhost: localhost\r\n')
      for (let n = 0; n < 40 && socket.writable && !round.aborted; n++) {
        socket.write(`x-${n}: ${'y'.repeat(25_000)}\r\n`)
        await sleep(1)
      }
    },
  },
  {
    name: 'waiting reads',
    sockets: 100,
    act: async (socket) => void socket.write(request('GET', WAIT)),
  },
  {
    name: 'pipelines of waiting reads',
    sockets: 10,
    act: async (socket) => void socket.write(request('GET', WAIT).repeat(200)),
  },
  {
    name: 'half-closed connections',
    sockets: 60,
    act: async (socket) => void socket.end(request('GET', WAIT)),
  },
  {
    name: 'answers that nobody takes',
    sockets: 20,
    act: async (socket) => {
      socket.pause()
      socket.write(request('GET', FEED).repeat(20))
    },
  },
]
