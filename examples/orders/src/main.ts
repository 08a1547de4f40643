import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runDemo } from './run-demo.ts'

const folder = await mkdtemp(join(tmpdir(), 'tidemark-orders-'))
try {
  await runDemo(folder, (line) => {
    console.log(line)
  })
} finally {
  await rm(folder, { recursive: true, force: true })
}
