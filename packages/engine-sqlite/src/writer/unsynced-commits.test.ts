import { statSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { FULL_RANGE, partitionKeyDefinition } from '@tidemark/contracts'
import type { CommitRequest } from '@tidemark/store/engine'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { Connection } from '../connection/connection.ts'
import { createDatabaseFile, prepareDatabaseFile } from '../folder/database-file.ts'
import { openFileWriter } from './file-writer.ts'
import type { WriterRequest, WriterTask } from './writer-messages.ts'

let folder = ''
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tidemark-'))
})
afterEach(() => vi.restoreAllMocks())
afterEach(() => rm(folder, { recursive: true, force: true }))

const COLLECTION: WriterTask = {
  kind: 'createCollection',
  collectionId: 'coll',
  databaseRid: 'rid',
  definition: {
    partitionKey: partitionKeyDefinition('/pk'),
    defaultTtl: null,
    indexingMode: 'consistent',
    pendingDeletes: { retentionSeconds: 3600, waitFor: [] },
    allVersions: null,
    splitAboveBytes: null,
  },
  ranges: [FULL_RANGE],
}
const FLUSH: WriterTask = { kind: 'flush' }

function commitOf(id: string, options: Partial<CommitRequest> = {}): WriterTask {
  const condition = { kind: 'none' } as const
  const put = { kind: 'put', id, condition, rid: 'r', body: '{}', ttl: 0 } as const
  const batch = { collection: 1, epk: '1A', partitionKey: '["p"]', operations: [put] }
  return { kind: 'commit', batches: [batch], ...options }
}

const later = { sync: false } as const
/** Not there, so that the commit writes nothing. */
const REFUSED: WriterTask = {
  kind: 'commit',
  batches: [
    {
      collection: 1,
      epk: '1A',
      partitionKey: '["p"]',
      operations: [{ kind: 'check', id: 'none', condition: { kind: 'lsn', lsn: 99 } }],
    },
  ],
}

interface WriterOptions {
  readonly durability?: 'sync' | 'relaxed'
  readonly maxLogBytes?: number
}

function writerOf({ durability = 'sync', maxLogBytes = 2 ** 26 }: WriterOptions = {}) {
  const file = join(folder, 'db.sqlite')
  createDatabaseFile(file, 'owner')
  const synced: string[] = []
  let nowMs = 0
  let failing = false
  const opened = openFileWriter(
    {
      file,
      durability,
      processId: 'me',
      bootId: 'boot-1',
      segmentSlots: 2 ** 31,
      lockTimeoutMs: 100,
      maxGroupOperations: 2000,
      maxLogBytes,
    },
    {
      clock: { sleep: () => undefined, monotonicMs: () => nowMs, fraction: () => 0 },
      openSyncedFile: (path) => ({
        sync: () => {
          if (failing) throw new Error('EIO')
          synced.push(path)
        },
        close: () => undefined,
      }),
    },
  )
  let id = 0
  return {
    ...opened,
    file,
    /** Files that were synced beside SQLite. */
    synced,
    log: `${file}-wal`,
    keepShort: () => opened.log.keepShort(),
    run: (...tasks: readonly WriterTask[]) => {
      const requests = tasks.map((task): WriterRequest => ({ id: id++, nowMs: 0, chars: 0, task }))
      return opened.writer.runGroup(requests).map(({ result }) => result.kind)
    },
    pass: (ms: number) => void (nowMs += ms),
    fail: (fails = true) => void (failing = fails),
    /** As another process sees the file. */
    query: (sql: string) => {
      const other = new DatabaseSync(file, { timeout: 100 })
      try {
        return other.prepare(sql).all()
      } finally {
        other.close()
      }
    },
  }
}

const MARKS = `SELECT name, value FROM meta WHERE name LIKE 'relaxed:%'`
const MARK = { name: 'relaxed:me', value: 'boot-1' }

test('commits that wait for the disk leave no mark, and nothing to sync', () => {
  const { run, query, unsynced } = writerOf()
  const fence = { job: 'j', range: FULL_RANGE, epoch: 1 }
  const sends = { database: 'db', commands: [] } as never
  run(COLLECTION, FLUSH, commitOf('a'), commitOf('b', { ...later, fence }))
  run(commitOf('b', { ...later, sends }))
  expect(query(MARKS)).toEqual([])
  expect(unsynced.any).toBe(false)
})

test('the first commit that does not wait is synced, with the mark of the boot', () => {
  const { run, query, unsynced } = writerOf()
  run(COLLECTION)
  run(commitOf('a', later))
  expect(query(MARKS)).toEqual([MARK])
  expect(unsynced.any).toBe(false)
  run(commitOf('b', later))
  expect(unsynced.any).toBe(true)
  expect(query('SELECT count(*) AS n FROM doc')).toEqual([{ n: 2 }])
})

test('it is due after 200 ms from the first of them, or after many', () => {
  const { run, pass, unsynced } = writerOf()
  run(COLLECTION, commitOf('a', later))
  expect(unsynced.dueInMs).toBeUndefined()
  run(commitOf('b', later))
  expect(unsynced.dueInMs).toBe(200)
  pass(150)
  run(commitOf('c', later))
  expect(unsynced.dueInMs).toBe(50)
  pass(60)
  expect(unsynced.dueInMs).toBe(0)
  unsynced.sync()
  expect(unsynced.dueInMs).toBeUndefined()
})

test('and when they are many, with the group that makes them so', () => {
  const { run, unsynced, synced, log } = writerOf()
  run(COLLECTION, commitOf('a', later))
  const condition = { kind: 'absent' } as const
  const checks = Array.from({ length: 8192 }, (_, n) => {
    return { kind: 'check', id: `n${n}`, condition } as const
  })
  const batch = { collection: 1, epk: '1A', partitionKey: '["p"]', operations: checks }
  const many: WriterTask = { kind: 'commit', batches: [batch], sync: false }
  for (let group = 0; group < 8; group++) run(many)
  expect(unsynced.any).toBe(true)
  expect(synced).toEqual([])
  run(commitOf('b', later))
  expect(unsynced.any).toBe(false)
  expect(synced).toEqual([log])
})

test('a synced commit of the same group or a later one puts them on disk; one that is refused does not', () => {
  const { run, unsynced, synced } = writerOf()
  run(COLLECTION, commitOf('a', later))
  run(commitOf('b', later), commitOf('c'))
  expect(unsynced.any).toBe(false)
  run(commitOf('d', later))
  run(REFUSED)
  expect(unsynced.any).toBe(true)
  run(commitOf('e'))
  expect(unsynced.any).toBe(false)
  expect(synced).toEqual([])
})

test('a flush syncs the log once for all that came before, and nothing when there is nothing', () => {
  const { run, synced, log } = writerOf()
  run(COLLECTION, commitOf('a', later))
  expect(run(FLUSH)).toEqual(['done'])
  expect(synced).toEqual([])
  run(commitOf('b', later))
  expect(run(FLUSH, FLUSH)).toEqual(['done', 'done'])
  expect(synced).toEqual([log])
  expect(run(commitOf('c', later), FLUSH)).toEqual(['committed', 'done'])
  expect(synced).toEqual([log, log])
  // Nothing of this group is written, so that nothing was synced with it.
  run(commitOf('d', later))
  run(REFUSED, FLUSH)
  expect(synced).toEqual([log, log, log])
})

test('what cannot be synced is not answered as if it were', () => {
  const { run, fail, unsynced } = writerOf()
  run(COLLECTION, commitOf('a', later))
  fail()
  run(commitOf('b', later))
  expect(() => run(FLUSH)).toThrow('EIO')
  expect(unsynced.any).toBe(true)
  fail(false)
  expect(() => run(FLUSH)).toThrow('EIO')
})

test('after a sync that failed, the next opening begins an epoch in the same boot', async () => {
  const { run, fail, file, query } = writerOf()
  run(COLLECTION, commitOf('a', later))
  fail()
  run(commitOf('b', later))
  expect(() => run(FLUSH)).toThrow('EIO')
  const clock = { wallMs: () => 0, monotonicMs: () => 0 } as never
  await prepareDatabaseFile(file, { bootId: 'boot-1', clock })
  expect(query(MARKS)).toEqual([])
  expect(query('SELECT max(epoch) AS n FROM segment')).toEqual([{ n: 1 }])
})

/** A sync of SQLite's own that the disk fails, once. */
function failSqlite(method: 'exec' | 'get', statement: string): () => number {
  const real = Connection.prototype[method] as (this: Connection, sql: string) => never
  let failed = 0
  vi.spyOn(Connection.prototype, method).mockImplementation(function (
    this: Connection,
    sql: string,
  ) {
    if (!sql.includes(statement) || failed > 0) return real.call(this, sql)
    failed++
    throw Object.assign(new Error('disk I/O error'), { errcode: 1034 })
  })
  return () => failed
}

test.each([1, 2])('a synced commit of %i that meets a failed sync ends the writer', (count) => {
  const { run, unsynced } = writerOf()
  run(COLLECTION, commitOf('a', later))
  run(commitOf('b', later))
  const failed = failSqlite('exec', 'COMMIT')
  expect(() => run(...Array.from({ length: count }, () => commitOf('c')))).toThrow('disk I/O error')
  expect(failed()).toBe(1)
  expect(unsynced.any).toBe(true)
  expect(() => run(FLUSH)).toThrow('disk I/O error')
})

test('with nothing unsynced, a failed sync fails only that commit', () => {
  const { run } = writerOf()
  run(COLLECTION, commitOf('a', later))
  const failed = failSqlite('exec', 'COMMIT')
  expect(run(commitOf('c'))).toEqual(['failed'])
  expect(failed()).toBe(1)
  expect(run(commitOf('c'), FLUSH)).toEqual(['committed', 'done'])
})

test('a checkpoint of SQLite that meets a failed sync ends the writer', () => {
  const { run, keepShort } = writerOf({ maxLogBytes: 1 })
  run(COLLECTION, commitOf('a', later))
  run(commitOf('b', later))
  const failed = failSqlite('get', 'wal_checkpoint')
  expect(() => keepShort()).toThrow('disk I/O error')
  expect(failed()).toBe(1)
  expect(() => run(FLUSH)).toThrow('disk I/O error')
})

test('no commit syncs the log by a checkpoint whose failure nobody sees', () => {
  const { run, file, unsynced } = writerOf()
  const body = JSON.stringify({ text: 'x'.repeat(2 ** 20) })
  const large = (id: string, options: Partial<CommitRequest> = {}): WriterTask => {
    const condition = { kind: 'none' } as const
    const operations = [{ kind: 'put', id, condition, rid: id, body, ttl: 0 } as const]
    const batch = { collection: 1, epk: '1A', partitionKey: '["p"]', operations }
    return { kind: 'commit', batches: [batch], ...options }
  }
  run(COLLECTION, commitOf('a', later))
  const bytes = statSync(file).size
  for (let n = 0; n < 8; n++) run(large(`n${n}`, later))
  expect(unsynced.any).toBe(true)
  expect(statSync(file).size).toBe(bytes)
  // That of a synced commit comes after its own sync, which tells.
  run(large('n8'))
  expect(statSync(file).size).toBeGreaterThan(bytes + 8 * body.length)
})

test('that another process removed the mark is not forgotten before the next commit that needs it', () => {
  const { run, query, synced, log } = writerOf()
  run(COLLECTION, commitOf('a', later))
  query(`DELETE FROM meta WHERE name LIKE 'relaxed:%'`)
  run(commitOf('b'))
  run(commitOf('c', later))
  expect(query(MARKS)).toEqual([MARK])
  expect(synced).toEqual([log])
  query(`DELETE FROM meta WHERE name LIKE 'relaxed:%'`)
  const failed = failSqlite('exec', 'COMMIT')
  expect(run(commitOf('d'))).toEqual(['failed'])
  expect(failed()).toBe(1)
  run(commitOf('e', later))
  expect(query(MARKS)).toEqual([MARK])
})

test('a mark that another process removed is written again before the answer', () => {
  const { run, query, synced, log } = writerOf()
  run(COLLECTION, commitOf('a', later))
  query(`DELETE FROM meta WHERE name LIKE 'relaxed:%'`)
  run(commitOf('b', later))
  expect(query(MARKS)).toEqual([MARK])
  expect(synced).toEqual([log])
})

test('a close syncs, and removes the mark', () => {
  const closing = writerOf()
  closing.run(COLLECTION, commitOf('a', later))
  closing.run(commitOf('b', later))
  closing.writer.close()
  expect(closing.synced).toEqual([closing.log])
  expect(closing.query(MARKS)).toEqual([])
})

test('relaxed, no request waits for the disk', () => {
  const { run, query, unsynced } = writerOf({ durability: 'relaxed' })
  run(COLLECTION)
  expect(query(MARKS)).toEqual([MARK])
  run(commitOf('a'))
  expect(unsynced.any).toBe(true)
})
