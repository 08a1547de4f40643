import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { runCompeting } from './run-competing.ts'

// A slice of what `npm run competing` does, with one seed.

test('SET-19 SET-06 SES-10 processes that are killed and stopped complete each message once', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'tidemark-competing-'))
  try {
    const place = { kind: 'folder', folder: join(folder, 'store'), durability: 'sync' } as const
    const run = { folder, place, seed: 1, messages: 2_000, processes: 3, minFaults: 2 }
    const { faults } = await runCompeting({ ...run, report: console.log })
    expect(faults).toEqual([])
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
})
