import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { statSync } from 'node:fs'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { Store } from '@tidemark/store'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openSqliteEngine } from './sqlite-engine.ts'

const MIB = 2 ** 20
const READING = fileURLToPath(new URL('./reading.child.ts', import.meta.url))

let folder = ''
let store: Store
const readers = new Set<ChildProcess>()
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tidemark-'))
})
afterEach(async () => {
  for (const reader of readers) reader.kill('SIGKILL')
  readers.clear()
  await store.close()
  await rm(folder, { recursive: true, force: true })
})

async function open(maxLogBytes: number): Promise<{
  readonly file: string
  readonly logBytes: () => number
  readonly write: (id: string) => Promise<unknown>
}> {
  const engine = await openSqliteEngine({ folder, maxLogBytes })
  store = await Store.open({ engine, maintenance: 'manual' })
  const items = await store
    .database('db')
    .createCollectionIfNotExists<{ id: string; text: string }>({ id: 'items', partitionKey: '/id' })
  const text = 'x'.repeat(MIB / 2)
  const name = (await readdir(folder)).find((each) => /^db-.*\.sqlite$/.test(each)) ?? ''
  const file = join(folder, name)
  return {
    file,
    logBytes: () => statSync(`${file}-wal`).size,
    write: (id) => items.upsert({ id, text }),
  }
}

test('the log stays short although readers of several processes overlap all the time', async () => {
  const { file, logBytes, write } = await open(2 * MIB)
  await write('first')
  for (let n = 0; n < 3; n++) {
    const reader = fork(READING, [file, '20'], { execArgv: [] })
    readers.add(reader)
    await once(reader, 'message')
  }
  // How often a moment is found to empty it depends on the machine; that one is found again and again does not.
  let emptied = 0
  let lastBytes = 0
  while (emptied < 4) {
    await write(`d${emptied}`)
    const bytes = logBytes()
    if (bytes < lastBytes) emptied++
    lastBytes = bytes
    // Leaves time for the next try: without one the log would only grow.
    if (bytes > 2 * MIB) await sleep(20)
  }
  for (const reader of readers) expect(reader.exitCode).toBeNull()
})

test('a reader that holds the log is told of, and its end', async () => {
  const { file, logBytes, write } = await open(MIB)
  const held = new Promise((resolve) => store.events.once('logHeld', resolve))
  const freed = new Promise((resolve) => store.events.once('logFreed', resolve))
  await write('first')
  const reader = new DatabaseSync(file, { readOnly: true, timeout: 5000 })
  reader.exec('BEGIN')
  reader.prepare('SELECT count(*) FROM doc').get()
  for (let n = 0; n < 4; n++) await write(`d${n}`)
  expect(await held).toEqual({ databaseId: 'db', bytes: expect.any(Number) })
  expect(logBytes()).toBeGreaterThan(MIB)
  reader.close()
  // Nobody writes any more.
  expect(await freed).toEqual({ databaseId: 'db', bytes: 0 })
  expect(logBytes()).toBe(0)
})
