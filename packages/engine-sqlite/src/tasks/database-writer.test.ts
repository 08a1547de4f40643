import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createDatabaseFile } from '../folder/database-file.ts'
import type { WriterRequest } from '../writer/writer-messages.ts'
import { DatabaseWriter } from './database-writer.ts'

let folder = ''
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tidemark-'))
})
afterEach(() => rm(folder, { recursive: true, force: true }))

/** A writer whose clock stands still but for `stepMs` each time that it is read, and for its pauses. */
function writerWith({ stepMs }: { readonly stepMs: number }): {
  readonly writer: DatabaseWriter
  readonly pauses: readonly number[]
} {
  const file = join(folder, 'db.sqlite')
  createDatabaseFile(file)
  const pauses: number[] = []
  let nowMs = 0
  const writer = new DatabaseWriter(
    {
      file,
      durability: 'sync',
      segmentSlots: 2 ** 31,
      lockTimeoutMs: 1000,
      maxGroupOperations: 2000,
      maxLogBytes: 2 ** 26,
    },
    {
      sleep: (ms) => void pauses.push(ms),
      monotonicMs: () => (nowMs += stepMs),
      fraction: () => 0,
    },
  )
  return { writer, pauses }
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
