import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { readJsonLines } from '@tidemark/jobs'
import { ShiftedClock } from '@tidemark/testing'
import { COMMAND } from '../command-program.child.ts'
import { openStore } from '../../open-store.ts'
import { jsonLines, tidemark } from './command-runner.child.ts'

const COUNT = 200

let folder: string
let data: string
let archive: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tidemark-archive-'))
  data = join(folder, 'data')
  archive = join(folder, 'archive')
  // An hour ago, so that all of it has expired by now.
  const clock = new ShiftedClock(-3_600_000)
  await using store = await openStore({
    folder: data,
    durability: 'relaxed',
    maintenance: 'manual',
    clock,
  })
  const sessions = await store.database('shop').createCollectionIfNotExists({
    id: 'sessions',
    partitionKey: '/id',
    partitionCount: 2,
    defaultTtl: 600,
    pendingDeletes: { retentionSeconds: 0 },
  })
  for (let n = 0; n < COUNT; n += 1) await sessions.upsert({ id: `s${n}` })
})
afterEach(async () => {
  await rm(folder, { recursive: true, force: true })
})

async function archivedIds(): Promise<readonly string[]> {
  const ids: string[] = []
  for await (const { id, reason } of readJsonLines(archive)) {
    expect(reason).toBe('expired')
    ids.push(id)
  }
  return ids.toSorted()
}

async function waitFor(): Promise<unknown> {
  const { output } = await tidemark('ttl', 'shop/sessions', '--store', data, '--json')
  const [shown] = jsonLines(output)
  return { waitFor: shown?.['waitFor'], pendingDeletes: shown?.['pendingDeletes'] }
}

const ALL = Array.from({ length: COUNT }, (_, n) => `s${n}`).toSorted()
const run = (...args: readonly string[]) =>
  tidemark('archive', 'shop/sessions', '--store', data, ...args)

test('--log-json logs what its host does as JSON lines on the error output', async () => {
  const log = ['--log-json', '--log-level', 'debug']
  const { code, errors } = await run('--folder', archive, '--once', '--json', ...log)
  expect(code).toBe(0)
  const lines = jsonLines(errors)
  expect(lines.find(({ event }) => event === 'joined')).toMatchObject({
    level: 30,
    group: 'archive-shop.sessions',
    host: expect.any(String),
    msg: expect.stringContaining('joined the group'),
  })
  expect(lines.filter(({ event }) => event === 'leaseAcquired')).toHaveLength(2)
})

test('TTL-14 --once archives what has expired and ends; it may be purged then; --retire ends the waiting', async () => {
  const { code, output } = await run('--folder', archive, '--once', '--json')
  expect(code).toBe(0)
  const events = jsonLines(output)
  expect(events[0]).toEqual({ event: 'registered', group: 'archive-shop.sessions' })
  expect(events.find(({ event }) => event === 'caughtUp')).toMatchObject({
    archived: COUNT,
    lag: 0,
  })
  expect(await archivedIds()).toEqual(ALL)

  await tidemark('ttl', 'sweep', '--store', data)
  expect(await waitFor()).toMatchObject({
    waitFor: [{ group: 'archive-shop.sessions' }],
    pendingDeletes: 0,
  })
  const retired = await run('--retire')
  expect(retired).toMatchObject({ code: 0, errors: expect.stringContaining('no longer wait') })
  expect(await waitFor()).toMatchObject({ waitFor: [] })
})

test('TTL-14 an archive that is killed leaves everything in the folder or unpurged; run again it completes', async () => {
  const args = ['archive', 'shop/sessions', '--store', data, '--folder', archive, '--json']
  const child = spawn(process.execPath, [...COMMAND, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  for await (const line of createInterface({ input: child.stdout })) {
    if (line.includes('"archived"')) break
  }
  child.kill('SIGKILL')
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
  expect((await run('--folder', archive, '--once')).code).toBe(0)
  expect(await archivedIds()).toEqual(ALL)
})

test('SIGTERM ends it with 143, and hands its ranges over', async () => {
  const args = ['archive', 'shop/sessions', '--store', data, '--folder', archive, '--json']
  const child = spawn(process.execPath, [...COMMAND, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let released = 0
  for await (const line of createInterface({ input: child.stdout })) {
    // Only once: a second one ends it at once.
    if (line.includes('"archived"') && !child.killed) child.kill('SIGTERM')
    if (line.includes('"rangeReleased"')) released += 1
  }
  if (child.exitCode === null) await once(child, 'exit')
  expect(child.exitCode).toBe(143)
  expect(released).toBe(2)
})

test('wrong arguments: exit code 2, and nothing is registered or written', async () => {
  const wrong = [
    [],
    ['--folder', archive, '--retire'],
    ['--once', '--retire'],
    ['--folder', archive, '--max-file-mib', '0'],
  ]
  for (const args of wrong) {
    const ended = await run(...args)
    expect({ args, ...ended }).toMatchObject({ code: 2, output: '' })
    expect(ended.errors).toMatch(/^tidemark: ERR_USAGE: /)
  }
  const nothing = ['archive', 'shop/nothing', '--store', data, '--folder', archive]
  const unknown = await tidemark(...nothing)
  expect(unknown).toMatchObject({ code: 1, errors: expect.stringContaining('ERR_NOT_FOUND') })
  expect(await waitFor()).toMatchObject({ waitFor: [] })
  await expect(readdir(archive)).rejects.toMatchObject({ code: 'ENOENT' })
})

test('CF-11 tail --mode all-versions shows deletes; without a log it is an error with a code', async () => {
  const unlogged = ['tail', 'shop/sessions', '--store', data, '--no-follow']
  const off = await tidemark(...unlogged, '--mode', 'all-versions')
  expect(off).toMatchObject({ code: 1, errors: expect.stringContaining('ERR_ALL_VERSIONS_OFF') })
  {
    await using store = await openStore(data)
    const logged = await store.database('shop').createCollectionIfNotExists({
      id: 'logged',
      partitionKey: '/id',
      allVersions: { retentionSeconds: 3_600 },
    })
    await logged.upsert({ id: 'a' })
    await logged.delete('a', 'a')
  }
  const args = ['tail', 'shop/logged', '--store', data, '--from', 'beginning', '--no-follow']
  const all = await tidemark(...args, '--mode', 'all-versions')
  expect(jsonLines(all.output).map(({ operationType }) => operationType)).toEqual([
    'create',
    'delete',
  ])
  const latest = await tidemark(...args)
  expect(latest).toMatchObject({ code: 0, output: '' })
  expect(await tidemark(...args, '--mode', 'some')).toMatchObject({ code: 2 })
})
