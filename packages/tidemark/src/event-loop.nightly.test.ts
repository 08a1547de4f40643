import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { FULL_RANGE, type DocumentBody } from '@tidemark/contracts'
import { openSqliteEngine } from '@tidemark/engine-sqlite'
import { archiveDocuments, migrateCollection } from '@tidemark/jobs'
import { MemoryLeaseStore } from '@tidemark/processor'
import { Store, type Collection } from '@tidemark/store'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ReadLedger, ShiftedClock } from '@tidemark/testing'
import { tidemark } from './cli/commands/command-runner.child.ts'

/*
 * What an embedded store reads, it reads on the caller's thread. A heartbeat of that process waits for the reads
 * of one turn of its event loop, so these are bounded: in rows and in bytes, whatever the machine. The
 * milliseconds are measured by `npm run bench -- --only event-loop`.
 */

/** A step of a count is half of it; the rest is for the pages that others read in that turn. */
const ROWS_A_TURN = 10_000
/** A page, and what comes before it in the same turn. */
const BYTES_A_TURN = 6 * 1024 * 1024

const DOCUMENTS = 16_000
/** So many are of one partition key value, and so of one EPK. */
const OF_ONE_KEY = 11_000

interface Note extends DocumentBody {
  readonly pk: string
  readonly text: string
  readonly ttl?: number
}

const clock = new ShiftedClock()

let folder = ''
let store: Store
let notes: Collection<Note>

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tidemark-'))
  const engine = await openSqliteEngine({ folder, durability: 'relaxed', clock })
  store = await Store.open({ engine, maintenance: 'manual' })
  const database = store.database('db')
  notes = await database.createCollectionIfNotExists<Note>({
    id: 'notes',
    partitionKey: '/pk',
    defaultTtl: -1,
  })
  const text = 'x'.repeat(300)
  for (let from = 0; from < OF_ONE_KEY; from += 100) {
    const ids = Array.from({ length: 100 }, (_, n) => from + n)
    await notes.batch(
      'one',
      ids.map((n) => ({
        kind: 'create',
        document: { id: `n${n}`, pk: 'one', text, ttl: 86_400 },
      })),
    )
  }
  const others = Array.from({ length: DOCUMENTS - OF_ONE_KEY }, (_, n) => n)
  await Promise.all(others.map((n) => notes.create({ id: `o${n}`, pk: `p${n}`, text })))
})
afterAll(async () => {
  await store.close()
  await rm(folder, { recursive: true })
})

/** Runs `act`, which reads at least `rows` rows on this thread, and none of the turns too many. */
async function expectBounded<Result>(rows: number, act: () => Promise<Result>): Promise<Result> {
  using ledger = new ReadLedger()
  const result = await act()
  expect(ledger.total.rows).toBeGreaterThanOrEqual(rows)
  expect(ledger.most.rows).toBeLessThanOrEqual(ROWS_A_TURN)
  expect(ledger.most.bytes).toBeLessThanOrEqual(BYTES_A_TURN)
  return result
}

/** Documents in key order, page after page. */
async function scanned(): Promise<number> {
  let read = 0
  let continuation: string | undefined
  do {
    const page = await notes.readDocuments({ continuation })
    read += page.documents.length
    ;({ continuation } = page)
  } while (continuation !== undefined)
  return read
}

describe('no turn of the event loop reads more than its share', () => {
  test('in a count', async () => {
    expect(await expectBounded(DOCUMENTS, () => notes.count())).toBe(DOCUMENTS)
  })

  test('in several counts at once', async () => {
    const counts = await expectBounded(3 * DOCUMENTS, () =>
      Promise.all([notes.count(), notes.count(), notes.count()]),
    )
    expect(counts).toEqual([DOCUMENTS, DOCUMENTS, DOCUMENTS])
  })

  test('in measuring how far a reader is behind', async () => {
    const range = FULL_RANGE
    const { continuation } = await notes.resolveStart({ range, start: 'beginning' })
    const lag = await expectBounded(DOCUMENTS, () =>
      notes.measureLag({ range, continuation, limit: 100_000 }),
    )
    expect(lag).toMatchObject({ remainingChanges: DOCUMENTS, isExact: true })
  })

  test('in a scan and in reading the feed', async () => {
    expect(await expectBounded(DOCUMENTS, scanned)).toBe(DOCUMENTS)
    await expectBounded(DOCUMENTS, async () => {
      let read = 0
      for await (const { changes } of notes.changes({ from: 'beginning', follow: false }))
        read += changes.length
      expect(read).toBe(DOCUMENTS)
    })
  })

  test('in a start at a time, of a part of a range and after a merge that was folded', async () => {
    const copies = await store.database('db').createCollectionIfNotExists<Note>({
      id: 'copies',
      partitionKey: '/pk',
    })
    const others = Array.from({ length: OF_ONE_KEY }, (_, n) => n)
    await Promise.all(others.map((n) => copies.create({ id: `c${n}`, pk: `p${n}`, text: '' })))
    // Nothing is in the highest keys: all rows before it are looked at.
    const range = { minInclusive: 'FE'.padEnd(32, 'F'), maxExclusive: 'FF' }
    const startAt = { range, start: new Date(clock.wallMs() - 60_000) } as const
    const { lsn } = await copies.resolveStart({ range, start: 'now' })
    const bySlot = await expectBounded(OF_ONE_KEY, () => copies.resolveStart(startAt))
    expect(bySlot.lsn).toBe(lsn)

    const [whole] = await copies.readFeedRanges()
    const [low, high] = await copies.split(whole?.id ?? '')
    await copies.merge(low.id, high.id)
    await store.runMaintenance()
    const { lsn: folded } = await copies.resolveStart({ range, start: 'now' })
    const byRow = await expectBounded(OF_ONE_KEY, () => copies.resolveStart(startAt))
    expect(byRow.lsn).toBe(folded)
  })

  test('in what expires when', async () => {
    const expiry = await expectBounded(OF_ONE_KEY, () => notes.readExpiry())
    expect(expiry).toMatchObject({ withExpiry: OF_ONE_KEY })
  })

  test('in a check, which a thread does', async () => {
    expect(await expectBounded(0, () => store.check())).toEqual([])
  })

  test('in the command', async () => {
    const target = ['db/notes', '--store', folder]
    const listed = await expectBounded(DOCUMENTS, () => tidemark('ranges', 'ls', ...target))
    expect(listed).toMatchObject({ code: 0, errors: '' })
    const checked = await expectBounded(0, () => tidemark('store', 'check', folder, '--deep'))
    expect(checked).toMatchObject({ code: 0, errors: '' })
  })

  test('in an archive', async () => {
    const archived = expectBounded(DOCUMENTS, () =>
      archiveDocuments({
        source: notes,
        where: () => false,
        sink: { write: async () => {}, verify: async (batch) => batch.map(() => true) },
      }),
    )
    expect(await archived).toMatchObject({ scanned: DOCUMENTS })
  })

  test('in a migration that tells how far it is', async () => {
    let told = 0
    const migration = migrateCollection<Note, Note>({
      job: 'by-id',
      hostName: 'worker',
      source: notes,
      target: { database: store.database('db'), id: 'byId', partitionKey: '/id' },
      leases: new MemoryLeaseStore(),
      mapDocument: (note) => note,
      onProgress: () => told++,
      progressIntervalMs: 100,
    })
    await expectBounded(DOCUMENTS, async () => {
      await migration.start()
      await migration.cutOver()
      await migration.stop()
    })
    expect(told).toBeGreaterThan(0)
    expect(await migration.target.count()).toBe(DOCUMENTS)
  })

  test('in going past what has expired', async () => {
    clock.step(100_000_000)
    expect(await expectBounded(DOCUMENTS, scanned)).toBe(DOCUMENTS - OF_ONE_KEY)
    expect(await expectBounded(DOCUMENTS, () => notes.count())).toBe(DOCUMENTS - OF_ONE_KEY)
  })

  test('in telling of many pending deletes', async () => {
    clock.step(100_000_000)
    await store.runMaintenance()
    const expiry = await expectBounded(0, () => notes.readExpiry())
    expect(expiry).toMatchObject({ withExpiry: 0, unswept: 0, pendingDeletes: OF_ONE_KEY })
  })
})
