import { once } from 'node:events'
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect as connectTls } from 'node:tls'
import {
  ServiceBusClient,
  type ServiceBusClientOptions,
  type ServiceBusReceivedMessage,
} from '@azure/service-bus'
import { LOCALHOST_TLS } from '@tidemark/testing/servers'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { tidemark } from './command-runner.child.ts'
import { Served } from './served-command.child.ts'

const KEY = 'MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY='
const CONFIG = { UserConfig: { Namespaces: [{ Name: 'shop', Queues: [{ Name: 'orders' }] }] } }
/** How a client of AMQP begins. */
const SASL_HEADER = Buffer.from('AMQP\x03\x01\x00\x00')
const EMULATOR = { name: 'RootManageSharedAccessKey', key: 'SAS_KEY_VALUE' }

let folder: string
let config: string
const clients: ServiceBusClient[] = []

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tidemark-serve-queues-'))
  config = join(folder, 'Config.json')
  await writeFile(config, JSON.stringify(CONFIG))
})
afterEach(async () => {
  for (const client of clients.splice(0)) await client.close()
  await Served.killAll()
  await rm(folder, { recursive: true, force: true })
})

const data = (): string => join(folder, 'data')

interface Access {
  readonly name: string
  readonly key: string
}

/** The official client, with a connection string of the emulator's kind. */
function clientOf(amqp: unknown, { name, key }: Access): ServiceBusClient {
  return client(
    `Endpoint=sb://localhost:${portOf(amqp)};SharedAccessKeyName=${name};SharedAccessKey=${key};UseDevelopmentEmulator=true;`,
  )
}

function client(connection: string, options: ServiceBusClientOptions = {}): ServiceBusClient {
  const made = new ServiceBusClient(connection, { retryOptions: { maxRetries: 0 }, ...options })
  clients.push(made)
  return made
}

function portOf(url: unknown): string {
  return new URL(String(url)).port
}

async function sendAndReceive(sender: ServiceBusClient, receiver = sender): Promise<unknown> {
  await sender.createSender('orders').sendMessages({ body: { total: 12 }, messageId: 'm1' })
  const queue = receiver.createReceiver('orders')
  const [message] = await queue.receiveMessages(1)
  await queue.completeMessage(message as ServiceBusReceivedMessage)
  return message?.body
}

/** The options for a certificate of localhost. */
async function writeCertificate(): Promise<readonly string[]> {
  const [cert, key] = [join(folder, 'cert.pem'), join(folder, 'key.pem')]
  await writeFile(cert, LOCALHOST_TLS.cert)
  await writeFile(key, LOCALHOST_TLS.key, { mode: 0o600 })
  return ['--tls-cert', cert, '--tls-key', key]
}

test('one JSON line when it answers; the official client works with the emulator’s key; SIGTERM ends it in order', async () => {
  const served = new Served(['serve', '--memory', '--amqp-port', '0', '--queues', config, '--json'])
  const ready = await served.ready()
  expect(ready).toEqual({ amqp: expect.stringMatching(/^amqp:\/\/127\.0\.0\.1:\d+$/), ready: true })
  expect(await sendAndReceive(clientOf(ready['amqp'], EMULATOR))).toEqual({ total: 12 })
  const other = clientOf(ready['amqp'], { name: 'anything', key: 'SAS_KEY_VALUE' })
  expect(await sendAndReceive(other)).toEqual({ total: 12 })
  expect(await served.end('SIGTERM')).toBe(0)
  expect(served.errors).toBe('')
})

test("the key of a store's folder is that of the root policy, and messages stay for the other commands", async () => {
  const served = new Served(['serve', data(), '--amqp-port', '0', '--queues', config])
  await served.firstLine()
  const amqp = /amqp:\/\/[^\s]+/.exec(served.output)?.[0]
  expect(served.output).toContain('queues and topics are in the database "shop"')
  const key = (await readFile(join(data(), 'gateway-key'), 'utf8')).trim()
  const root = clientOf(amqp, { name: 'RootManageSharedAccessKey', key })
  await root.createSender('orders').sendMessages({ body: 'stays' })
  for (const wrong of [EMULATOR, { name: 'other', key }]) {
    const refused = clientOf(amqp, wrong).createSender('orders').sendMessages({ body: 1 })
    await expect(refused).rejects.toMatchObject({ code: 'UnauthorizedAccess' })
  }
  expect(await served.end('SIGTERM')).toBe(0)
  expect(served.output + served.errors).not.toContain(key)
  const { output } = await tidemark('queues', 'ls', 'shop', '--store', data(), '--json')
  expect(JSON.parse(output)).toMatchObject({ name: 'orders', activeMessageCount: 1 })
})

test('further policies have their rights only, and are followed while it runs', async () => {
  const policies = join(folder, 'policies')
  const [listen, send] = [`${KEY}listen`, `${KEY}send`]
  await writeFile(policies, `listener Listen ${listen}\nsender Send ${send}\n`, { mode: 0o600 })
  const served = new Served(
    [
      'serve',
      '--memory',
      '--amqp-port',
      '0',
      '--queues',
      config,
      '--access-policies',
      policies,
      '--json',
    ],
    { TIDEMARK_GATEWAY_KEY: KEY },
  )
  const { amqp } = await served.ready()
  const listener = clientOf(amqp, { name: 'listener', key: listen })
  const sender = clientOf(amqp, { name: 'sender', key: send })
  expect(await sendAndReceive(sender, listener)).toEqual({ total: 12 })
  const refused = listener.createSender('orders').sendMessages({ body: 1 })
  await expect(refused).rejects.toMatchObject({ code: 'UnauthorizedAccess' })
  await writeFile(policies, `listener Listen,Send ${listen}\n`)
  await expect
    .poll(() => served.errors)
    .toContain('were replaced: 1 allow everything, 0 only allow reads, 1 access policies')
  const both = clientOf(amqp, { name: 'listener', key: listen })
  expect(await sendAndReceive(both)).toEqual({ total: 12 })
  const gone = clientOf(amqp, { name: 'sender', key: send }).createSender('orders')
  await expect(gone.sendMessages({ body: 1 })).rejects.toMatchObject({ code: 'UnauthorizedAccess' })
  for (const key of [KEY, listen, send]) expect(served.output + served.errors).not.toContain(key)
})

test('AMQPS, and WebSockets on the port of the gateway, with one certificate', async () => {
  const served = new Served([
    'serve',
    '--memory',
    '--port',
    '0',
    '--amqp-port',
    '0',
    '--queues',
    config,
    ...(await writeCertificate()),
    '--json',
  ])
  const ready = await served.ready()
  expect(ready).toMatchObject({
    endpoint: expect.stringMatching(/^https:/),
    amqp: expect.stringMatching(/^amqps:/),
  })
  const of = (url: unknown): string =>
    `Endpoint=sb://localhost:${portOf(url)};SharedAccessKeyName=any;SharedAccessKey=SAS_KEY_VALUE;`
  const webSocketConstructorOptions = { rejectUnauthorized: false }
  const overWebSockets = client(of(ready['endpoint']), {
    webSocketOptions: { webSocket: WebSocket, webSocketConstructorOptions },
  })
  expect(await sendAndReceive(overWebSockets)).toEqual({ total: 12 })
  const amqps = connectTls({ port: Number(portOf(ready['amqp'])), rejectUnauthorized: false })
  amqps.write(SASL_HEADER)
  const [answer] = (await once(amqps, 'data')) as [Buffer]
  expect(answer.subarray(0, 8)).toEqual(SASL_HEADER)
  amqps.destroy()
  expect(await served.end('SIGTERM')).toBe(0)
  expect(served.errors).toBe('')
})

test('administration alone says where it is, and that it is well', async () => {
  const alone = new Served(['serve', '--memory', '--admin-port', '0', '--json'])
  const { admin, ...rest } = await alone.ready()
  expect(rest).toEqual({ ready: true })
  expect((await fetch(`${String(admin)}health`)).status).toBe(200)
  expect((await fetch(`${String(admin)}orders`)).status).toBe(401)
  expect(await alone.end('SIGTERM')).toBe(0)
})

test('dev prints a connection string by which the official client finds a queue and a topic', async () => {
  const served = new Served(['dev', '--port', '0', '--amqp-port', '0', '--admin-port', '0'])
  await served.firstLine()
  const connection = /^Endpoint=sb:.*$/m.exec(served.output)?.[0] ?? ''
  expect(connection).toMatch(
    /^Endpoint=sb:\/\/localhost:\d+;SharedAccessKeyName=RootManageSharedAccessKey;SharedAccessKey=SAS_KEY_VALUE;UseDevelopmentEmulator=true;$/,
  )
  const bus = client(connection)
  await bus.createSender('tasks').sendMessages({ body: 'a task' })
  await bus.createSender('news').sendMessages({ body: 'a piece of news' })
  const [task] = await bus.createReceiver('tasks').receiveMessages(1)
  const [news] = await bus.createReceiver('news', 'all').receiveMessages(1)
  expect([task?.body, news?.body]).toEqual(['a task', 'a piece of news'])
  const admin = /http:\/\/[^\s,]+(?= for administration)/.exec(served.output)?.[0]
  expect((await fetch(`${admin}health`)).status).toBe(200)
  expect(await served.end('SIGTERM')).toBe(0)
  expect(served.errors).toBe('')
})

test('the emulator’s key, and AMQP without TLS, are refused off loopback', async () => {
  const everywhere = ['--amqp-port', '0', '--host', '0.0.0.0']
  const known = await tidemark('serve', '--memory', ...everywhere, '--insecure-amqp')
  expect(known.errors).toMatch(/^tidemark: ERR_INVALID_OPTION: the emulator's key .*loopback/)
  const plain = await tidemark('serve', data(), ...everywhere)
  expect(plain.errors).toMatch(/^tidemark: ERR_INVALID_OPTION: AMQP without TLS .*--insecure-amqp/)
  expect([known.code, plain.code]).toEqual([1, 1])
  const served = new Served(['serve', data(), ...everywhere, '--insecure-amqp'])
  expect(await served.firstLine()).toMatch(
    /at amqp:\/\/127\.0\.0\.1:(\d+) \(listening on 0\.0\.0\.0:\1, not encrypted\) with/,
  )
})

test('options that do not fit together are told as such', async () => {
  const usages = [
    [['--queues', config], '--queues needs --amqp-port or --admin-port'],
    [['--namespace', 'shop'], '--namespace needs'],
    [['--access-policies', config], '--access-policies needs'],
    [['--insecure-amqp'], '--insecure-amqp needs --amqp-port'],
    [['--admin-port', '0', '--insecure-amqp'], '--insecure-amqp needs --amqp-port'],
    [['--amqp-port', '0', '--throttle', '400'], '--throttle is for the gateway'],
    [['--admin-port', '0', '--access-log'], '--access-log is for the gateway'],
    [['--amqp-port', '70000'], '65535'],
  ] as const
  for (const [args, told] of usages) {
    const { code, errors } = await tidemark('serve', '--memory', ...args)
    expect({ args, code }).toEqual({ args, code: 2 })
    expect(errors).toMatch(/^tidemark: ERR_USAGE: /)
    expect(errors).toContain(told)
  }
})

test('a configuration that is wrong is told by file and path, and leaves nothing behind', async () => {
  const queue = { Name: 'orders', Properties: { MaxDeliveryCount: 0, LockDuration: 'PT9M' } }
  await writeFile(config, JSON.stringify({ UserConfig: { Namespaces: [{ Queues: [queue] }] } }))
  const { code, errors } = await tidemark('serve', data(), '--amqp-port', '0', '--queues', config)
  expect(code).toBe(1)
  const at = 'UserConfig.Namespaces[0].Queues[0].Properties'
  for (const part of [config, `${at}.MaxDeliveryCount`, `${at}.LockDuration`]) {
    expect(errors).toContain(part)
  }
  expect(errors).toMatch(/^tidemark: ERR_INPUT: .*\n$/)
  await expect(stat(data())).rejects.toMatchObject({ code: 'ENOENT' })
})

test('a port that is taken ends the command, and the fronts that had begun', async () => {
  const first = new Served(['serve', '--memory', '--amqp-port', '0', '--json'])
  const { amqp } = await first.ready()
  const taken = ['--amqp-port', '0', '--port', portOf(amqp)]
  const { code, errors } = await tidemark('serve', '--memory', ...taken)
  expect(code).toBe(1)
  expect(errors).toMatch(/^tidemark: ERR_ADDRESS_UNAVAILABLE: /)
})
