import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { FULL_RANGE, partitionKeyDefinition } from '@tidemark/contracts'
import type { CommitRequest, DatabaseEngine, StorageEngine } from '@tidemark/store/engine'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { openTestedEngine, type TestedEngineOptions } from './testing.ts'

let folder = ''
let engine: StorageEngine | undefined
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tidemark-'))
})
afterEach(async () => {
  vi.restoreAllMocks()
  await engine?.close()
  await rm(folder, { recursive: true, force: true })
})

async function openDatabase(
  options: Partial<TestedEngineOptions> = {},
): Promise<{ database: DatabaseEngine; request: (id: string) => CommitRequest }> {
  engine = await openTestedEngine({ folder, ...options })
  await engine.createDatabase('db')
  const database = await engine.openDatabase('db')
  const collection = await database.createCollection(
    'coll',
    {
      partitionKey: partitionKeyDefinition('/pk'),
      defaultTtl: null,
      indexingMode: 'consistent',
      pendingDeletes: { retentionSeconds: 3600, waitFor: [] },
      allVersions: null,
      splitAboveBytes: null,
    },
    [FULL_RANGE],
  )
  const request = (id: string): CommitRequest => {
    const condition = { kind: 'none' } as const
    const body = JSON.stringify({ id })
    const operation = { kind: 'put', id, condition, rid: 'r', body, ttl: 0 } as const
    return {
      batches: [
        {
          collection: collection.number,
          epk: '1A',
          partitionKey: '["p"]',
          operations: [operation],
        },
      ],
    }
  }
  return { database, request }
}

/** Every thread that gets a message from now on. */
function watchThreads(): ReadonlySet<Worker> {
  const workers = new Set<Worker>()
  // oxlint-disable-next-line typescript/unbound-method -- called with the worker as `this` below
  const post = Worker.prototype.postMessage
  vi.spyOn(Worker.prototype, 'postMessage').mockImplementation(function (
    this: Worker,
    ...values: Parameters<typeof post>
  ) {
    workers.add(this)
    return post.apply(this, values)
  })
  return workers
}

test('a thread whose file was closed serves the next one, and each open file has its own', async () => {
  const { request } = await openDatabase()
  await engine?.createDatabase('other')
  await engine?.close()
  const workers = watchThreads()
  const open = async (id: string): Promise<void> => {
    engine = await openTestedEngine({ folder })
    const database = await engine.openDatabase('db')
    expect(await database.commit(request(id))).toMatchObject({ kind: 'committed' })
    expect(await database.check()).toEqual([])
  }
  await open('a')
  await engine?.close()
  await open('b')
  expect(workers.size).toBe(1)
  await engine?.openDatabase('other')
  expect(workers.size).toBe(2)
})

test('when the writer dies, pending and later commits are refused, and reads go on', async () => {
  const workers = watchThreads()
  const { database, request } = await openDatabase()
  await database.commit(request('before'))
  const pending = Promise.allSettled(
    Array.from({ length: 20 }, (_, n) => database.commit(request(`d${n}`))),
  )
  for (const worker of workers) await worker.terminate()
  const unavailable = { code: 'ERR_STORE_UNAVAILABLE' }
  for (const outcome of await pending) {
    if (outcome.status === 'rejected') expect(outcome.reason).toMatchObject(unavailable)
  }
  // Trying again is no use in this process.
  const closed = {
    code: 'ERR_STORE_CLOSED',
    message: expect.stringContaining('the writer stopped'),
  }
  await expect(database.commit(request('after'))).rejects.toMatchObject(closed)
  await expect(database.deleteCollection('coll')).rejects.toMatchObject(closed)
  expect((await database.listCollections()).map(({ id }) => id)).toEqual(['coll'])
  await engine?.close()
  // Nothing is broken on disk.
  engine = await openTestedEngine({ folder })
  const reopened = await engine.openDatabase('db')
  expect(await reopened.commit(request('again'))).toMatchObject({ kind: 'committed' })
  expect(await reopened.check()).toEqual([])
})

test('more commits than may wait are refused at once, and the others are carried out', async () => {
  const { database, request } = await openDatabase({ maxPendingCommits: 10 })
  const outcomes = await Promise.allSettled(
    Array.from({ length: 15 }, (_, n) => database.commit(request(`d${n}`))),
  )
  const refused = outcomes.filter((outcome) => outcome.status === 'rejected')
  expect(refused).toHaveLength(5)
  for (const { reason } of refused) expect(reason).toMatchObject({ code: 'ERR_STORE_UNAVAILABLE' })
  const collection = (await database.listCollections())[0]
  expect(collection && (await database.countDocuments(collection))).toBe(10)
})

test('closing carries out what was accepted', async () => {
  const { database, request } = await openDatabase()
  const pending = Array.from({ length: 50 }, (_, n) => database.commit(request(`d${n}`)))
  await engine?.close()
  for (const outcome of await Promise.all(pending)) expect(outcome.kind).toBe('committed')
  await expect(database.commit(request('late'))).rejects.toMatchObject({ code: 'ERR_STORE_CLOSED' })
})

test.each([
  [{ durability: 'fast' as never }, /durability.*"fast"/],
  [{ maxPendingCommits: 0 }, /maxPendingCommits.*0/],
  [{ maxGroupOperations: 1.5 }, /maxGroupOperations.*1.5/],
  [{ lockTimeoutMs: -1 }, /lockTimeoutMs.*-1/],
  [{ maxLogBytes: 0 }, /maxLogBytes.*0/],
  [{ segmentSlots: 2 ** 32 }, /segmentSlots/],
])('a wrong option %o is refused and named', async (options, message) => {
  await expect(openTestedEngine({ folder, ...options })).rejects.toMatchObject({
    code: 'ERR_INVALID_OPTION',
    message: expect.stringMatching(message),
  })
})

test('a flush asks the thread for what it owes, and the thread syncs by itself when nobody asks', async () => {
  const workers = watchThreads()
  const { database, request } = await openDatabase()
  const [thread] = [...workers].slice(-1)
  const flushes = (): number =>
    vi
      // oxlint-disable-next-line typescript/unbound-method -- only its calls are looked at
      .mocked(Worker.prototype.postMessage)
      .mock.calls.filter(([message]) => JSON.stringify(message).includes('"kind":"flush"')).length
  await database.commit({ ...request('a'), sync: false })
  await database.flush?.()
  expect(flushes()).toBe(0)
  await database.commit({ ...request('b'), sync: false })
  await database.flush?.()
  expect(flushes()).toBe(1)
  await database.commit({ ...request('c'), sync: false })
  // What the thread told of earlier commits has come before the answer.
  const synced = new Promise<void>((resolve) => {
    thread?.on('message', ({ kind }: { readonly kind: string }) => {
      if (kind === 'synced') resolve()
    })
  })
  thread?.ref()
  await synced
  thread?.unref()
  await database.flush?.()
  expect(flushes()).toBe(1)
})
