import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { ChangeFeedProcessorHost, DocumentLeaseStore } from '@tidemark/processor'
import { openSqliteEngine } from '@tidemark/engine-sqlite'
import { Store } from '@tidemark/store'
import { expect, test } from 'vitest'

test('PH-10 a host whose leases are documents starts once another process gives the lock back', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'tidemark-'))
  const engine = await openSqliteEngine({ folder, lockTimeoutMs: 50 })
  const store = await Store.open({ engine, maintenance: 'manual' })
  const database = await store.createDatabaseIfNotExists('db')
  const items = await database.createCollectionIfNotExists({ id: 'items', partitionKey: '/id' })
  const name = (await readdir(folder)).find((each) => /^db-.*\.sqlite$/.test(each)) ?? ''
  const other = new DatabaseSync(join(folder, name), { timeout: 5000 })
  other.exec('BEGIN IMMEDIATE')
  const leases = new DocumentLeaseStore(database.collection('leases'))
  const refused = Promise.withResolvers<unknown>()
  const host = new ChangeFeedProcessorHost({
    hostName: 'host',
    group: 'group',
    feed: items,
    leases: {
      description: leases.description,
      listGroups: (...args) => leases.listGroups(...args),
      openGroup: async (...args) => {
        try {
          return await leases.openGroup(...args)
        } catch (error) {
          refused.resolve(error)
          throw error
        }
      },
    },
  })
  const started = host.registerObserver({ processChanges: () => undefined })
  try {
    expect(await Promise.race([refused.promise, started])).toMatchObject({
      code: 'ERR_LEASE_STORE_UNAVAILABLE',
      cause: { code: 'ERR_STORE_UNAVAILABLE' },
    })
    other.exec('ROLLBACK')
    await started
  } finally {
    other.close()
    await started.catch(() => undefined)
    await host.unregisterObservers()
    await store.close()
    await rm(folder, { recursive: true, force: true })
  }
})
