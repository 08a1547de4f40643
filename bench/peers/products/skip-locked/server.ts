import { Pool } from 'pg'
import { orderDocument } from '../../../data/order-document.ts'
import { startBenchServer } from '../../../postgres/bench-server.ts'
import { Outbox } from '../outbox.ts'
import type { PeerEntry, RunningPeer } from '../../contract/peer.ts'

export interface PostgresPlace {
  readonly url: string
}

/** A table as a queue. */
export const skipLocked: PeerEntry = {
  name: 'skip-locked',
  isOurs: false,
  sharing: 'dynamic',
  isEmbedded: false,
  worker: new URL('worker.ts', import.meta.url),
  start: ({ takeoverMs }) =>
    startOutbox(
      { idle_in_transaction_session_timeout: `${takeoverMs}ms` },
      {
        name: 'FOR UPDATE SKIP LOCKED',
        fill: async (outbox, url) => {
          await outbox.fill()
          return { url }
        },
        empty: async (outbox, url) => {
          await outbox.clear()
          return { url }
        },
      },
    ),
}

export interface OutboxUse<Place extends PostgresPlace> {
  readonly name: string
  /** Makes a group that has all loaded documents to come. */
  readonly fill: (outbox: Outbox, url: string) => Promise<Place>
  /** Makes a group that has none. */
  readonly empty: (outbox: Outbox, url: string) => Promise<Place>
}

/** A PostgreSQL of its own with an outbox; who reads it is the use's business. */
export async function startOutbox<Place extends PostgresPlace>(
  settings: Readonly<Record<string, string>>,
  { name, fill, empty }: OutboxUse<Place>,
): Promise<RunningPeer> {
  const server = await startBenchServer(settings)
  const url = await server.createDatabase()
  const [row] = await server.query('SHOW server_version')
  const pool = new Pool({ connectionString: url, max: 10 })
  let outbox: Outbox | undefined
  return {
    version: `PostgreSQL ${String(row?.['server_version']).split(' ')[0]}, ${name}`,
    serverPids: [server.pid ?? 0],
    async load(count) {
      outbox = await Outbox.create(url, count)
    },
    newGroup({ begin }) {
      if (outbox === undefined) throw new Error('nothing was loaded')
      return begin === 'now' ? empty(outbox, url) : fill(outbox, url)
    },
    async write(index) {
      await pool.query({
        name: 'write',
        text: 'INSERT INTO outbox(body) VALUES ($1)',
        values: [JSON.stringify(orderDocument(index))],
      })
    },
    async [Symbol.asyncDispose]() {
      await outbox?.[Symbol.asyncDispose]()
      await pool.end()
      await server[Symbol.asyncDispose]()
    },
  }
}
