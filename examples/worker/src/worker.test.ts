import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openStore } from 'tidemark'

const MAIN = fileURLToPath(new URL('./main.ts', import.meta.url))

let folder: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tidemark-worker-'))
})
afterEach(async () => {
  await rm(folder, { recursive: true, force: true })
})

function startWorker(name: string) {
  const child = spawn(
    process.execPath,
    ['--conditions=@tidemark/source', MAIN, '--store', folder, '--name', name],
    { stdio: ['ignore', 'pipe', 'pipe'] },
  )
  const lines = createInterface({ input: child.stdout })
  const seen: string[] = []
  const waiting = new Set<() => void>()
  lines.on('line', (line) => {
    const order: unknown = JSON.parse(line)
    seen.push(String(Reflect.get(Object(order), 'id')))
    for (const wake of waiting) wake()
  })
  const errors = createInterface({ input: child.stderr })
  const ready = new Promise<void>((resolve, reject) => {
    errors.on('line', (line) => {
      if (line.endsWith('is ready')) resolve()
    })
    child.once('exit', (code) => reject(new Error(`the worker ended with ${code}`)))
  })
  return {
    ready,
    seen,
    async saw(id: string): Promise<void> {
      while (!seen.includes(id)) {
        await new Promise<void>((resolve) => {
          waiting.add(resolve)
        })
      }
    },
    async terminate(): Promise<number | null> {
      child.kill('SIGTERM')
      if (child.exitCode === null) await once(child, 'exit')
      return child.exitCode
    },
  }
}

test('PH-11 a worker handles what comes, ends with 0 on SIGTERM, and the next one goes on without repeating', async () => {
  const first = startWorker('worker-1')
  await first.ready
  await using store = await openStore(folder)
  const orders = store.database('shop').collection('orders')
  await orders.upsert({ id: 'o1', customerId: 'c1', total: 1 } as { id: string })
  await first.saw('o1')
  expect(await first.terminate()).toBe(0)

  await orders.upsert({ id: 'o2', customerId: 'c1', total: 2 } as { id: string })
  const second = startWorker('worker-2')
  await second.ready
  await second.saw('o2')
  expect(await second.terminate()).toBe(0)
  expect(first.seen).toEqual(['o1'])
  expect(second.seen).toEqual(['o2'])
})
