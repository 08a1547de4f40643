import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { copySqliteStore } from '@tidemark/engine-sqlite/internal'
import { afterEach, beforeEach, expect, test } from 'vitest'
import {
  forwardChanges,
  MemoryLeaseStore,
  openMessaging,
  openStore,
  type DocumentBody,
  type MessageBroker,
  type Store,
} from './index.ts'

interface Order extends DocumentBody {
  readonly customer: string
}

let parent = ''
let target: Store
let broker: MessageBroker

beforeEach(async () => {
  parent = await mkdtemp(join(tmpdir(), 'tidemark-'))
  target = await openStore(':memory:')
  await target.createDatabaseIfNotExists('shop')
  broker = openMessaging(target.database('shop'))
  await broker.createQueue('orders', { requiresDuplicateDetection: true })
})

afterEach(async () => {
  await broker.close()
  await target.close()
  await rm(parent, { recursive: true, force: true })
})

/** Writes documents into a store, and forwards all that it has, as a group that knows no position. */
async function writeAndForward(folder: string, ids: readonly string[]): Promise<void> {
  await using store = await openStore({ folder })
  const feed = await store
    .database('shop')
    .createCollectionIfNotExists<Order>({ id: 'orders', partitionKey: '/customer' })
  for (const id of ids) await feed.upsert({ id, customer: 'ada' })
  const to = broker.createSender('orders')
  const leases = new MemoryLeaseStore()
  await using forwarding = forwardChanges({ feed, to, leases, stopWhenCaughtUp: true })
  await forwarding.start()
  await forwarding.finished
}

async function ids(): Promise<readonly unknown[]> {
  await using receiver = broker.createReceiver<Order>('orders')
  return (await receiver.peekMessages(100)).map(({ body }) => body.id)
}

test('ST-6 what a restored store forwards is no duplicate of what it forwarded before', async () => {
  const folder = join(parent, 'store')
  const backup = join(parent, 'backup')
  await writeAndForward(folder, ['a'])
  await copySqliteStore({ from: folder, to: backup })
  await writeAndForward(folder, ['b'])
  // `a` was forwarded again, and is known.
  expect(await ids()).toEqual(['a', 'b'])

  await writeAndForward(backup, ['b'])
  expect(await ids()).toEqual(['a', 'b', 'a', 'b'])
})
