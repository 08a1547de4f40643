import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest'
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

function find(
  options: Omit<FindContainersOptions, 'unlessNamed'>,
): Promise<Containers | undefined> {
  return findContainers({ unlessNamed: 'REDIS_SERVER_BIN', ...options })
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

test('nor is the library missed in a test that is run without `npm test`, which names the programs', async () => {
  expect(await find({ answerLimitMs: 10 })).toBeUndefined()
})

test('a library that lacks a part of its own is an error', async () => {
  await expect(find({ load: () => importElsewhere('dockerode') })).rejects.toThrow(/dockerode/)
})

test('an engine that refuses, or does not answer in time, is as good as none', async () => {
  for (const getContainerRuntimeClient of [
    () => Promise.reject(new Error('starting')),
    () => new Promise(() => {}),
  ]) {
    const library = { getContainerRuntimeClient } as unknown as Containers
    expect(await find({ load: () => Promise.resolve(library), answerLimitMs: 10 })).toBeUndefined()
  }
})
