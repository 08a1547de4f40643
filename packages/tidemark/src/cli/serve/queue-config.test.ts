import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openStore } from '../../open-store.ts'
import {
  checkForNewPlace,
  namespaceName,
  openNamespace,
  readQueueConfig,
  type QueueConfig,
} from './queue-config.ts'

let folder: string
const warnings: string[] = []
const ignored = (): void => {}
const logger = {
  debug: ignored,
  info: ignored,
  warn: (_fields: object, message: string): void => void warnings.push(message),
  error: ignored,
}
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tidemark-queue-config-'))
})
afterEach(async () => {
  await rm(folder, { recursive: true, force: true })
})

function config(namespace: object): QueueConfig {
  return { file: 'Config.json', value: { UserConfig: { Namespaces: [namespace] } } }
}

const GOOD = config({ Name: 'shop', Queues: [{ Name: 'orders' }] })
const BAD = config({ Queues: [{ Name: 'orders', Properties: { MaxDeliveryCount: 0 } }] })
const BAD_MESSAGE = /^Config\.json: [^]*Namespaces\[0\]\.Queues\[0\]\.Properties\.MaxDeliveryCount/

test.each([
  ['what was asked for', 'asked', GOOD, 'asked'],
  ['that of the configuration', undefined, GOOD, 'shop'],
  ['a default', undefined, undefined, 'messages'],
  ['a default without a name', undefined, config({ Queues: [] }), 'messages'],
  ['a default for what is no configuration', undefined, { file: 'x', value: [1] }, 'messages'],
  ['a default for a name that is none', undefined, config({ Name: '' }), 'messages'],
])('the database is %s', (_what, asked, given, name) => {
  expect(namespaceName(asked, given)).toBe(name)
})

test('a file that cannot be read, or is no JSON, is refused by its name', async () => {
  const file = join(folder, 'Config.json')
  const refused = { code: 'ERR_INPUT', message: expect.stringContaining(file) }
  await expect(readQueueConfig(file)).rejects.toMatchObject(refused)
  await writeFile(file, '{')
  await expect(readQueueConfig(file)).rejects.toMatchObject(refused)
  await writeFile(file, '\uFEFF{}')
  expect(await readQueueConfig(file)).toEqual({ file, value: {} })
})

test('a new folder is not made for a configuration that is wrong', async () => {
  const place = { kind: 'folder', folder: join(folder, 'data') } as const
  await expect(checkForNewPlace(BAD, place)).rejects.toMatchObject({
    code: 'ERR_INPUT',
    message: expect.stringMatching(BAD_MESSAGE),
  })
  await checkForNewPlace(GOOD, place)
  await expect(stat(place.folder)).rejects.toMatchObject({ code: 'ENOENT' })
})

test('a database is not made for it either', async () => {
  await using store = await openStore(':memory:')
  await expect(openNamespace(store, 'shop', { config: BAD, logger })).rejects.toMatchObject({
    code: 'ERR_INPUT',
  })
  expect(await store.listDatabases()).toEqual([])
  await using broker = await openNamespace(store, 'shop', { config: GOOD, logger })
  expect(await broker.getQueue('orders')).toMatchObject({ name: 'orders' })
})

test('a configuration may refer to queues that exist, and must agree with them', async () => {
  await using store = await openStore(join(folder, 'data'))
  {
    await using broker = await openNamespace(store, 'shop', { logger })
    await broker.createQueue('all', { maxDeliveryCount: 3 })
  }
  const forwarding = config({ Queues: [{ Name: 'orders', Properties: { ForwardTo: 'all' } }] })
  await checkForNewPlace(forwarding, { kind: 'folder', folder: join(folder, 'data') })
  await using broker = await openNamespace(store, 'shop', { config: forwarding, logger })
  expect(await broker.getQueue('orders')).toMatchObject({ forwardTo: 'all' })
  const other = config({ Queues: [{ Name: 'all', Properties: { MaxDeliveryCount: 4 } }] })
  await expect(openNamespace(store, 'shop', { config: other, logger })).rejects.toMatchObject({
    code: 'ERR_INPUT',
    message: expect.stringMatching(BAD_MESSAGE),
  })
})

test('dead letters that cannot be forwarded are logged', async () => {
  await using store = await openStore(':memory:')
  await using broker = await openNamespace(store, 'shop', { logger })
  await broker.createQueue('target', { requiresSession: true })
  await broker.createQueue('orders', { forwardDeadLetteredMessagesTo: 'target' })
  await broker.createSender('orders').sendMessages({ body: 1 })
  await using receiver = broker.createReceiver('orders')
  const [message] = await receiver.receiveMessages(1)
  await receiver.deadLetterMessage(message ?? {})
  await expect.poll(() => warnings).toMatchObject([expect.stringContaining("'orders'")])
})
