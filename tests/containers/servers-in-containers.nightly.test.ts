import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { startPostgresServer, startRedisProcess, startRedisServer } from '@tidemark/testing/servers'

/* The library `testcontainers` itself, on the stand-in of an engine. */

let folder: string
let engine: ChildProcess
const requests: string[] = []

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tidemark-engine-'))
  const socket = join(folder, 'engine.sock')
  const child = fileURLToPath(new URL('container-engine.child.ts', import.meta.url))
  engine = spawn(process.execPath, [...process.execArgv, child, socket], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const lines = createInterface({ input: engine.stdout! })
  lines.on('line', (line) => requests.push(line))
  await once(lines, 'line')
  vi.stubEnv('DOCKER_HOST', `unix://${socket}`)
  vi.stubEnv('DOCKER_CONFIG', folder)
  vi.stubEnv('TESTCONTAINERS_HOST_OVERRIDE', '127.0.0.1')
  // The reaper is the library's own, and a container of its own.
  vi.stubEnv('TESTCONTAINERS_RYUK_DISABLED', 'true')
  vi.stubEnv('REDIS_SERVER_BIN', '')
  vi.stubEnv('POSTGRES_BIN', '')
})
beforeEach(() => {
  requests.length = 0
})
afterAll(async () => {
  vi.unstubAllEnvs()
  const gone = once(engine, 'exit')
  engine.kill()
  await gone
  await rm(folder, { recursive: true, force: true })
})

function asked(what: RegExp): number {
  return requests.filter((request) => what.test(request)).length
}

test('Redis runs in a container where an engine answers, with the arguments of the caller', async () => {
  const server = await startRedisServer({ args: ['--maxmemory', '7mb'] })
  try {
    expect(await server.admin.config('GET', 'maxmemory')).toEqual(['maxmemory', String(7 << 20)])
    expect(await server.admin.config('GET', 'protected-mode')).toEqual(['protected-mode', 'no'])
    expect(await server.admin.config('GET', 'save')).toEqual(['save', ''])
  } finally {
    await server.stop()
  }
  await expect.poll(() => asked(/^DELETE \/containers\//)).toBe(1)
  expect(asked(/^POST \/containers\/create .*"Image":"redis:7\.4-alpine"/)).toBe(1)
  expect(asked(/^POST \/images\/create/)).toBe(1)
})

test('PostgreSQL runs in a container where an engine answers, with the settings of the caller', async () => {
  {
    await using server = await startPostgresServer({
      settings: { max_connections: '77' },
      image: 'postgres:16',
    })
    expect(await server.query('SHOW max_connections')).toEqual([{ max_connections: '77' }])
    expect(await server.query('SHOW fsync')).toEqual([{ fsync: 'off' }])
    const url = new URL(await server.createDatabase())
    expect([url.hostname, Number(url.port)]).toEqual([server.host, server.port])
  }
  await expect.poll(() => asked(/^DELETE \/containers\//)).toBe(1)
  const [created = ''] = requests.filter((request) => request.startsWith('POST /containers/create'))
  expect(created).toContain('"Image":"postgres:16"')
  expect(created).toContain('"POSTGRES_HOST_AUTH_METHOD=trust"')
  expect(created).toContain('"POSTGRES_INITDB_ARGS=--encoding=UTF8 --locale=C"')
})

test('a container that ends instead of getting ready is removed, and told with the way out', async () => {
  await expect(startRedisServer({ args: ['--no-such-option', '1'] })).rejects.toThrow(
    /did not start redis:7\.4-alpine \(redis-server .*--no-such-option 1\).*REDIS_SERVER_BIN/s,
  )
  await expect.poll(() => asked(/^DELETE \/containers\//)).toBe(1)
})

test('a server that tests kill and pause is a process, whatever engine there is', async () => {
  await using server = await startRedisProcess()
  await server.kill()
  await server.start()
  expect(await server.admin.ping()).toBe('PONG')
  expect(requests).toEqual([])
})
