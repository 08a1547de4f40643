import { access, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { openStore } from '../open-store.ts'
import { tidemark } from './commands/command-runner.child.ts'

let folder = ''

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tidemark-credentials-'))
})

afterEach(async () => {
  vi.unstubAllEnvs()
  await rm(folder, { recursive: true })
})

test.each([
  'REDIS://:secret@[bad',
  'redis:/:secret@host',
  'redis://:secret/x@host',
  'redis://user:12#secret@host',
  'redis://user:12/secret@host',
  'redis://user:12?secret@host',
  'redi://:secret@host/x',
  'valkey://:secret@host',
  'redis//:secret@host',
])('a mistake in --leases %s is told without the password', async (leases) => {
  const { code, errors, output } = await tidemark('leases', 'ls', '--leases', leases)
  expect(code).toBe(1)
  expect(errors).toMatch(/^tidemark: ERR_INVALID_OPTION: .*redis:\/\/.*\n$/)
  expect(output + errors).not.toMatch(/secret|user:12/)
})

test.each([
  ['import', 'items.jsonl', '--collection', 'shop/orders', '--store'],
  ['tail', 'shop/orders', '--store'],
  ['ttl', 'show', 'shop/orders', '--store'],
  ['store', 'check'],
  ['init'],
  ['store', 'backup', './data'],
  ['serve'],
])('%s %s refuses the URL of a mistyped scheme, without its password', async (...args) => {
  const { code, errors, output } = await tidemark(...args, 'postgre://user:secret@host/shop')
  expect([1, 2]).toContain(code)
  expect(errors).toMatch(/^tidemark: ERR_(INVALID_OPTION|USAGE): .*postgres:\/\/.*\n$/)
  expect(output + errors).not.toContain('secret')
})

test('a store in process refuses it too, and no folder gets its name', async () => {
  const path = 'postgre://user:secret@host/shop'
  for (const where of [path, { folder: path }]) {
    const failure = await openStore(where).catch((error: unknown) => error as Error)
    expect(failure).toMatchObject({ code: 'ERR_INVALID_OPTION' })
    expect(failure).not.toHaveProperty('cause')
    expect(Reflect.get(failure, 'stack')).not.toContain('secret')
  }
  await expect(access('postgre:')).rejects.toMatchObject({ code: 'ENOENT' })
})

test('the store may be named by TIDEMARK_STORE, where no list of processes shows it', async () => {
  vi.stubEnv('TIDEMARK_STORE', join(folder, 'none'))
  const missing = await tidemark('tail', 'shop/orders')
  expect(missing.errors).toContain(join(folder, 'none'))
  vi.unstubAllEnvs()
  const unnamed = await tidemark('tail', 'shop/orders')
  expect(unnamed).toMatchObject({
    code: 2,
    errors: expect.stringContaining('TIDEMARK_STORE') as string,
  })
})

test('leases may be named by TIDEMARK_LEASES', async () => {
  vi.stubEnv('TIDEMARK_LEASES', 'redis://:secret/x@host')
  const { errors } = await tidemark('leases', 'ls')
  expect(errors).toMatch(/ERR_INVALID_OPTION: leases on Redis must look like/)
})
