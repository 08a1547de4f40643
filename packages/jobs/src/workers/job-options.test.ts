import { openMemoryStore } from '@tidemark/testing'
import { expect, test } from 'vitest'
import { MemoryLeaseStore } from '@tidemark/processor'
import { archiveDocuments } from '../archive/archive-documents.ts'
import { archiveExpired } from '../archive/archive-expired.ts'
import { jsonLinesSink } from '../archive/platform/json-lines-sink.ts'
import { forwardChanges } from '../forwarding/forward-changes.ts'
import { migrateCollection } from '../migration/migrate-collection.ts'
import { watchMigration } from '../migration/watch-migration.ts'
import { postgresSink } from '../sync/postgres/postgres-sink.ts'
import { syncTo } from '../sync/sync-to.ts'
import { verifyMigration } from '../verification/verify-migration.ts'

test('options of jobs that cannot be right are refused by name', async () => {
  await using store = await openMemoryStore()
  const database = store.database('shop')
  const source = await database.createCollectionIfNotExists({ id: 'a', partitionKey: '/id' })
  const leases = new MemoryLeaseStore()
  const target = { database, id: 'b' }
  const mapDocument = (document: object): object => document
  const migration = { job: 'j', source, target, leases, mapDocument }
  const sink = jsonLinesSink({ folder: '/nowhere' })
  const to = { entityPath: 'queue', createMessageBatch: mapDocument, sendMessages: mapDocument }
  const refused: [string, () => unknown][] = [
    ['mapDocument', () => migrateCollection({ ...migration, mapDocument: {} } as never)],
    ['target.database', () => migrateCollection({ ...migration, target: { id: 'b' } } as never)],
    [
      'target.partitionKey?',
      () => migrateCollection({ ...migration, target: { ...target, partitonKey: '/x' } } as never),
    ],
    ['source', () => migrateCollection({ ...migration, source: 'shop/a' } as never)],
    ['deletes', () => migrateCollection({ ...migration, deletes: true } as never)],
    ['onEvent', () => migrateCollection({ ...migration, onEvents: () => {} } as never)],
    ['leases', () => watchMigration({ job: 'j', source, targetDatabase: database } as never)],
    ['targetDatabase', () => watchMigration({ job: 'j', source, leases } as never)],
    ['target', () => verifyMigration({ source, mapDocument } as never)],
    ['sink', () => archiveExpired({ source, leases, sink: {} } as never)],
    [
      'stopWhenCaughtUp',
      () => archiveExpired({ source, leases, sink, stopWhenCaughtUp: 'yes' } as never),
    ],
    ['feed', () => forwardChanges({ feed: 'shop/a', to, leases } as never)],
    ['to', () => forwardChanges({ feed: source, to: 'queue', leases } as never)],
    ['filter', () => forwardChanges({ feed: source, to, leases, filters: () => true } as never)],
    ['map', () => forwardChanges({ feed: source, to, leases, map: 'body' } as never)],
    ['group', () => forwardChanges({ feed: source, to, leases, group: 5 } as never)],
    ['where', () => archiveDocuments({ source, sink } as never)],
    ['sink', () => syncTo({ feed: source, leases, group: 'g', sink: {} } as never)],
    ['group', () => syncTo({ feed: source, leases, sink } as never)],
    ['table', () => postgresSink({ pool: { query: mapDocument } } as never)],
    ['folder', () => jsonLinesSink({ folder: 5 } as never)],
  ]
  for (const [name, make] of refused) {
    const call = async (): Promise<unknown> => make()
    await expect(call(), name).rejects.toMatchObject({
      code: 'ERR_INVALID_OPTION',
      message: expect.stringContaining(name),
    })
  }
  migrateCollection(migration as never)
})
