import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { runDemo } from './run-demo.ts'

let folder: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tidemark-archive-'))
})
afterEach(async () => {
  await rm(folder, { recursive: true, force: true })
})

test('TTL-14 sessions expire, become pending deletes, are archived, and only then purged', async () => {
  const lines: string[] = []
  const result = await runDemo(
    { data: join(folder, 'data'), archive: join(folder, 'archive') },
    (line) => lines.push(line),
  )
  expect(result).toEqual({
    archived: ['s1', 's2', 's3', 's4', 's5'],
    live: ['kept'],
    pendingDeletes: 0,
  })
  expect(lines.findIndex((line) => line.startsWith('purged'))).toBeGreaterThan(
    lines.findIndex((line) => line.startsWith('nothing is archived yet')),
  )
})
