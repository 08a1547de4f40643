import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import {
  ChangeFeedProcessorHost,
  DocumentLeaseStore,
  ProcessorGroup,
  openDeadLetters,
  openStore,
} from './index.ts'

/* The snippets of operations.md, word for word, and in its order. */

test('operations.md: pause, seek, release, snapshot, restore, dead letters', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'tidemark-guide-'))
  const store = await openStore({ folder, durability: 'relaxed', maintenance: 'manual' })
  try {
    const shop = store.database('shop')
    const orders = await shop.createCollectionIfNotExists({
      id: 'orders',
      partitionKey: '/id',
      partitionCount: 2,
    })
    const leases = new DocumentLeaseStore(
      await shop.createCollectionIfNotExists({ id: 'leases', partitionKey: '/partitionKey' }),
    )
    for (let n = 0; n < 20; n += 1) await orders.upsert({ id: `o${n}` })
    const deadLetters = await openDeadLetters(shop, 'orders')
    const done: string[] = []
    const host = new ChangeFeedProcessorHost({
      hostName: 'worker-1',
      group: 'mirror',
      feed: orders,
      leases,
      deadLetters,
      feedOptions: { startFromBeginning: true },
      hostOptions: { failurePolicy: { mode: 'deadLetter', maxAttempts: 2 }, retryDelayMs: 1 },
    })
    await host.registerObserver({
      processChanges(_, changes) {
        if (changes.some(({ id }) => id === 'o13')) throw new Error('not this one')
        done.push(...changes.map(({ id }) => id))
      },
    })
    const times = async (count: number): Promise<void> => {
      const of = (id: string): number => done.filter((one) => one === id).length
      await expect.poll(() => of('o1') >= count && of('o19') >= count).toBe(true)
    }
    await times(1)
    const reported: object[] = []
    const report = (line: object): void => void reported.push(line)
    let isMaintained = false
    const maintain = async (): Promise<void> => {
      const count = done.length
      await orders.upsert({ id: 'late' })
      expect(done).toHaveLength(count)
      isMaintained = true
    }

    const group = new ProcessorGroup({ leases, group: 'mirror', feed: orders })
    const { paused, hosts, leases: held } = await group.status() // and at the end: group.close()
    expect({ paused, hosts: hosts.map(({ host: name }) => name) }).toEqual({
      paused: false,
      hosts: ['worker-1'],
    })

    await group.pause()
    if (await group.waitUntilDrained({ timeoutMs: 60_000 })) await maintain()
    await group.resume()
    expect(isMaintained).toBe(true)
    await expect.poll(() => done.includes('late')).toBe(true)

    const moves = await group.previewSeek({ to: new Date('2026-01-31T09:00:00Z') })
    for (const { leaseId, fromLsn, toLsn } of moves) report({ leaseId, fromLsn, toLsn })
    await group.seek({ to: 'beginning' })
    const [first] = await orders.readFeedRanges()
    if (first !== undefined) await group.seek({ to: 'now', ranges: [first] })
    expect(reported).toHaveLength(2)
    await group.seek({ to: 'beginning' })
    await times(2)
    // What it did twice may have been of the seek before the last one.
    const areOwned = async (): Promise<boolean> =>
      (await group.status()).leases.every(({ owner: name }) => name === 'worker-1')
    await expect.poll(areOwned).toBe(true)

    const owner = await group.release(held[0]?.leaseId ?? '')
    expect(owner).toBe('worker-1')

    {
      await group.pause()
      await group.waitUntilDrained()
      const snapshot = await group.snapshot() // JSON; keep it with the backup of the data that the group writes
      await group.resume()
      // … later, after you restored that backup:
      await group.restore(snapshot)
    }

    const isListed = async (): Promise<boolean> =>
      (await deadLetters.list({ group: 'mirror' })).letters.some(({ state }) => state === 'kept')
    await expect.poll(isListed).toBe(true)
    await host.unregisterObservers()
    const letters = await openDeadLetters(shop, 'orders') // orders-deadletters, created if it is missing
    const page = await letters.list({ group: 'mirror', maxItemCount: 100 })
    for (const { id, documentId, state, error } of page.letters)
      report({ id, documentId, state, error })
    const letter = await letters.read(page.letters[0]?.id ?? '') // with the whole change and the stack
    await letters.redrive({ group: 'mirror', letters: 'all' }) // or ids
    await letters.drop({ group: 'mirror', letters: [letter?.id ?? ''] })
    expect(reported.at(-1)).toMatchObject({ documentId: 'o13', state: 'kept' })
    expect((await letters.list({ group: 'mirror' })).letters).toEqual([])
    await group.close()
  } finally {
    await store.close()
    await rm(folder, { recursive: true, force: true })
  }
})

test('every snippet of operations.md is in this file', async () => {
  const here = squeezed(await readFile(new URL(import.meta.url), 'utf8'))
  const guide = new URL('../../../docs/guide/operations.md', import.meta.url)
  const text = await readFile(guide, 'utf8')
  const snippets = [...text.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, snippet = '']) => snippet)
  expect(snippets.length).toBeGreaterThan(4)
  for (const snippet of snippets) expect(here).toContain(squeezed(snippet))
})

/** Without what a formatter may change. */
function squeezed(code: string): string {
  return code.replaceAll(/\s+/g, '').replaceAll(/,(?=[)\]}])/g, '')
}
