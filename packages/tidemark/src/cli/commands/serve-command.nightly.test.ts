import { execFileSync } from 'node:child_process'
import {
  chmod,
  copyFile,
  mkdir,
  mkdtemp,
  readFile,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises'
import { request as httpsRequest } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { CosmosClient } from '@azure/cosmos'
import { EMULATOR_KEY } from '@tidemark/gateway'
import { LOCALHOST_TLS } from '@tidemark/testing/servers'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openStore } from '../../open-store.ts'
import { jsonLines, tidemark } from './command-runner.child.ts'
import { Served } from './served-command.child.ts'

const MAIN = fileURLToPath(new URL('../main.ts', import.meta.url))
const KEY = 'MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY='
const READ_ONLY_KEY = 'cmVhZC1vbmx5LWtleS1vZi0zMi1ieXRlcy1sb25nISE='

/** Of `dev`, which has three. */
const ANY_PORTS = ['--port', '0', '--amqp-port', '0', '--admin-port', '0']

let folder: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tidemark-serve-'))
})
afterEach(async () => {
  await Served.killAll()
  await rm(folder, { recursive: true, force: true })
})

async function writeAndRead(endpoint: string, key: string): Promise<void> {
  using client = disposable(new CosmosClient({ endpoint, key }))
  const { database } = await client.databases.createIfNotExists({ id: 'shop' })
  const { container } = await database.containers.createIfNotExists({
    id: 'orders',
    partitionKey: '/customerId',
  })
  await container.items.upsert({ id: 'o1', customerId: 'c7', total: 12 })
  const { resource } = await container.item('o1', 'c7').read()
  expect(resource).toMatchObject({ id: 'o1', total: 12 })
}

function disposable(client: CosmosClient): CosmosClient & Disposable {
  return Object.assign(client, { [Symbol.dispose]: () => client.dispose() })
}

const data = (): string => join(folder, 'data')

test('one JSON line when it answers; the real client works with the key of the file; SIGTERM ends it in order', async () => {
  const keyFile = join(folder, 'key')
  await writeFile(keyFile, `${KEY}\n`, { mode: 0o600 })
  const logged = ['--key-file', keyFile, '--json', '--access-log']
  const served = new Served(['serve', data(), '--port', '0', ...logged])
  const endpoint = await served.endpoint()
  await writeAndRead(endpoint, KEY)
  expect(await served.end('SIGTERM')).toBe(0)
  const address = new URL(endpoint).host
  const [ready, ...requests] = jsonLines(served.output)
  expect(ready).toEqual({ endpoint, address, ready: true })
  expect(requests).toContainEqual(
    expect.objectContaining({ method: 'GET', path: '/dbs/shop/colls/orders/docs/o1', status: 200 }),
  )
  expect(served.output).not.toContain(KEY)
  expect(endpoint).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/$/)
  expect(served.errors).toBe('')
  // What was written is in the folder, where a program finds it.
  await using store = await openStore(data())
  const { document } = await store.database('shop').collection('orders').read('o1', 'c7')
  expect(document).toMatchObject({ id: 'o1', total: 12 })
})

test('without a key one is made, kept for its owner only, taken again, and never printed', async () => {
  const first = new Served(['serve', data(), '--port', '0'])
  const endpoint = await first.endpoint()
  const file = join(data(), 'gateway-key')
  const key = (await readFile(file, 'utf8')).trim()
  expect(Buffer.from(key, 'base64')).toHaveLength(64)
  expect((await stat(file)).mode & 0o777).toBe(0o600)
  await writeAndRead(endpoint, key)
  expect(await first.end('SIGINT')).toBe(0)
  expect(first.output).toContain(`serving ${data()} at ${endpoint} with the key in ${file}`)

  const second = new Served(['serve', data(), '--port', '0'])
  await writeAndRead(await second.endpoint(), key)
  await second.end('SIGTERM')
  for (const { output, errors } of [first, second]) expect(output + errors).not.toContain(key)
})

test('a key is replaced without a restart: by its file, and a file that is gone changes nothing', async () => {
  const served = new Served(['serve', data(), '--port', '0'])
  const endpoint = await served.endpoint()
  const file = join(data(), 'gateway-key')
  const old = (await readFile(file, 'utf8')).trim()
  const isAccepted = async (key: string): Promise<boolean> => {
    using client = disposable(new CosmosClient({ endpoint, key }))
    try {
      await client.databases.readAll().fetchAll()
      return true
    } catch {
      return false
    }
  }
  await writeFile(file, KEY)
  await expect.poll(() => isAccepted(old)).toBe(false)
  expect(await isAccepted(KEY)).toBe(true)
  await rm(file)
  await expect
    .poll(() => served.errors)
    .toMatch(/gateway-key is gone; the present keys stay in force/)
  expect(await isAccepted(KEY)).toBe(true)
  expect(served.errors).toContain('the keys in force were replaced: 1 allow everything')
  expect(await served.end('SIGTERM')).toBe(0)
  for (const key of [old, KEY]) expect(served.output + served.errors).not.toContain(key)
})

test('keys of the environment; one that only allow reads is refused writes', async () => {
  const served = new Served(['serve', '--memory', '--port', '0'], {
    TIDEMARK_GATEWAY_KEY: KEY,
    TIDEMARK_GATEWAY_READ_ONLY_KEY: READ_ONLY_KEY,
  })
  const endpoint = await served.endpoint()
  await writeAndRead(endpoint, KEY)
  using reader = disposable(new CosmosClient({ endpoint, key: READ_ONLY_KEY }))
  const orders = reader.database('shop').container('orders')
  expect((await orders.item('o1', 'c7').read()).resource).toMatchObject({ total: 12 })
  await expect(orders.items.upsert({ id: 'o2', customerId: 'c7' })).rejects.toMatchObject({
    code: 403,
  })
  await served.end('SIGTERM')
  expect(served.output).toContain('environment variable TIDEMARK_GATEWAY_KEY')
  expect(served.output + served.errors).not.toContain(KEY)
})

test("the emulator's key never listens on a public address", async () => {
  const keyFile = join(folder, 'key')
  await writeFile(keyFile, EMULATOR_KEY, { mode: 0o600 })
  const asked = [
    ['serve', '--memory', '--port', '0', '--host', '0.0.0.0'],
    ['serve', data(), '--port', '0', '--host', '0.0.0.0', '--key-file', keyFile],
  ]
  for (const args of asked) {
    const { code, output, errors } = await tidemark(...args)
    expect({ code, output }).toEqual({ code: 1, output: '' })
    expect(errors).toMatch(/^tidemark: ERR_INVALID_OPTION: the emulator's key .*loopback/)
  }
})

test('plain http off loopback needs --insecure-http, and the address that is printed is the real one', async () => {
  const anywhere = ['serve', data(), '--port', '0', '--host', '0.0.0.0']
  const { code, output, errors } = await tidemark(...anywhere)
  expect({ code, output }).toEqual({ code: 1, output: '' })
  expect(errors).toMatch(/^tidemark: ERR_INVALID_OPTION: plain http .*--insecure-http/)
  const served = new Served([...anywhere, '--insecure-http'])
  const endpoint = await served.endpoint()
  const { port } = new URL(endpoint)
  expect(served.output).toContain(
    `at http://127.0.0.1:${port}/ (listening on 0.0.0.0:${port}, not encrypted) with`,
  )
  expect((await fetch(endpoint)).status).toBe(401)
})

test('wrong arguments are told as such, and unreadable files by their name', async () => {
  const usages = [
    ['serve'],
    ['serve', data(), '--memory'],
    ['serve', data(), '--port', '70000'],
    ['serve', data(), '--tls-cert', 'cert.pem'],
    ['serve', '--memory', '--durability', 'relaxed'],
  ]
  for (const args of usages) {
    const { code, errors } = await tidemark(...args)
    expect({ args, code }).toEqual({ args, code: 2 })
    expect(errors).toMatch(/^tidemark: ERR_USAGE: /)
  }
  const missing = join(folder, 'missing')
  const noFile = await tidemark('serve', data(), '--port', '0', '--key-file', missing)
  expect(noFile).toMatchObject({
    code: 1,
    errors: expect.stringContaining(`ERR_INPUT: --key-file ${missing}`),
  })
  const shortKey = join(folder, 'short')
  await writeFile(shortKey, 'c2hvcnQ=', { mode: 0o600 })
  // Nothing was made for it.
  await expect(stat(data())).rejects.toMatchObject({ code: 'ENOENT' })
  const short = await tidemark('serve', data(), '--port', '0', '--key-file', shortKey)
  expect(short).toMatchObject({ code: 1, errors: expect.stringContaining('ERR_INVALID_OPTION') })
  expect(short.errors).not.toContain('c2hvcnQ=')
  const url = 'postgres://nobody:secret@127.0.0.1:1/none'
  const unreachable = await tidemark('serve', url, '--port', '0')
  expect(unreachable).toMatchObject({ code: 1, errors: expect.stringMatching(/^tidemark: ERR_/) })
  expect(unreachable.errors).not.toContain('secret')
})

test.runIf(process.platform !== 'win32')(
  'a key that other users may read, or could have put there, is refused, and not printed',
  async () => {
    const key = join(folder, 'key')
    await writeFile(key, KEY)
    await chmod(key, 0o644)
    for (const option of ['--key-file', '--read-only-key-file', '--tls-key']) {
      const refused = await tidemark(
        'serve',
        data(),
        option,
        key,
        ...(option === '--tls-key' ? ['--tls-cert', MAIN] : []),
      )
      expect(refused).toMatchObject({
        code: 1,
        errors: expect.stringMatching(`ERR_INPUT: ${option} ${key} .*mode 644`),
      })
      expect(refused.errors).not.toContain(KEY)
    }
    await expect(stat(data())).rejects.toMatchObject({ code: 'ENOENT' })

    await (await openStore(data())).close()
    const stored = join(data(), 'gateway-key')
    const refusedStored = async (reason: RegExp): Promise<void> => {
      const { code, errors } = await tidemark('serve', data(), '--port', '0')
      expect(code).toBe(1)
      expect(errors).toMatch(/^tidemark: ERR_INPUT: /)
      expect(errors).toMatch(reason)
    }
    await copyFile(key, stored)
    await refusedStored(/gateway-key .*mode 644/)
    await rm(stored)
    await chmod(key, 0o600)
    await symlink(key, stored)
    await refusedStored(/gateway-key cannot be read: ELOOP/)
    await rm(stored)
    // Opening it as a file is opened would wait for somebody who writes.
    execFileSync('mkfifo', ['-m', '600', stored])
    await refusedStored(/gateway-key cannot be read: it is not a file/)
    await rm(stored)
    await chmod(data(), 0o777)
    await refusedStored(/can write to .*data/)
  },
)

test('the path of a file is an invalid option for every command, not a store in use', async () => {
  const file = join(folder, 'file')
  await writeFile(file, '')
  const served = await tidemark('serve', file, '--port', '0')
  expect(served).toMatchObject({
    code: 1,
    errors: expect.stringMatching(`ERR_INVALID_OPTION: ${file} is a file`),
  })
  const listed = await tidemark('ranges', 'ls', 'shop/orders', '--store', file)
  expect(listed).toMatchObject({
    code: 1,
    errors: expect.stringMatching(`ERR_INPUT: --store ${file}: it is not a folder`),
  })
})

test('a folder that cannot be read is told with the reason', async () => {
  const loop = join(folder, 'loop')
  await symlink(loop, loop)
  expect(await tidemark('ranges', 'ls', 'shop/orders', '--store', loop)).toMatchObject({
    code: 1,
    errors: `tidemark: ERR_INPUT: --store ${loop}: the folder cannot be read (ELOOP)\n`,
  })
})

test('limits are options: a body above the largest is 413, units above the budget are 429', async () => {
  const served = new Served(
    ['serve', '--memory', '--port', '0', '--max-body-mib', '1', '--throttle', '30'],
    { TIDEMARK_GATEWAY_KEY: KEY },
  )
  const endpoint = await served.endpoint()
  await writeAndRead(endpoint, KEY)
  const connectionPolicy = { retryOptions: { maxRetryAttemptCount: 0 } }
  using client = disposable(new CosmosClient({ endpoint, key: KEY, connectionPolicy }))
  const { items } = client.database('shop').container('orders')
  const large = { id: 'large', customerId: 'c7', text: 'x'.repeat(1024 * 1024) }
  await expect(items.upsert(large)).rejects.toMatchObject({ code: 413 })
  const refused = async (): Promise<void> => {
    for (let n = 0; n < 1000; n++) await items.upsert({ id: `o${n}`, customerId: 'c7' })
  }
  await expect(refused()).rejects.toMatchObject({ code: 429 })
})

test('https with a certificate and its key', async () => {
  const [cert, key] = [join(folder, 'cert.pem'), join(folder, 'key.pem')]
  await writeFile(cert, LOCALHOST_TLS.cert)
  await writeFile(key, LOCALHOST_TLS.key, { mode: 0o600 })
  const served = new Served([
    'serve',
    '--memory',
    '--port',
    '0',
    '--tls-cert',
    cert,
    '--tls-key',
    key,
    '--json',
  ])
  const endpoint = await served.endpoint()
  expect(endpoint).toMatch(/^https:/)
  const status = await new Promise<number | undefined>((resolve, reject) => {
    httpsRequest(endpoint, { rejectUnauthorized: false }, (answer) => {
      answer.resume()
      resolve(answer.statusCode)
    })
      .on('error', reject)
      .end()
  })
  expect(status).toBe(401)
})

test("dev has the emulator's key and a demo database that the real client reads", async () => {
  const served = new Served(['dev', ...ANY_PORTS])
  const endpoint = await served.endpoint()
  expect(served.output).toContain('"demo"')
  const connection = /AccountEndpoint=\S+;AccountKey=\S+;/.exec(served.output)?.[0] ?? ''
  using client = disposable(new CosmosClient(connection))
  const { resource } = await client
    .database('demo')
    .container('orders')
    .item('order-1', 'grace')
    .read()
  expect(resource).toMatchObject({ id: 'order-1', customerId: 'grace' })
  await writeAndRead(endpoint, EMULATOR_KEY)
  expect(await served.end('SIGINT')).toBe(0)
})

test('dev shows documents that come, a worker, and its lag; a second one from the printed line takes half', async () => {
  const first = new Served(['dev', ...ANY_PORTS])
  await first.firstLine()
  await expect.poll(() => first.output).toContain('in a browser')
  const page = /^open (\S+) in a browser/m.exec(first.output)?.[1] ?? ''
  const [, join = ''] =
    /^for a second worker: .*tidemark (?:-- )?(dev --join \S+)$/m.exec(first.output) ?? []
  const look = async () => {
    const answer = await fetch(`${page}ui/api/views/group?leases=demo/leases&group=visitors`)
    return (await answer.json()) as {
      readonly head: { readonly collection: string; readonly changes: number | null }
      readonly tables: {
        readonly leases: readonly { readonly owner: string | null; readonly lsn: number }[]
      }
    }
  }
  const owners = async () => new Set((await look()).tables.leases.map(({ owner }) => owner))
  const waiting = { timeout: 30_000, interval: 100 }
  await expect.poll(async () => [...(await owners())][0], waiting).toMatch(/^worker-/)
  expect((await owners()).size).toBe(1)
  await expect.poll(async () => (await look()).head.changes ?? 0, waiting).toBeGreaterThan(0)
  const second = new Served(join.split(' '))
  await expect.poll(() => second.output, waiting).toContain('works on 2 of 4 ranges')
  await expect.poll(async () => (await owners()).size, waiting).toBe(2)
  expect(await second.end('SIGINT')).toBe(0)
  await expect.poll(async () => (await owners()).size, waiting).toBe(1)
  expect(await first.end('SIGINT')).toBe(0)
  expect([first.errors, second.errors]).toEqual(['', ''])
})

test('dev --no-demo writes nothing and starts no worker', async () => {
  const served = new Served(['dev', ...ANY_PORTS, '--no-demo', '--json'])
  const { page } = await served.ready()
  const answer = await fetch(`${String(page)}ui/api/views/overview`)
  const { tables } = (await answer.json()) as { tables: { collections: { id: string }[] } }
  expect(tables.collections.map(({ id }) => id)).toEqual(['demo/orders'])
  expect(await served.end('SIGTERM')).toBe(0)
})

test('dev on a folder makes the demo once: what was changed there stays', async () => {
  await mkdir(data())
  const first = new Served(['dev', data(), ...ANY_PORTS, '--json'])
  const endpoint = await first.endpoint()
  using client = disposable(new CosmosClient({ endpoint, key: EMULATOR_KEY }))
  await client.database('demo').container('orders').item('order-1', 'grace').delete()
  await first.end('SIGTERM')
  const second = new Served(['dev', data(), ...ANY_PORTS, '--json'])
  await second.endpoint()
  await second.end('SIGTERM')
  await using store = await openStore(data())
  expect(await store.database('demo').collection('orders').count()).toBe(23)
})

test('the lag of a group is answered on loopback, and on no other address without credentials', async () => {
  const lag = async (args: readonly string[], authorization = '') => {
    const served = new Served(['serve', data(), '--port', '0', ...args])
    const url = `${await served.endpoint()}api/groups/nobody/lag`
    const response = await fetch(url, { headers: { authorization } })
    await served.end('SIGTERM')
    return [response.status, await response.json()]
  }
  const refused = [401, { code: 'ERR_UNAUTHORIZED' }]
  const unknown = [404, { code: 'ERR_NOT_FOUND' }]
  const open = ['--host', '0.0.0.0', '--insecure-http']
  const file = join(folder, 'credentials')
  await writeFile(file, 'bearer of-the-scaler', { mode: 0o600 })
  const guarded = [...open, '--credentials-file', file]
  expect(await lag([])).toMatchObject(unknown)
  expect(await lag(open, 'Bearer of-the-scaler')).toMatchObject(refused)
  expect(await lag(guarded)).toMatchObject(refused)
  expect(await lag(guarded, 'Bearer of-the-scaler')).toMatchObject(unknown)
})

test('probes are open without a key, on serve and on dev, and say no names', async () => {
  for (const args of [
    ['serve', data(), '--port', '0'],
    ['dev', ...ANY_PORTS],
  ]) {
    const served = new Served(args)
    const endpoint = await served.endpoint()
    const answers = await Promise.all(
      ['livez', 'readyz', 'healthz'].map(async (path) => {
        const response = await fetch(endpoint + path)
        return [response.status, await response.json()]
      }),
    )
    expect(answers).toMatchObject([
      [200, { status: 'alive' }],
      [200, { status: 'ready', draining: false, store: 'reachable' }],
      [401, { code: 'Unauthorized' }],
    ])
    expect(await served.end('SIGTERM')).toBe(0)
  }
})

test('/metrics is answered on loopback, and elsewhere to credentials only', async () => {
  const metrics = async (args: readonly string[], headers: Record<string, string> = {}) => {
    const served = new Served([...args])
    const url = `${await served.endpoint()}metrics`
    const first = await fetch(url, { headers })
    await first.text()
    const text = await (await fetch(url, { headers })).text()
    expect(await served.end('SIGTERM')).toBe(0)
    return { status: first.status, text, errors: served.errors }
  }
  const dev = await metrics(['dev', ...ANY_PORTS])
  expect(dev).toMatchObject({ status: 200, errors: '' })
  expect(dev.text).toMatch(/^tidemark_queue_messages\{messaging_destination_name="tasks",.*\} 0$/m)
  // The scrape before.
  expect(dev.text).toMatch(/^process_uptime_seconds /m)
  const file = join(folder, 'people')
  await writeFile(file, 'bearer token-4711\n', { mode: 0o600 })
  const open = ['serve', data(), '--port', '0', '--host', '0.0.0.0', '--insecure-http']
  expect(await metrics(open)).toMatchObject({ status: 401 })
  const guarded = [...open, '--credentials-file', file]
  const authorization = 'Bearer token-4711'
  expect(await metrics(guarded, { authorization })).toMatchObject({ status: 200, errors: '' })
  expect(await metrics(guarded)).toMatchObject({ status: 401 })
})
