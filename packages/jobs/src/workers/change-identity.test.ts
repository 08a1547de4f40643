import { decodeContinuation, encodeContinuation, type Change } from '@tidemark/contracts'
import type { Message } from '@tidemark/messaging'
import { MemoryLeaseStore } from '@tidemark/processor'
import type { Collection } from '@tidemark/store'
import { openMemoryStore } from '@tidemark/testing'
import { expect, test } from 'vitest'
import { forwardChanges } from '../forwarding/forward-changes.ts'
import type { SinkEntry } from '../sync/sink-entry.ts'
import { syncTo } from '../sync/sync-to.ts'
import { changeId } from './change-identity.ts'

interface Order {
  readonly id: string
}

/** The feed of a store in which another epoch begins while it is open, as that on a PostgreSQL server that fails over. */
function inEpoch(feed: Collection<Order>, epoch: () => number): Collection<Order> {
  const moved = (value: unknown): unknown => {
    if (typeof value !== 'object' || value === null) return value
    const continuation: unknown = Reflect.get(value, 'continuation')
    if (typeof continuation !== 'string') return value
    const token = decodeContinuation(continuation)
    const positions = token.positions.map((position) => ({ ...position, epoch: epoch() }))
    return { ...value, continuation: encodeContinuation({ ...token, positions }) }
  }
  return new Proxy(feed, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name, target)
      if (typeof member !== 'function') return member
      return (...given: unknown[]) => {
        const result: unknown = Reflect.apply(member, target, given)
        return result instanceof Promise ? result.then(moved) : result
      }
    },
  })
}

/** A sender that tells the id of each message, by the document. */
function senderTo(sent: Map<string, string>): Parameters<typeof forwardChanges>[0]['to'] {
  return {
    entityPath: 'queue',
    createMessageBatch: async () => {
      const messages: Message[] = []
      return {
        messages,
        maxSizeInBytes: 1_000_000,
        get count() {
          return messages.length
        },
        tryAddMessage: (message: Message) => messages.push(message) > 0,
      }
    },
    sendMessages: async ({ messages }: { readonly messages: readonly Message[] }) => {
      for (const { applicationProperties, messageId } of messages) {
        sent.set(String(applicationProperties?.['id']), String(messageId))
      }
    },
  } as never
}

test('messages and entries are of the epoch in which their changes were read', async () => {
  await using store = await openMemoryStore()
  const orders = await store
    .database('shop')
    .createCollectionIfNotExists<Order>({ id: 'orders', partitionKey: '/id' })
  let epoch = 0
  const feed = inEpoch(orders, () => epoch)
  const sent = new Map<string, string>()
  const leases = new MemoryLeaseStore()
  await using forwarding = forwardChanges<Order>({ feed, leases, to: senderTo(sent) })
  const entries: SinkEntry<Order>[] = []
  const sink = async (batch: readonly SinkEntry<Order>[]) => void entries.push(...batch)
  await using sync = syncTo<Order>({ feed, leases, group: 'sync', sink, deletes: 'ignore' })
  for (const job of [forwarding, sync]) {
    await job.start()
  }
  const written = async (id: string): Promise<string> => {
    const { lsn } = await orders.upsert({ id })
    await forwarding.caughtUp()
    await sync.caughtUp()
    const change = { kind: 'document', id, partitionKey: id, lsn } as Change<Order>
    return changeId({ identity: orders.identity, description: orders.description, epoch }, change)
  }
  for (epoch of [0, 1]) {
    const id = `in-${epoch}`
    const expected = await written(id)
    expect(sent.get(id)).toBe(expected)
    expect(entries.find((entry) => entry.id === id)).toMatchObject({ epoch, key: expected })
  }
})
