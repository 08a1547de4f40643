import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const CHILD = fileURLToPath(new URL('closing-store.child.ts', import.meta.url))

test('a process that closes its store while writes wait ends when the store is closed, and not before', async () => {
  // Node ends with 13 when nothing is left that could settle what is awaited. It was so about every other time.
  for (let attempt = 0; attempt < 6; attempt++) {
    const folder = await mkdtemp(join(tmpdir(), 'tidemark-'))
    const child = spawn(process.execPath, ['--conditions=@tidemark/source', CHILD, folder])
    expect(await once(child, 'exit')).toEqual([0, null])
    await rm(folder, { recursive: true })
  }
})
