import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { startRedisServer } from '@tidemark/testing/servers'
import { COMMAND } from './command-program.child.ts'
import { openStore } from '../open-store.ts'

const run = promisify(execFile)

function tidemark(...args: readonly string[]): Promise<{ stdout: string; stderr: string }> {
  return run(process.execPath, [...COMMAND, ...args])
}

test('LE-2 migrate keeps its leases on Redis, and leases ls shows them there, with their lag', async () => {
  await using redis = await startRedisServer({ args: ['--appendonly', 'yes'] })
  const folder = await mkdtemp(join(tmpdir(), 'tidemark-cli-'))
  const url = `redis://${redis.host}:${redis.port}`
  try {
    {
      await using store = await openStore(folder)
      const orders = await store
        .database('shop')
        .createCollectionIfNotExists({ id: 'orders', partitionKey: '/id', partitionCount: 2 })
      for (let n = 0; n < 20; n += 1) await orders.upsert({ id: `o${n}` })
    }
    const where = ['--store', folder, '--leases', url]
    const copy = [
      '--source',
      'shop/orders',
      '--target',
      'shop/copy',
      '--target-partition-key',
      '/id',
    ]
    const { stderr } = await tidemark('migrate', ...where, ...copy, '--cut-over', '--verify')
    expect(stderr).toMatch(/^leases: durability level C \(appendonly yes, appendfsync everysec/)
    expect(stderr).toContain('verified 20 documents: 0 missing, 0 different, 0 extra, 0 colliding')
    const { stdout } = await tidemark('leases', 'ls', ...where, '--json')
    const leases = stdout
      .trimEnd()
      .split('\n')
      .map((line): unknown => JSON.parse(line))
    expect(leases).toHaveLength(2)
    expect(leases).toMatchObject(Array(2).fill({ collection: 'shop/orders', lag: 0 }))
    // Nothing was left in the store itself.
    await using store = await openStore(folder)
    const ids = (await store.database('shop').listCollections()).map(({ id }) => id)
    expect(ids.includes('leases')).toBe(false)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
})

test('a worker is refused a Redis that keeps nothing, unless --allow-volatile says so; ls looks at any', async () => {
  await using redis = await startRedisServer()
  const folder = await mkdtemp(join(tmpdir(), 'tidemark-cli-'))
  const url = `redis://${redis.host}:${redis.port}`
  try {
    {
      await using store = await openStore(folder)
      const orders = await store
        .database('shop')
        .createCollectionIfNotExists({ id: 'orders', partitionKey: '/id' })
      await orders.upsert({ id: 'o1' })
    }
    const copy = ['--source', 'shop/orders', '--target', 'shop/copy']
    const migrate = ['migrate', '--store', folder, '--leases', url, ...copy, '--cut-over']
    const options = [...migrate, '--target-partition-key', '/id']
    const refused = await tidemark(...options).catch((error: unknown) => error)
    expect(refused).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/durability level D[^]*appendonly yes[^]*--allow-volatile/),
    })
    expect(await redis.admin.keys('*')).toEqual([])
    const { stderr } = await tidemark(...options, '--allow-volatile')
    expect(stderr).toMatch(/^leases: durability level D \(appendonly no/)
    const { stdout } = await tidemark('leases', 'ls', '--leases', url, '--json')
    expect(stdout.trimEnd().split('\n')).toHaveLength(1)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
})
