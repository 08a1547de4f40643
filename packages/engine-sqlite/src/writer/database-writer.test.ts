import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createDatabaseFile } from '../folder/database-file.ts'
import type { WriterRequest } from './writer-messages.ts'
import type { DatabaseWriter } from './database-writer.ts'
import { openFileWriter } from './file-writer.ts'
import { firstGroup } from './first-group.ts'
import type { WriteAheadLog } from './write-ahead-log.ts'

const LOCK_TIMEOUT_MS = 1000
let folder = ''
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tidemark-'))
})
afterEach(() => rm(folder, { recursive: true, force: true }))

/** A writer whose clock stands still but for `stepMs` each time that it is read, and for its pauses. */
function writerWith({
  stepMs,
  maxGroupOperations = 2000,
  maxLogBytes = 2 ** 26,
}: {
  readonly stepMs: number
  readonly maxGroupOperations?: number
  readonly maxLogBytes?: number
}): {
  readonly writer: DatabaseWriter
  readonly log: WriteAheadLog
  readonly pauses: readonly number[]
} {
  const file = join(folder, 'db.sqlite')
  createDatabaseFile(file, 'owner')
  const pauses: number[] = []
  let nowMs = 0
  const opened = openFileWriter(
    {
      file,
      durability: 'sync',
      processId: 'process',
      bootId: 'boot',
      segmentSlots: 2 ** 31,
      lockTimeoutMs: LOCK_TIMEOUT_MS,
      maxGroupOperations,
      maxLogBytes,
    },
    {
      clock: {
        sleep: (ms) => void pauses.push(ms),
        monotonicMs: () => (nowMs += stepMs),
        fraction: () => 0,
      },
      openSyncedFile: () => ({ sync: () => undefined, close: () => undefined }),
    },
  )
  return { ...opened, pauses }
}

const REQUESTS = Array.from({ length: 100 }, (_, n): WriterRequest => {
  return { id: n, nowMs: 0, chars: 0, task: { kind: 'deleteCollection', collectionId: `c${n}` } }
})

test('a group ends when it has held the lock for long, with what it has done so far', () => {
  const { writer } = writerWith({ stepMs: 10 })
  const replies = writer.runGroup(REQUESTS)
  expect(replies.length).toBeGreaterThan(1)
  expect(replies.length).toBeLessThan(10)
  expect(replies.map(({ id }) => id)).toEqual(replies.map((_, n) => n))
  // One at least, however long it takes.
  const next = writer.runGroup(REQUESTS.slice(replies.length))
  expect(next[0]?.id).toBe(replies.length)
  writer.close()
})

test('a short group is followed by no pause while nobody else writes', () => {
  const short = writerWith({ stepMs: 0 })
  expect(short.writer.runGroup(REQUESTS)).toHaveLength(REQUESTS.length)
  short.writer.yieldToOthers()
  expect(short.pauses).toEqual([])
  short.writer.close()
})

test('a long group is followed by a pause that is longer than the steps in which others try', () => {
  const { writer, pauses } = writerWith({ stepMs: 10 })
  writer.runGroup(REQUESTS)
  writer.yieldToOthers()
  expect(pauses).toEqual([2])
  writer.yieldToOthers()
  expect(pauses).toEqual([2])
  writer.close()
})

test('operations of all batches of a commit count towards the bound of a group', () => {
  const condition = { kind: 'absent' } as const
  const batch = {
    collection: 1,
    epk: '00',
    partitionKey: 'a',
    operations: [{ kind: 'check', id: 'a', condition } as const],
  }
  const commits = REQUESTS.slice(0, 10).map((request): WriterRequest => {
    const task = { kind: 'commit', batches: [batch, batch, batch] } as never
    return { ...request, task }
  })
  expect(firstGroup(commits, 9)).toEqual(commits.slice(0, 3))
  expect(firstGroup(commits, 2)).toEqual(commits.slice(0, 1))
  expect(firstGroup(commits, 30)).toEqual(commits)
})

test('so do its messages', () => {
  const command = { kind: 'send', parcels: [{ messages: [{}, {}] }] }
  const task = { kind: 'commit', batches: [], sends: { commands: [command, command] } } as never
  const commits = REQUESTS.slice(0, 3).map((request): WriterRequest => ({ ...request, task }))
  expect(firstGroup(commits, 8)).toEqual(commits.slice(0, 2))
})

test('a lock held for too long fails those behind the group too: none waits as long again', () => {
  const { writer } = writerWith({ stepMs: 600 })
  const other = new DatabaseSync(join(folder, 'db.sqlite'))
  other.exec('BEGIN IMMEDIATE')
  const large = REQUESTS.map((request) => ({ ...request, chars: 2 ** 22 }))
  const replies = writer.runGroup(large)
  expect(replies.map(({ id }) => id)).toEqual(large.map(({ id }) => id))
  expect(replies.map(({ result }) => result)).toEqual(
    large.map(() => ({ kind: 'failed', error: expect.objectContaining({ kind: 'locked' }) })),
  )
  other.close()
  writer.close()
})

test('requests of a failed group are tried alone; of a lock that comes between them all that waited are told', () => {
  const { writer, pauses } = writerWith({ stepMs: 1, maxGroupOperations: 3 })
  const other = new DatabaseSync(join(folder, 'db.sqlite'))
  const [before, bad, ...after] = REQUESTS.slice(0, 10)
  const failing = {
    ...bad!,
    get nowMs(): never {
      throw new Error('cannot be carried out')
    },
    // Asked for when it has failed alone.
    get id(): number {
      other.exec('BEGIN IMMEDIATE')
      return 1
    },
  }
  const replies = writer.runGroup([before!, failing, ...after])
  expect(replies.map(({ id }) => id)).toEqual(REQUESTS.slice(0, 10).map(({ id }) => id))
  const failures = replies.map(({ result }) => result.kind === 'failed' && result.error.kind)
  expect(failures).toEqual([false, 'unavailable', ...after.map(() => 'locked')])
  expect(pauses.length).toBeLessThan(2 * LOCK_TIMEOUT_MS)
  other.close()
  writer.close()
})

test('after a log that was held was short again, the next reader is waited for as soon as the first', () => {
  const { writer, log } = writerWith({ stepMs: 100, maxLogBytes: 2 ** 16 })
  const longestPauseMs = (tries: number): number => {
    const other = new DatabaseSync(join(folder, 'db.sqlite'))
    other.exec('BEGIN; SELECT count(*) FROM doc')
    const [reader] = [other.prepare('SELECT count(*) FROM doc').get()]
    expect(reader).toBeDefined()
    const writing = new DatabaseSync(join(folder, 'db.sqlite'))
    writing.exec('CREATE TABLE IF NOT EXISTS filler (text)')
    writing.exec('INSERT INTO filler VALUES (zeroblob(200000))')
    let longestMs = 0
    for (let n = 0; n < tries; n++) {
      log.keepShort()
      longestMs = Math.max(longestMs, log.retryInMs ?? 0)
    }
    other.close()
    writing.close()
    for (let n = 0; n < 200 && log.retryInMs !== undefined; n++) log.keepShort()
    expect(log.retryInMs).toBeUndefined()
    return longestMs
  }
  expect(longestPauseMs(20)).toBeGreaterThan(1500)
  expect(longestPauseMs(1)).toBeLessThanOrEqual(1000)
  writer.close()
})
