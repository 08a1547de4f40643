import { orderDocument } from '../../../data/order-document.ts'
import { ServerProcess } from './gateway-process.ts'
import { HttpCalls } from './http-calls.ts'
import { BENCH_KEY } from './signed-headers.ts'
import { startBenchServer } from '../../../postgres/bench-server.ts'
import { loadOrders } from '../../../store/load-orders.ts'
import {
  DATABASE,
  openBenchStore,
  PARTITION_COUNT,
  storeFolder,
} from '../../../store/open-bench-store.ts'
import type { PeerEntry, RunningPeer } from '../../contract/peer.ts'
import { startRedis } from '../redis-streams/server.ts'

const DOCUMENTS_PATH = '/dbs/shop/colls/orders/docs'
/** More would cost this process more, and the server nothing less. */
const WRITING_CONNECTIONS = 32

/** What a worker opens: a store's place, or a gateway's endpoint. Leases are beside the orders unless on Redis. */
export interface TidemarkPlace {
  readonly open:
    | { readonly kind: 'store'; readonly place: string }
    | {
        readonly kind: 'http'
        readonly endpoint: string
        readonly key: string
        readonly database: string
      }
  readonly group: string
  readonly startFromBeginning: boolean
  readonly leasesOnRedis: { readonly host: string; readonly port: number } | undefined
}

interface Ground extends AsyncDisposable {
  readonly version: string
  readonly serverPids: readonly number[]
  readonly open: TidemarkPlace['open']
  /** Where documents are loaded from this process. */
  readonly place: string
  readonly leasesOnRedis?: TidemarkPlace['leasesOnRedis']
}

/** The store in the workers' own processes. */
export const embedded = ours('embedded', { isEmbedded: true }, (folder) =>
  Promise.resolve({
    version: 'SQLite, leases in the store',
    serverPids: [],
    open: { kind: 'store', place: folder },
    place: folder,
    [Symbol.asyncDispose]: () => Promise.resolve(),
  }),
)

export const embeddedRedis = ours('embedded-redis', { isEmbedded: false }, async (folder) => {
  const { server, version, serverPids } = await startRedis('everysec')
  return {
    version: `SQLite, leases on ${version}`,
    serverPids,
    open: { kind: 'store', place: folder },
    place: folder,
    leasesOnRedis: { host: server.host, port: server.port },
    [Symbol.asyncDispose]: () => server.stop(),
  }
})

export const onPostgres = ours('postgres', { isEmbedded: false }, async () => {
  const server = await startBenchServer()
  const place = await server.createDatabase()
  const [row] = await server.query('SHOW server_version')
  return {
    version: `PostgreSQL ${String(row?.['server_version']).split(' ')[0]}, leases in the store`,
    serverPids: [server.pid ?? 0],
    open: { kind: 'store', place },
    place,
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  }
})

export const overHttp = ours('http', { isEmbedded: false }, async (folder) => {
  const server = await ServerProcess.gateway(storeFolder(folder))
  return {
    version: 'tidemark serve on a folder, leases in the store',
    serverPids: [server.pid],
    open: { kind: 'http', endpoint: server.endpoint, key: BENCH_KEY, database: DATABASE },
    place: folder,
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  }
})

function ours(
  name: string,
  { isEmbedded }: { readonly isEmbedded: boolean },
  begin: (folder: string) => Promise<Ground>,
): PeerEntry {
  return {
    name,
    isOurs: true,
    sharing: 'dynamic',
    parts: PARTITION_COUNT,
    isEmbedded,
    worker: new URL('worker.ts', import.meta.url),
    async start({ folder }): Promise<RunningPeer> {
      const ground = await begin(folder)
      const writer = await openWriter(ground)
      let groups = 0
      return {
        version: ground.version,
        serverPids: ground.serverPids,
        load: writer.load,
        newGroup: ({ begin: from }): Promise<TidemarkPlace> =>
          Promise.resolve({
            open: ground.open,
            group: `group-${++groups}`,
            startFromBeginning: from === 'beginning',
            leasesOnRedis: ground.leasesOnRedis,
          }),
        async write(index) {
          await writer.write(index)
        },
        async [Symbol.asyncDispose]() {
          await writer[Symbol.asyncDispose]()
          await ground[Symbol.asyncDispose]()
        },
      }
    },
  }
}

interface Writer extends AsyncDisposable {
  readonly write: (index: number) => Promise<unknown>
  readonly load: (count: number) => Promise<void>
}

/** Over HTTP writes go the same way as reads; only what is loaded first goes straight into the folder. */
async function openWriter({ open, place }: Ground): Promise<Writer> {
  const store = await openBenchStore(place)
  if (open.kind === 'store') {
    return {
      write: (index) => store.orders.upsert(orderDocument(index)),
      load: (count) => loadOrders(store, count),
      [Symbol.asyncDispose]: () => store.close(),
    }
  }
  const calls = new HttpCalls(open.endpoint, { connections: WRITING_CONNECTIONS })
  return {
    write: (index) => createOrder(calls, index),
    async load(count) {
      await loadOrders(store, count)
      await store.close()
    },
    async [Symbol.asyncDispose]() {
      calls[Symbol.dispose]()
      await store.close()
    },
  }
}

function createOrder(calls: HttpCalls, index: number): Promise<unknown> {
  const document = orderDocument(index)
  return calls.call({
    method: 'POST',
    path: DOCUMENTS_PATH,
    headers: {
      'content-type': 'application/json',
      'x-ms-documentdb-partitionkey': JSON.stringify([document.customerId]),
    },
    body: JSON.stringify(document),
  })
}
