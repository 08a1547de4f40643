import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ChangeFeedProcessorHost, DocumentLeaseStore, openDeadLetters, openStore } from './index.ts'

interface Order {
  readonly id: string
  readonly customerId: string
}

test('PH-7 failing-observers.md: a failing document is set aside, the rest is processed', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'tidemark-guide-'))
  const store = await openStore({ folder, durability: 'relaxed', maintenance: 'manual' })
  try {
    const shop = store.database('shop')
    await shop.createCollectionIfNotExists({ id: 'leases', partitionKey: '/partitionKey' })
    await shop.createCollectionIfNotExists({ id: 'orders', partitionKey: '/customerId' })
    const log: object[] = []
    const orders = shop.collection<Order>('orders')
    const letters = await openDeadLetters(shop, 'orders') // the collection orders-deadletters
    const host = new ChangeFeedProcessorHost<Order>({
      group: 'mirror',
      feed: orders,
      leases: new DocumentLeaseStore(shop.collection('leases')),
      feedOptions: { startFromBeginning: true },
      deadLetters: letters,
      hostOptions: { failurePolicy: { mode: 'deadLetter', maxAttempts: 3 }, retryDelayMs: 10 },
    })
    host.on('deadLettered', ({ id, attempts, error }) => log.push({ id, attempts, error }))

    for (let n = 0; n < 30; n += 1) await orders.upsert({ id: `o${n}`, customerId: 'c1' })
    const error = new Error('not this one')
    const done: string[] = []
    async function inOneTransaction(changes: readonly { readonly id: string }[]): Promise<void> {
      if (changes.some(({ id }) => id === 'o13')) throw error
      done.push(...changes.map(({ id }) => id))
    }
    await host.registerObserver(async ({ accepted }, changes) => {
      for (let from = 0; from < changes.length; from += 10) {
        const some = changes.slice(from, from + 10)
        await inOneTransaction(some)
        if (!accepted(some.at(-1)!)) return // the host stops, or the lease moves: the rest comes to the next owner
      }
    })
    await expect.poll(() => new Set(done).size).toBe(29)
    expect(done).toHaveLength(29)
    await host.unregisterObservers()
    expect(log).toEqual([{ id: 'o13', attempts: 3, error }])
    const page = await letters.list({ group: 'mirror' })
    expect(page.letters).toHaveLength(1)
  } finally {
    await store.close()
    await rm(folder, { recursive: true, force: true })
  }
})

test('the snippet of failing-observers.md is in this file', async () => {
  const here = squeezed(await readFile(new URL(import.meta.url), 'utf8'))
  const guide = new URL('../../../docs/guide/failing-observers.md', import.meta.url)
  const text = await readFile(guide, 'utf8')
  const snippets = [...text.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, snippet = '']) => snippet)
  expect(snippets.length).toBeGreaterThan(0)
  for (const snippet of snippets) expect(here).toContain(squeezed(snippet))
})

/** Without what a formatter may change. */
function squeezed(code: string): string {
  return code.replaceAll(/\s+/g, '').replaceAll(/,(?=[)\]}])/g, '')
}
