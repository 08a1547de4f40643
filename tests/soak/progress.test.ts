import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { ProgressCheck } from './progress-check.ts'
import { ProgressLog, ProgressReader } from './progress-log.ts'

let folder = ''
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tidemark-progress-'))
})
afterEach(() => rm(folder, { recursive: true, force: true }))

test('what was noted is read once, over files that are removed when they are full and read', async () => {
  const path = join(folder, 'progress')
  const [log, reader] = [new ProgressLog(path), new ProgressReader(path)]
  expect(reader.read()).toEqual([])
  const ids = Array.from({ length: 100 }, (_, index) => `key:${index}`)
  for (let count = 0; count < 600; count++) log.note([...ids, `k:${count}`])
  const found = reader.read().map((progress) => progress.ids.at(-1))
  expect(found).toEqual(Array.from({ length: 600 }, (_, count) => `k:${count}`))
  expect(await readdir(folder)).toHaveLength(1)
  log.note(['k:600'])
  expect(reader.read()).toMatchObject([{ ids: ['k:600'] }])
})

test('changes are judged in the order of the clock, whoever told of them first', () => {
  const check = new ProgressCheck()
  check.add([{ atMs: 20, ids: ['a:1', 'b:0'] }])
  check.add([{ atMs: 10, ids: ['a:0'] }])
  check.add([{ atMs: 30, ids: ['a:1', 'a:2'] }])
  check.judge(100)
  expect(check).toMatchObject({ wrong: [], done: 4, repeated: 1 })
  expect(check.missing(new Map(Object.entries({ a: 2, b: 0 })))).toBe(0)
  expect(check.missing(new Map(Object.entries({ a: 4, c: 0 })))).toBe(3)
})

test('a change that is done before the one before it is told', () => {
  const check = new ProgressCheck()
  check.add([{ atMs: 10, ids: ['a:0', 'a:2', 'a:1'] }])
  check.judge(100)
  expect(check.wrong).toEqual(['a:2 was done before a:1'])
})

test('what is not due yet is kept', () => {
  const check = new ProgressCheck()
  check.add([{ atMs: 99, ids: ['a:1'] }])
  check.judge(50)
  expect(check.done).toBe(0)
  check.add([{ atMs: 60, ids: ['a:0'] }])
  check.judge(100)
  expect(check).toMatchObject({ wrong: [], done: 2 })
})
