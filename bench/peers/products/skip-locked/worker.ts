import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'
import type { OrderDocument } from '../../../data/order-document.ts'
import { loopingWorker } from '../../contract/looping-worker.ts'
import { POLL_MS } from '../../contract/poll-interval.ts'
import type { JoinGroup } from '../../contract/worker.ts'
import type { PostgresPlace } from './server.ts'

/** Takes rows that nobody else is taking, handles them, commits; looks again after a while when there are none. */
export const join: JoinGroup<PostgresPlace> = async ({ place, ...task }, handle) => {
  const connect = async (): Promise<Client> => {
    const client = new Client({ connectionString: place.url })
    client.on('error', () => {})
    await client.connect()
    return client
  }
  let client = await connect()
  const take = async (): Promise<number> => {
    await client.query('BEGIN')
    const { rows } = await client.query<[id: string, body: string]>({
      name: 'take',
      text: `DELETE FROM outbox WHERE id IN (
        SELECT id FROM outbox ORDER BY id FOR UPDATE SKIP LOCKED LIMIT $1) RETURNING id, body`,
      values: [task.pageSize],
      rowMode: 'array',
    })
    // RETURNING promises no order.
    rows.sort(([a], [b]) => Number(a) - Number(b))
    if (rows.length > 0) handle(rows.map(([, body]) => JSON.parse(body) as OrderDocument))
    await client.query('COMMIT')
    return rows.length
  }
  return loopingWorker({
    gate: task.gate,
    async turn() {
      try {
        if ((await take()) === 0) await sleep(POLL_MS)
      } catch {
        // The server closes a connection whose transaction is idle for too long.
        client = await connect()
      }
    },
    close: () => client.end(),
  })
}
