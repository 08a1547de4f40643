import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { ChangeFeedProcessorHost, DocumentLeaseStore, openStore } from './index.ts'

const CHILD = fileURLToPath(new URL('closed-store.child.ts', import.meta.url))

test('a store that is closed under running hosts ends them with its code, and the process', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'tidemark-closed-'))
  const child = spawn(process.execPath, ['--conditions=@tidemark/source', CHILD, folder], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  try {
    const output = child.stdout.setEncoding('utf8').toArray()
    expect(await once(child, 'exit')).toEqual([0, null])
    const lines = (await output).join('').trim().split('\n')
    const ends = lines.map((line) => JSON.parse(line) as { readonly name: string })
    const end = { code: 'ERR_STORE_CLOSED', status: 'stopped' }
    expect(ends.toSorted((a, b) => a.name.localeCompare(b.name))).toEqual([
      { name: 'elsewhere', ...end },
      { name: 'inTheStore', ...end },
    ])
  } finally {
    child.kill('SIGKILL')
    await rm(folder, { recursive: true, force: true })
  }
})

test('a host that begins on a closed store is refused at once', async () => {
  const store = await openStore(':memory:')
  const shop = store.database('shop')
  const feed = await shop.createCollectionIfNotExists({ id: 'orders', partitionKey: '/id' })
  const leases = new DocumentLeaseStore(
    await shop.createCollectionIfNotExists({ id: 'leases', partitionKey: '/partitionKey' }),
  )
  await store.close()
  const host = new ChangeFeedProcessorHost({ hostName: 'late', group: 'late', feed, leases })
  await expect(host.registerObserver({ processChanges: async () => {} })).rejects.toMatchObject({
    code: 'ERR_STORE_CLOSED',
  })
})
