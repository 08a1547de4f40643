import { mkdtemp, readFile, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Worker } from 'node:worker_threads'
import type { CollectionRecord, CommitOutcome, DatabaseEngine } from '@tidemark/store/engine'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { isBusy } from './connection/sqlite-error.ts'
import { commitOne, openCollection } from './several-processes.child.ts'
import { openSqliteEngine, type SqliteEngineOptions } from './sqlite-engine.ts'

const MIB = 2 ** 20

let folder = ''
const closing: (() => Promise<void> | void)[] = []
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tidemark-'))
})
afterEach(async () => {
  vi.restoreAllMocks()
  for (const close of closing.splice(0).toReversed()) await close()
  await rm(folder, { recursive: true, force: true })
})

async function open(
  options: Partial<SqliteEngineOptions> = {},
): Promise<{ database: DatabaseEngine; collection: CollectionRecord }> {
  const engine = await openSqliteEngine({ folder, ...options })
  closing.push(() => engine.close())
  return openCollection(engine)
}

async function databaseFile(): Promise<string> {
  const name = (await readdir(folder)).find((each) => /^db-.*\.sqlite$/.test(each))
  return join(folder, name ?? '')
}

/** Writes documents in one turn. */
function writeAtOnce(
  { database, collection }: { database: DatabaseEngine; collection: CollectionRecord },
  { count, bytes }: { count: number; bytes: number },
): readonly Promise<CommitOutcome>[] {
  return Array.from({ length: count }, (_, n) =>
    commitOne(database, collection, { id: `d${n}`, filler: 'x'.repeat(bytes) }),
  )
}

/** Transactions in the log since `act` began. A reader's mark keeps the log from being written over meanwhile. */
async function transactionsOf(act: () => Promise<void>): Promise<number> {
  const file = await databaseFile()
  const reader = new DatabaseSync(file, { timeout: 5000 })
  reader.exec('BEGIN')
  reader.prepare('SELECT count(*) FROM doc').get()
  const before = await countTransactions(`${file}-wal`)
  await act()
  const after = await countTransactions(`${file}-wal`)
  reader.close()
  return after - before
}

/** A frame of the log that ends a transaction says how large the database is afterwards (SQLite's file format, 4.1). */
async function countTransactions(log: string): Promise<number> {
  const content = await readFile(log)
  const frameBytes = content.readUInt32BE(8) + 24
  let count = 0
  for (let at = 32; at + frameBytes <= content.length; at += frameBytes) {
    if (content.readUInt32BE(at + 4) > 0) count++
  }
  return count
}

test.each([
  ['operations', { count: 100, bytes: 10 }, { maxGroupOperations: 10 }, 10],
  ['bytes', { count: 20, bytes: MIB }, {}, 3],
])(
  'the writes of one turn are several transactions when they are many, by %s, in order',
  async (_what, writes, options, least) => {
    const place = await open(options)
    let outcomes: readonly CommitOutcome[] = []
    const transactions = await transactionsOf(async () => {
      outcomes = await Promise.all(writeAtOnce(place, writes))
    })
    expect(transactions).toBeGreaterThanOrEqual(least)
    expect(transactions).toBeLessThan(writes.count)
    const lsns = outcomes.map((each) => each.kind === 'committed' && each.batches[0]?.lsn)
    expect(lsns).toEqual(Array.from({ length: writes.count }, (_, n) => n + 1))
  },
)

test('another writer of the folder has its turn between the groups of a large turn', async () => {
  const large = await open({ maxGroupOperations: 4 })
  const small = await open()
  const writes = writeAtOnce(large, { count: 32, bytes: MIB })
  await lockIsHeld()
  const between = await commitOne(small.database, small.collection, { id: 'small' })
  await Promise.all(writes)
  const place = between.kind === 'committed' ? (between.batches[0]?.lsn ?? 0) : 0
  expect(place).toBeGreaterThan(1)
  expect(place).toBeLessThanOrEqual(writes.length)
})

/** Resolves while somebody writes. */
async function lockIsHeld(): Promise<void> {
  const probe = new DatabaseSync(await databaseFile(), { timeout: 0 })
  try {
    for (;;) {
      probe.exec('BEGIN IMMEDIATE')
      probe.exec('ROLLBACK')
      await new Promise((resolve) => setImmediate(resolve))
    }
  } catch (error) {
    if (!isBusy(error)) throw error
  } finally {
    probe.close()
  }
}

test('texts of one turn cross to the writer in bounded messages, also those of a closing store', async () => {
  const place = await open()
  const posted: string[] = []
  // oxlint-disable-next-line typescript/unbound-method -- called with the worker as `this` below
  const post = Worker.prototype.postMessage
  vi.spyOn(Worker.prototype, 'postMessage').mockImplementation(function (
    this: Worker,
    ...values: Parameters<typeof post>
  ) {
    posted.push(JSON.stringify(values[0]))
    return post.apply(this, values)
  })
  const writes = writeAtOnce(place, { count: 34, bytes: MIB })
  const [close] = closing.splice(0)
  await close?.()
  for (const { kind } of await Promise.all(writes)) expect(kind).toBe('committed')
  expect(posted.length).toBeGreaterThan(2)
  expect(Math.max(...posted.map(({ length }) => length))).toBeLessThan(17 * MIB)
  // The thread would end without what is asked for afterwards.
  expect(posted.indexOf('{"kind":"close"}')).toBe(posted.length - 1)
})

test('a lock held for too long refuses all that waited, as errors that may pass', async () => {
  const place = await open({ lockTimeoutMs: 50 })
  const other = new DatabaseSync(await databaseFile(), { timeout: 5000 })
  other.exec('BEGIN IMMEDIATE')
  const refused = await Promise.allSettled(writeAtOnce(place, { count: 18, bytes: MIB }))
  for (const outcome of refused) {
    expect(outcome).toMatchObject({
      status: 'rejected',
      reason: {
        code: 'ERR_STORE_UNAVAILABLE',
        retryable: true,
        message: expect.stringMatching(/held by another process/),
      },
    })
  }
  other.exec('ROLLBACK')
  other.close()
  expect(await commitOne(place.database, place.collection, { id: 'x' })).toMatchObject({
    kind: 'committed',
    batches: [{ lsn: 1 }],
  })
})
