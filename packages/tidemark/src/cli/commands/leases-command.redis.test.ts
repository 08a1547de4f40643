import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { expect, test } from 'vitest'
import { startRedisServer } from '@tidemark/testing/servers'
import { ChangeFeedProcessorHost, RedisLeaseStore, openStore } from '../../index.ts'
import { jsonLines, tidemark } from './command-runner.child.ts'

test('LE-2 LE-11 a group with its leases on Redis is paused, reset, snapshot and restored while its host runs', async () => {
  await using redis = await startRedisServer()
  const folder = await mkdtemp(join(tmpdir(), 'tidemark-leases-'))
  const client = new Redis({ host: redis.host, port: redis.port })
  const url = `redis://${redis.host}:${redis.port}`
  try {
    await using store = await openStore({ folder: join(folder, 'data'), durability: 'relaxed' })
    const orders = await store
      .database('shop')
      .createCollectionIfNotExists({ id: 'orders', partitionKey: '/id', partitionCount: 3 })
    for (let n = 0; n < 30; n += 1) await orders.upsert({ id: `o${n}` })
    const seen: string[] = []
    const host = new ChangeFeedProcessorHost({
      hostName: 'worker-1',
      group: 'mirror',
      feed: orders,
      leases: new RedisLeaseStore(client, { allowVolatile: true }),
      feedOptions: { startFromBeginning: true },
    })
    await host.registerObserver({
      processChanges: (_, changes) => void seen.push(...changes.map(({ id }) => id)),
    })
    await expect.poll(() => seen.length).toBe(30)

    // Without the store the command knows no positions, and pauses all the same.
    const paused = await tidemark(
      'leases',
      'pause',
      '--group',
      'mirror',
      '--leases',
      url,
      '--wait',
      '30',
    )
    expect(paused).toMatchObject({ code: 0, errors: '' })
    const blind = await tidemark('leases', 'reset', '--group', 'mirror', '--leases', url)
    expect(blind).toMatchObject({ code: 1, output: '' })
    expect(blind.errors).toContain('--store')

    const where = ['--group', 'mirror', '--leases', url, '--store', join(folder, 'data')]
    const { output } = await tidemark('leases', 'snapshot', ...where)
    const file = join(folder, 'mirror.json')
    await writeFile(file, output)
    expect((await tidemark('leases', 'reset', ...where)).code).toBe(0)
    // It was paused by somebody, and stays so.
    expect(seen).toHaveLength(30)
    expect((await tidemark('leases', 'resume', ...where)).output).toBe('resumed\n')
    await expect.poll(() => seen.length).toBe(60)

    // Back to where it stood: nothing is skipped, nothing comes again.
    const restored = await tidemark('leases', 'restore', file, ...where, '--json')
    expect(restored).toMatchObject({ code: 0, errors: '' })
    expect(jsonLines(restored.output)).toHaveLength(3)
    await orders.upsert({ id: 'late' })
    await expect.poll(() => seen.length).toBe(61)
    const released = await tidemark('leases', 'release', ...where, '--range', 'all')
    expect(released.output).toMatch(/^(.*: released from worker-1\n){3}$/)
    await orders.upsert({ id: 'later' })
    await expect.poll(() => seen.at(-1)).toBe('later')
    await host.unregisterObservers()
  } finally {
    client.disconnect()
    await rm(folder, { recursive: true, force: true })
  }
})
