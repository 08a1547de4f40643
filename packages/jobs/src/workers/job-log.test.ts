import { afterEach, describe, expect, test, vi } from 'vitest'
import { textLogger } from '@tidemark/contracts'
import { MemoryLeaseStore } from '@tidemark/processor'
import type { Store } from '@tidemark/store'
import { SimulatedClock, openMemoryStore } from '@tidemark/testing'
import { archiveExpired } from '../archive/archive-expired.ts'
import { inTime } from '../in-time.fixture.ts'
import { migrateCollection, type Migration } from '../migration/migrate-collection.ts'
import type { MigrationEvent } from '../migration/migration-events.ts'
import type { MigrationOptions } from '../migration/migration-options.ts'

interface Stage extends AsyncDisposable {
  readonly store: Store
  readonly start: (options?: Partial<MigrationOptions<never, never>>) => Promise<void>
  readonly clock: SimulatedClock
  readonly stderr: () => string
}

/** A migration whose map fails. */
async function stage(): Promise<Stage> {
  const written = vi.spyOn(process.stderr, 'write').mockImplementation(() => true)
  const clock = new SimulatedClock()
  const store = await openMemoryStore({ clock })
  const database = store.database('shop')
  const source = await database.createCollectionIfNotExists({ id: 'a', partitionKey: '/id' })
  await source.upsert({ id: '1' })
  const migrations: Migration<never>[] = []
  return {
    store,
    clock,
    stderr: () => written.mock.calls.map(([line]) => String(line)).join(''),
    async start(options) {
      const migration = migrateCollection<never, never>({
        job: 'copy',
        hostName: 'one',
        source: database.collection<never>('a'),
        target: { database, id: 'b', partitionKey: '/id' },
        leases: new MemoryLeaseStore({ clock }),
        mapDocument: () => {
          throw new Error('no such map')
        },
        clock,
        ...options,
      })
      migrations.push(migration)
      await inTime(clock, migration.start())
      await clock.advance(1_000)
    },
    async [Symbol.asyncDispose]() {
      for (const migration of migrations) await inTime(clock, migration.stop())
      await store.close()
    },
  }
}

afterEach(() => vi.restoreAllMocks())

describe('a job that nobody listens to tells of trouble on the standard error output', () => {
  test('a document that cannot be written', async () => {
    await using job = await stage()
    await job.start()
    expect(job.stderr()).toContain('Error: no such map')
  })

  test('a password in the message of an error is hidden', async () => {
    await using job = await stage()
    await job.start({
      mapDocument: () => {
        throw new Error('connect failed: postgres://user:secret@db/shop')
      },
    })
    expect(job.stderr()).toContain('Error: connect failed: postgres://…@db/shop')
    expect(job.stderr()).not.toContain('secret')
  })

  test('a worker that ends by itself', async () => {
    await using job = await stage()
    await job.start()
    await job.store.close()
    await job.clock.advance(40_000)
    expect(job.stderr()).toContain('the host stopped: ERR_STORE_CLOSED')
  })

  test('to listeners it is an event, and no line', async () => {
    await using job = await stage()
    const events: MigrationEvent[] = []
    await job.start({ onEvent: (event) => events.push(event) })
    await job.store.close()
    await job.clock.advance(40_000)
    const told = events.flatMap((event) => (event.kind === 'failure' ? [event.what] : []))
    expect(told).toContain('batch')
    expect(told.filter((what) => what === 'worker')).toHaveLength(1)
    expect(job.stderr()).toBe('')
  })

  test('a logger that is given gets it, in an archive too', async () => {
    await using job = await stage()
    const lines: string[] = []
    const archive = archiveExpired({
      source: job.store.database('shop').collection('a'),
      sink: { write: () => Promise.reject(new Error('disk full')) },
      leases: new MemoryLeaseStore({ clock: job.clock }),
      logger: textLogger((line) => void lines.push(line)),
      clock: job.clock,
    })
    await inTime(job.clock, archive.start())
    await job.store.close()
    await job.clock.advance(40_000)
    await inTime(job.clock, archive.stop())
    expect(lines.join()).toContain('the host stopped: ERR_STORE_CLOSED')
    expect(job.stderr()).toBe('')
  })
})

describe('a migration that will not see deletes says so when it starts', () => {
  const unseen = (events: readonly MigrationEvent[]): readonly MigrationEvent[] =>
    events.filter(({ kind }) => kind === 'deletesUnseen')

  test('as an event, with what the source keeps', async () => {
    await using job = await stage()
    const events: MigrationEvent[] = []
    await job.start({ onEvent: (event) => events.push(event) })
    const warning = { kind: 'deletesUnseen', source: 'shop/a' }
    expect(unseen(events)).toEqual([{ ...warning, isLogKept: false }])

    const allVersions = { retentionSeconds: 60 }
    await job.store.database('shop').collection('a').updateSettings({ allVersions })
    await job.start({ job: 'other', onEvent: (event) => events.push(event) })
    expect(unseen(events).at(-1)).toEqual({ ...warning, isLogKept: true })
    expect(job.stderr()).toBe('')
  })

  test('as a line, when nobody listens', async () => {
    await using job = await stage()
    await job.start()
    expect(job.stderr()).toContain('what is deleted in shop/a stays in the target')
  })

  test('not when the program says what it wants', async () => {
    await using job = await stage()
    const events: MigrationEvent[] = []
    await job.start({ deletes: 'ignore', onEvent: (event) => events.push(event) })
    const allVersions = { retentionSeconds: 60 }
    await job.store.database('shop').collection('a').updateSettings({ allVersions })
    await job.start({ job: 'other', deletes: 'apply', onEvent: (event) => events.push(event) })
    expect(unseen(events)).toEqual([])
  })
})
