import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { findContainers, type Containers, type FindContainersOptions } from './containers.ts'

const run = promisify(execFile)
let folder: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tidemark-containers-'))
})
beforeEach(() => {
  vi.stubEnv('REDIS_SERVER_BIN', '')
})
afterAll(async () => {
  vi.unstubAllEnvs()
  await rm(folder, { recursive: true, force: true })
})

function find({
  load,
  answerLimitMs = 60_000,
}: Pick<FindContainersOptions, 'load' | 'answerLimitMs'> = {}): Promise<Containers | undefined> {
  return findContainers({ unlessNamed: 'REDIS_SERVER_BIN', load, answerLimitMs })
}

/** The error of Node's own for the import of a package where it is not installed. */
async function importElsewhere(name: string): Promise<never> {
  const script = `import('${name}').catch(({ code, message }) => console.log(JSON.stringify({ code, message })))`
  const { stdout } = await run(process.execPath, ['--eval', script], { cwd: folder })
  const { code, message } = JSON.parse(stdout) as {
    readonly code: string
    readonly message: string
  }
  throw Object.assign(new Error(message), { code })
}

test('a program that is named is used, whatever engine there is', async () => {
  vi.stubEnv('REDIS_SERVER_BIN', '/usr/bin/redis-server')
  const load = vi.fn(() => Promise.reject(new Error('loaded')))
  expect(await find({ load })).toBeUndefined()
  expect(load).not.toHaveBeenCalled()
})

test('without the library servers are processes', async () => {
  expect(await find({ load: () => importElsewhere('testcontainers') })).toBeUndefined()
})

test('a library that lacks a part of its own is an error', async () => {
  await expect(find({ load: () => importElsewhere('dockerode') })).rejects.toThrow(/dockerode/)
})

describe('an engine', () => {
  const socket = (): string => join(folder, 'engine.sock')
  let engine: Server
  let asked: string[]
  let silent: boolean

  beforeAll(async () => {
    engine = createServer((request, response) => {
      asked.push(request.url ?? '')
      if (!silent) response.writeHead(500).end('{"message":"starting"}')
    })
    engine.listen(socket())
    await once(engine, 'listening')
    vi.stubEnv('DOCKER_HOST', `unix://${socket()}`)
    // Where the library looks for an engine that needs no root.
    for (const name of ['HOME', 'XDG_RUNTIME_DIR']) vi.stubEnv(name, folder)
  })
  beforeEach(() => {
    asked = []
  })
  afterAll(() => {
    engine.closeAllConnections()
    engine.close()
  })

  // The library would go on to an engine of the machine's own, and find it.
  test.skipIf(existsSync('/var/run/docker.sock'))(
    'that refuses is asked, and servers are processes',
    async () => {
      silent = false
      expect(await find()).toBeUndefined()
      expect(asked).toEqual(['/info'])
    },
  )

  test('that does not answer in time is asked, and servers are processes', async () => {
    silent = true
    expect(await find({ answerLimitMs: 100 })).toBeUndefined()
    // On a slow machine the limit ends before the library has asked.
    await expect.poll(() => asked).toEqual(['/info'])
  })
})
