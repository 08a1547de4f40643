import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, expect, test, vi } from 'vitest'
import { ensureRedisServer, findRedisServer } from './ensure-redis-server.ts'

const run = promisify(execFile)

afterEach(() => {
  vi.unstubAllEnvs()
})

test('a REDIS_SERVER_BIN that is no Redis server is an error, not a reason to use another one', async () => {
  vi.stubEnv('REDIS_SERVER_BIN', '/bin/true')
  await expect(ensureRedisServer()).rejects.toThrow('REDIS_SERVER_BIN is set to /bin/true')
})

test('nothing is found on an empty PATH with an empty cache', async () => {
  const cacheFolder = await mkdtemp(join(tmpdir(), 'tidemark-cache-'))
  try {
    vi.stubEnv('REDIS_SERVER_BIN', '')
    vi.stubEnv('PATH', cacheFolder)
    await expect(findRedisServer({ cacheFolder })).resolves.toBeUndefined()
  } finally {
    await rm(cacheFolder, { recursive: true })
  }
})

test('the server that is found runs', async () => {
  const source = await findRedisServer()
  if (source?.kind !== 'binary') return
  const { stdout } = await run(source.path, ['--version'])
  expect(stdout).toMatch(/(redis|valkey) server/i)
})
