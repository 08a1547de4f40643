import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { FULL_RANGE, type FeedWaitRequest } from '@tidemark/contracts'
import { Store, type Collection } from '@tidemark/store'
import { expect, test, vi } from 'vitest'
import { openMemoryEngine } from './memory-engine.ts'
import { MemoryPlace } from './memory-place.ts'
import { openSqliteEngine } from './sqlite-engine.ts'

interface Item {
  readonly id: string
  readonly pk: string
}

async function openItems(engine: Parameters<typeof Store.open>[0]['engine']): Promise<{
  readonly items: Collection<Item>
  readonly others: Collection<Item>
  readonly close: () => Promise<void>
}> {
  const store = await Store.open({ engine, maintenance: 'manual' })
  const create = (id: string): Promise<Collection<Item>> =>
    store.database('db').createCollectionIfNotExists<Item>({ id, partitionKey: '/pk' })
  const items = await create('items')
  const others = await create('others')
  return { items, others, close: () => store.close() }
}

test('CF-12 what another connection commits between a page and the wait behind it ends the wait, also when others were woken meanwhile', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'tidemark-'))
  const reading = await openItems(await openSqliteEngine({ folder }))
  const writing = await openItems(await openSqliteEngine({ folder }))
  const { signal } = new AbortController()
  const [range = FULL_RANGE] = await reading.items.readFeedRanges()
  const read = async (collection: Collection<Item>): Promise<FeedWaitRequest> => {
    const { continuation } = await collection.resolveStart({ range, start: 'now' })
    const page = await collection.readPage({ range, continuation })
    expect(page.caughtUp).toBe(true)
    return { range, continuation: page.continuation, timeoutMs: 5_000, signal }
  }
  for (const id of ['a', 'b', 'c']) {
    const behind = await read(reading.items)
    const waiting = reading.others.waitForChanges(await read(reading.others))
    await writing.items.create({ id, pk: 'p' })
    await writing.others.create({ id, pk: 'p' })
    // After this, nothing is news until somebody commits again.
    expect(await waiting).toBe(true)
    expect(await reading.items.waitForChanges(behind)).toBe(true)
  }
  await reading.close()
  await writing.close()
  await rm(folder, { recursive: true })
})

test('CF-12 a bulk of writes ends the waits of its own process at once, and rings once at others', async () => {
  const announce = vi.spyOn(MemoryPlace.prototype, 'announce')
  const { items, close } = await openItems(openMemoryEngine())
  const [range = FULL_RANGE] = await items.readFeedRanges()
  const { continuation } = await items.resolveStart({ range, start: 'now' })
  const { signal } = new AbortController()
  const waiting = items.waitForChanges({ range, continuation, timeoutMs: 60_000, signal })
  const before = announce.mock.calls.length
  const creates = ['a', 'b'].map((id) => ({ kind: 'create', document: { id, pk: id } }) as const)
  for await (const { kind } of items.bulk(creates)) expect(kind).toBe('written')
  expect(await waiting).toBe(true)
  expect(announce.mock.calls.length - before).toBe(1)
  await close()
  announce.mockRestore()
})

test('other processes are rung at for commits, and not for those that do not wait for the disk', async () => {
  const announce = vi.spyOn(MemoryPlace.prototype, 'announce')
  const { items, close } = await openItems(openMemoryEngine())
  const create = (id: string, sync: boolean): Promise<unknown> =>
    items.batch('p', [{ kind: 'create', document: { id, pk: 'p' } }], { sync })
  const before = announce.mock.calls.length
  await create('a', false)
  expect(announce.mock.calls.length - before).toBe(0)
  await create('b', true)
  expect(announce.mock.calls.length - before).toBe(1)
  await close()
  announce.mockRestore()
})
