import { afterAll, expect, test } from 'vitest'
import { systemClock } from '@tidemark/contracts'
import { createGateway, startGateway } from '@tidemark/gateway'
import { jsonLinesSink, redisCacheSink, webhookSink } from '@tidemark/jobs'
import { RedisLeaseStore } from '@tidemark/lease-redis'
import { openMessaging } from '@tidemark/messaging'
import { startAdminServer } from '@tidemark/messaging-admin'
import { startAmqpServer } from '@tidemark/messaging-amqp'
import {
  ChangeFeedEstimator,
  ChangeFeedProcessorHost,
  MemoryLeaseStore,
  serveHealth,
} from '@tidemark/processor'
import { Store } from '@tidemark/store'
import { FakeFeed, openMemoryEngine, openMemoryStore } from '@tidemark/testing'
import { createDashboard, openStore } from 'tidemark'
import { PublishedApi } from './reference/read-entries.ts'
import { readOptions } from './reference/read-options.ts'
import { ROOT } from './repository.ts'

const RANGE =
  /^(?<any>any number)?(?: above (?<above>\d+)|,? ?(?<from>[\d_]+)(?: or more)?)(?:,? (?:up )?to (?<to>[\d_]+))?/

/** Gives an option to what takes it. */
type Give = (option: object) => unknown

const store = await openMemoryStore({ maintenance: 'manual' })
const database = await store.createDatabase('shop')
const orders = await database.createCollection({ id: 'orders', partitionKey: '/id' })
const broker = openMessaging(database)
const feed = new FakeFeed({ clock: systemClock })
const leases = new MemoryLeaseStore()
const redis = Object.fromEntries(
  ['evalsha', 'eval', 'set', 'get', 'duplicate'].map((name) => [name, () => {}]),
) as never
const keys = { readWrite: [Buffer.alloc(32).toString('base64')] }
const policies = [{ name: 'Root', keys: ['a key'], rights: ['Manage', 'Send', 'Listen'] as const }]
const host: Give = (hostOptions) =>
  new ChangeFeedProcessorHost({ group: 'g', feed, leases, hostOptions })

/** What takes the options of a table. Those of other tables need servers, or are looked at when work begins. */
const TAKEN_BY: Readonly<Record<string, Give>> = {
  AdminServerOptions: (option) => startAdminServer({ broker, policies, port: 0, ...option }),
  AmqpServerOptions: (option) => startAmqpServer({ broker, policies, port: 0, ...option }),
  ChangeFeedEstimatorOptions: (option) =>
    new ChangeFeedEstimator({ group: 'g', feed, leases, ...option }),
  CollectionOptions: async (option) => {
    await database.createCollection({ id: 'new', partitionKey: '/id', ...option })
    await database.deleteCollection('new')
  },
  CollectionSettings: (option) => orders.updateSettings(option),
  DashboardOptions: (option) => createDashboard({ store, ...option }),
  FeedOptions: (feedOptions) =>
    new ChangeFeedProcessorHost({ group: 'g', feed, leases, feedOptions }),
  FolderStoreOptions: (option) => openStore({ folder: ':memory:', ...option }),
  GatewayOptions: (option) => createGateway({ store, keys, ...option }),
  HostOptions: host,
  JsonLinesSinkOptions: (option) => jsonLinesSink({ folder: 'none', ...option }),
  ListenOptions: (option) => startGateway({ store, keys, port: 0, ...option }),
  MaintenanceOptions: (maintenance) => openStore({ folder: ':memory:', maintenance }),
  QueryLimits: (queryLimits) => createGateway({ store, keys, queryLimits }),
  ReadDocumentsOptions: (option) => orders.readDocuments(option),
  ReadOptions: (feedOptions) =>
    new ChangeFeedProcessorHost({ group: 'g', feed, leases, feedOptions }),
  RedisCacheSinkOptions: (option) => redisCacheSink({ redis, prefix: 'p', ...option }),
  RedisLeaseStoreOptions: (option) => new RedisLeaseStore(redis, option),
  ServeHealthOptions: (option) =>
    serveHealth([host({}) as ChangeFeedProcessorHost], { port: 0, ...option }),
  StoreOptions: (option) => Store.open({ engine: openMemoryEngine(), ...option }),
  WebhookSinkOptions: (option) =>
    webhookSink({ url: 'http://localhost', secret: SECRET, ...option }),
  WorkOptions: host,
}
const SECRET = `whsec_${Buffer.alloc(32).toString('base64')}`

const options = readOptions(new PublishedApi(ROOT))
  .flatMap(({ tables }) => tables)
  .flatMap(({ name: table, options: entries }) =>
    entries
      .filter(({ type, range }) => table in TAKEN_BY && type === 'number' && range !== undefined)
      .map(({ name, range = '' }) => [table, name, range] as const),
  )

/** Whether the rule of the option takes this value. Bounds that two options have together are not meant here. */
async function isTaken(table: string, name: string, value: number): Promise<boolean> {
  try {
    const given = (await TAKEN_BY[table]?.({ [name]: value })) as Partial<Ended> | undefined
    await (given?.stop?.() ?? given?.close?.())
    return true
  } catch (error) {
    const { code, message } = error as { readonly code?: string; readonly message: string }
    return (
      code !== 'ERR_INVALID_OPTION' ||
      !new RegExp(`^(?:\\w+\\.)?${name} must be (?!(?:below|at most) .*Ms )`).test(message)
    )
  }
}

interface Ended {
  stop(): unknown
  close(): unknown
}

function bound(text: string): number {
  return Number(text.replaceAll('_', ''))
}

afterAll(() => store.close())

test.each(options)('%s.%s is refused outside of its range: %s', async (table, name, range) => {
  const { any, above, from, to } = RANGE.exec(range)?.groups ?? {}
  const least = bound(above ?? from ?? '')
  const taken = (value: number): Promise<boolean> => isTaken(table, name, value)
  expect(await taken(above === undefined ? least : least + 0.5)).toBe(true)
  expect(await taken(above === undefined ? least - 1 : least)).toBe(false)
  expect(await taken(least + 0.5)).toBe(any !== undefined)
  if (to === undefined) return
  expect(await taken(bound(to))).toBe(true)
  expect(await taken(bound(to) + 1)).toBe(false)
})
