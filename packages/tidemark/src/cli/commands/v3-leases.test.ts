import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { CosmosClient, type Container } from '@azure/cosmos'
import { cosmosFeed, cosmosLeases } from '@tidemark/cosmos'
import { startGateway, type RunningGateway } from '@tidemark/gateway'
import { ChangeFeedProcessorHost } from '@tidemark/processor'
import type { Store } from '@tidemark/store'
import { openMemoryStore } from '@tidemark/testing'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { jsonLines, tidemark, type EndedCommand } from './command-runner.child.ts'

const KEY = 'MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY='

let folder: string
let store: Store
let gateway: RunningGateway
let client: CosmosClient
let orders: Container
let dotnetLeases: Container
let prefix: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tidemark-v3-'))
  await writeFile(join(folder, 'key'), `${KEY}\n`, { mode: 0o600 })
  store = await openMemoryStore()
  gateway = await startGateway({ store, keys: { readWrite: [KEY] }, port: 0, stopTimeoutMs: 1000 })
  client = new CosmosClient({ endpoint: gateway.endpoint, key: KEY })
  const { database, resource } = await client.databases.create({ id: 'shop' })
  const partitionKey = { paths: ['/id'], version: 2 }
  const created = await database.containers.create({ id: 'orders', partitionKey })
  orders = created.container
  dotnetLeases = (await database.containers.create({ id: 'leases', partitionKey })).container
  const { hostname } = new URL(gateway.endpoint)
  prefix = `orders-mirror${hostname}_${resource?._rid}_${created.resource?._rid}..`
  for (let n = 0; n < 10; n += 1) await orders.items.create({ id: `o${n}` })
})
afterEach(async () => {
  client.dispose()
  await gateway.stop()
  await store.close()
  await rm(folder, { recursive: true, force: true })
})

/** A lease as .NET writes one. */
const dotnetLease = (owner: string | null) => ({
  id: `${prefix}0`,
  version: 0,
  LeaseToken: '0',
  FeedRange: { Range: { min: '', max: 'FF' } },
  Owner: owner,
  ContinuationToken: '"4"',
  properties: {},
})

const run = (command: string, ...args: readonly string[]): Promise<EndedCommand> => {
  const common = [
    ['--monitored', 'shop/orders'],
    ['--processor', 'orders-mirror'],
    ['--group', 'mirror'],
    ['--endpoint', gateway.endpoint],
    ['--key-file', join(folder, 'key')],
    ['--leases', 'shop/tidemark-leases'],
  ]
  return tidemark('leases', command, ...common.flat(), ...args)
}

/** LSNs that a worker of the group gets. */
async function work(): Promise<readonly number[]> {
  const seen: number[] = []
  const host = new ChangeFeedProcessorHost({
    group: 'mirror',
    feed: cosmosFeed(orders),
    leases: cosmosLeases(client.database('shop').container('tidemark-leases')),
  })
  await host.runUntilCaughtUp((_, changes) => {
    seen.push(...changes.map(({ lsn }) => lsn))
  })
  return seen
}

test('a .NET processor’s positions are taken over, worked on, and given back', async () => {
  await dotnetLeases.items.create(dotnetLease(null))
  const preview = await run('import', '--from-v3', 'shop/leases', '--dry-run', '--json')
  expect(jsonLines(preview.output)).toEqual([{ range: '-FF', toLsn: 4 }])
  const imported = await run('import', '--from-v3', 'shop/leases')
  expect(imported).toMatchObject({ code: 0, errors: '' })
  expect(imported.output).toMatch(/RANGE +FROM LSN +TO LSN +EFFECT\n-FF +- +4 +new/)
  expect(await work()).toEqual([5, 6, 7, 8, 9, 10])

  const asked = await run('export', '--to-v3', 'shop/leases', '--sdk', 'dotnet')
  expect(asked).toMatchObject({ code: 2, output: '' })
  expect(asked.errors).toContain('confirm with --yes')
  const exported = await run(
    'export',
    '--to-v3',
    'shop/leases',
    '--sdk',
    'dotnet',
    '--yes',
    '--json',
  )
  expect(jsonLines(exported.output)).toMatchObject([{ id: `${prefix}-FF`, lsn: 10 }])
  const { resources } = await dotnetLeases.items
    .readAll<{ id: string; ContinuationToken?: string }>()
    .fetchAll()
  const tokens = new Map(resources.map(({ id, ContinuationToken }) => [id, ContinuationToken]))
  expect(tokens).toEqual(
    new Map([
      [`${prefix}-FF`, '"10"'],
      [prefix.replace(/\.\.$/, '.info'), undefined],
    ]),
  )
})

test('while its hosts are alive, nothing is done', async () => {
  await dotnetLeases.items.create(dotnetLease('worker-of-dotnet'))
  const { code, errors, output } = await run('import', '--from-v3', 'shop/leases')
  expect({ code, output }).toEqual({ code: 1, output: '' })
  expect(errors).toContain('ERR_LEASES_IN_USE')
  expect(errors).toContain('worker-of-dotnet')
})

test('a key that every user of the machine can read is refused', async () => {
  await dotnetLeases.items.create(dotnetLease(null))
  const open = join(folder, 'open')
  await writeFile(open, KEY)
  const { code, errors } = await run('import', '--from-v3', 'shop/leases', '--key-file', open)
  expect(code).toBe(1)
  expect(errors).toContain('ERR_INPUT')
})

test('an endpoint that is no URL is named', async () => {
  const { code, errors } = await run('import', '--from-v3', 'shop/leases', '--endpoint', 'nowhere')
  expect(code).toBe(1)
  expect(errors).toContain('--endpoint')
})
