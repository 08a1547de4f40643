import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import {
  startPostgresProcess,
  startRedisProcess,
  type PostgresProcess,
  type RedisProcess,
} from '@tidemark/testing/servers'
import { Pool } from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openStore, verifyWebhook, type Collection, type WebhookEntry } from 'tidemark'
import { CampaignProcess } from '../campaign/campaign-process.ts'
import type { Order, SyncMessage } from './sync-task.ts'

const SECRET = `whsec_${Buffer.alloc(32, 3).toString('base64')}`
/** Batches after which each worker is killed, in the middle of whatever it does next. */
const LIVES = [2, 9, 5]
const WRITES_PER_LIFE = 60

let folder: string
let postgres: PostgresProcess
let redis: RedisProcess

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tidemark-sinks-'))
  postgres = await startPostgresProcess()
  redis = await startRedisProcess({ args: ['--appendonly', 'yes', '--appendfsync', 'always'] })
})
afterAll(async () => {
  await postgres[Symbol.asyncDispose]()
  await redis[Symbol.asyncDispose]()
  await rm(folder, { recursive: true, force: true })
})

/** Creates, replaces and deletes of 40 documents; what is done in which turn is fixed. */
async function write(orders: Collection<Order>, from: number, count: number): Promise<void> {
  for (let n = from; n < from + count; n += 1) {
    const k = (n * 7) % 40
    const [id, customer] = [`o${k}`, `c${k % 5}`]
    const { document } = await orders.read(id, customer)
    if (document !== undefined && n % 6 === 0) await orders.delete(id, customer)
    else await orders.upsert({ id, customer, total: n })
  }
}

async function documentsOf(orders: Collection<Order>): Promise<Map<string, number>> {
  const { documents } = await orders.readDocuments({ maxItemCount: 1_000 })
  return new Map(documents.map(({ id, total }) => [id, total]))
}

test('JB-6 workers and servers that are killed in the middle leave every sink as its guarantee says', async () => {
  const hooked: WebhookEntry<Order>[] = []
  const receive = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await buffer(request)
    hooked.push(...verifyWebhook<Order>({ secret: SECRET, headers: request.headers, body }).entries)
    response.writeHead(204).end()
  }
  const server = createServer((request, response) => void receive(request, response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const store = await openStore(folder)
  const shop = store.database('shop')
  const orders = await shop.createCollectionIfNotExists<Order>({
    id: 'orders',
    partitionKey: '/customer',
    partitionCount: 2,
    allVersions: { retentionSeconds: 3_600 },
  })
  const child = (): CampaignProcess<SyncMessage> =>
    new CampaignProcess<SyncMessage>(new URL('sync.child.ts', import.meta.url), {
      folder,
      postgresUrl: postgres.url(),
      redisUrl: `redis://127.0.0.1:${redis.port}`,
      hookUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
      secret: SECRET,
    })
  let written = 0
  for (const [life, batches] of LIVES.entries()) {
    const worker = child()
    const writing = write(orders, written, WRITES_PER_LIFE)
    written += WRITES_PER_LIFE
    for (let batch = 0; batch < batches; batch += 1) await worker.receive('written')
    await writing
    if (life === 1) {
      await Promise.all([postgres.kill(), redis.kill()])
      await write(orders, written, WRITES_PER_LIFE)
      written += WRITES_PER_LIFE
      await Promise.all([postgres.start(), redis.start()])
    }
    await worker.kill()
  }
  const last = child()
  last.tell('finish')
  await last.finished()
  const expected = await documentsOf(orders)
  expect(expected.size).toBeGreaterThan(20)

  const pool = new Pool({ connectionString: postgres.url() })
  const { rows } = await pool.query<{ id: string; total: number }>(
    `SELECT id, (document->>'total')::int AS total FROM orders WHERE deleted_at IS NULL`,
  )
  await pool.end()
  expect(new Map(rows.map(({ id, total }) => [id, total]))).toEqual(expected)

  const cached = new Map<string, number>()
  for (const key of await redis.admin.keys('orders:o*')) {
    const json = await redis.admin.hget(key, 'json')
    if (json !== null) cached.set(key.slice('orders:'.length), (JSON.parse(json) as Order).total)
  }
  expect(cached).toEqual(expected)

  // The first time that a change comes is in order, and the last change of each document came.
  const first = new Map(hooked.toReversed().map((entry) => [entry.key, entry]))
  const newest = new Map<string, WebhookEntry<Order>>()
  for (const entry of hooked) {
    if (first.get(entry.key) !== entry) continue
    expect(entry.lsn).toBeGreaterThan(newest.get(entry.id)?.lsn ?? 0)
    newest.set(entry.id, entry)
  }
  for (const [id, total] of expected) expect(newest.get(id)?.document?.total).toBe(total)

  await store.close()
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
})
