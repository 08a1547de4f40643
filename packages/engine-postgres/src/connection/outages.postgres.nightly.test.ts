import { systemClock, systemRandom } from '@tidemark/contracts'
import {
  startPostgresReplica,
  startPostgresProcess,
  startTcpProxy,
  type PostgresProcess,
  type TcpProxy,
} from '@tidemark/testing/servers'
import { Client } from 'pg'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { ConnectionOptions } from './connection-options.ts'
import { Connections } from './connections.ts'
import type { Statement } from './sql.ts'

let server: PostgresProcess
beforeAll(async () => {
  server = await startPostgresProcess()
  await server.query('CREATE TABLE t (id integer PRIMARY KEY, n integer)')
})
afterAll(() => server[Symbol.asyncDispose]())
beforeEach(() => server.query('TRUNCATE t').then(() => {}))

function connect(options: Partial<ConnectionOptions> = {}): Connections {
  const url = options.pool === undefined ? server.url() : undefined
  return new Connections({ url, clock: systemClock, random: systemRandom, ...options })
}

const urlOf = (proxy: TcpProxy): string =>
  `postgres://postgres@${proxy.host}:${proxy.port}/postgres`
const ONE: Statement = { name: 'one', text: 'SELECT 1' }
const PID: Statement = { name: 'pid', text: 'SELECT pg_backend_pid()' }
const SLEEP: Statement = { name: 'sleep', text: 'SELECT pg_sleep($1)' }
const INSERT: Statement = { name: 'insert', text: 'INSERT INTO t VALUES ($1, 0)' }
const IDS: Statement = { name: 'ids', text: 'SELECT id FROM t ORDER BY id' }
const UNKNOWN = {
  code: 'ERR_STORE_UNAVAILABLE',
  message: expect.stringContaining('outcome is unknown'),
}

/** From here to `release`, statements on `t` wait: a fault finds them running, however slow this machine is. */
async function holdTable(): Promise<AsyncDisposable & { release(): Promise<void> }> {
  const client = new Client(server.url())
  await client.connect()
  await client.query('BEGIN; LOCK TABLE t')
  let ended: Promise<void> | undefined
  const release = (): Promise<void> => (ended ??= client.end())
  return { release, [Symbol.asyncDispose]: release }
}

/** Ends the sessions that run such a statement. Resolves when it found one. */
async function terminate(pattern: string): Promise<void> {
  const find = `SELECT pg_terminate_backend(pid) AS done FROM pg_stat_activity
    WHERE state <> 'idle' AND pid <> pg_backend_pid() AND query LIKE $1`
  await expect.poll(() => server.query(find, { values: [pattern] })).not.toEqual([])
}

async function active(pattern: string): Promise<number> {
  const find = `SELECT 1 FROM pg_stat_activity
    WHERE state = 'active' AND pid <> pg_backend_pid() AND query LIKE $1`
  return (await server.query(find, { values: [pattern] })).length
}

async function ids(): Promise<unknown[]> {
  return (await server.query('SELECT id FROM t ORDER BY id')).map((row) => row['id'])
}

test('a read whose connection is ended by the server goes on by itself', async () => {
  await using connections = connect()
  await using table = await holdTable()
  const reading = connections.read(IDS)
  await terminate('SELECT id FROM t%')
  await table.release()
  expect(await reading).toEqual([])
})

test('a write whose connection the server ended before it could commit is done once', async () => {
  await using connections = connect()
  await using table = await holdTable()
  const writing = connections.write(INSERT, [1])
  await terminate('INSERT INTO t VALUES%')
  await table.release()
  await writing
  expect(await ids()).toEqual([1])
})

test('a transaction whose connection is ended before COMMIT is run again', async () => {
  await using connections = connect()
  let runs = 0
  await connections.transaction(async (sql) => {
    runs++
    await sql.rows(INSERT, [runs])
    if (runs === 1) await terminate('INSERT INTO t VALUES%')
  })
  expect(runs).toBe(2)
  expect(await ids()).toEqual([2])
})

test('a write whose connection is cut has an unknown outcome and is not sent again', async () => {
  await using proxy = await startTcpProxy(server)
  await using connections = connect({ url: urlOf(proxy) })
  await using table = await holdTable()
  const writing = connections.write(INSERT, [1])
  const rejected = expect(writing).rejects.toMatchObject(UNKNOWN)
  await expect.poll(() => active('INSERT INTO t VALUES%')).toBe(1)
  proxy.cut()
  await rejected
  await table.release()
  // The server goes on: so it did happen, once.
  await expect.poll(ids).toEqual([1])
  expect(await connections.read(ONE)).toEqual([['1']])
})

test('a COMMIT without an answer has an unknown outcome', async () => {
  await using proxy = await startTcpProxy(server)
  await using connections = connect({ url: urlOf(proxy) })
  let runs = 0
  const writing = connections.transaction(async (sql) => {
    runs++
    await sql.rows(INSERT, [1])
    proxy.block('toClient')
  })
  const rejected = expect(writing).rejects.toMatchObject(UNKNOWN)
  // The answer to COMMIT.
  await expect.poll(() => proxy.droppedBytes).toBeGreaterThan(0)
  proxy.unblock()
  await rejected
  expect(runs).toBe(1)
  expect(await ids()).toEqual([1])
})

test('a write that never was sent is sent when the server is back', async () => {
  await using proxy = await startTcpProxy(server)
  await using connections = connect({ url: urlOf(proxy) })
  await connections.open()
  proxy.refuse()
  const writing = connections.write(INSERT, [1])
  await systemClock.sleep(200, new AbortController().signal)
  proxy.accept()
  await writing
  expect(await ids()).toEqual([1])
})

test('many reads and writes outlive restarts of the server, and nothing acknowledged is lost', async () => {
  await using connections = connect({ maxConnections: 5 })
  await connections.open()
  const acknowledged: number[] = []
  const unknown = new Set<number>()
  let next = 0
  let reads = 0
  let stop = false
  const reader = async (): Promise<void> => {
    for (; !stop; reads++) expect(await connections.read(ONE)).toEqual([['1']])
  }
  const writer = async (): Promise<void> => {
    while (!stop) {
      const id = next++
      try {
        await connections.write(INSERT, [id])
        acknowledged.push(id)
      } catch (error) {
        expect(error).toMatchObject(UNKNOWN)
        unknown.add(id)
      }
    }
  }
  const work = Promise.all([...Array.from({ length: 8 }, reader), writer(), writer()])
  for (let round = 0; round < 3; round++) {
    await server.restart('immediate')
    const before = { reads, writes: acknowledged.length }
    await expect.poll(() => reads).toBeGreaterThan(before.reads + 20)
    await expect.poll(() => acknowledged.length).toBeGreaterThan(before.writes + 5)
  }
  stop = true
  await work
  const stored = new Set(await ids())
  expect(acknowledged.filter((id) => !stored.has(id))).toEqual([])
  const known = new Set(acknowledged)
  expect([...stored].filter((id) => !known.has(Number(id)) && !unknown.has(Number(id)))).toEqual([])
})

test('an outage that lasts is told after the time for it, to those who wait in the queue too', async () => {
  await using proxy = await startTcpProxy(server)
  await using connections = connect({
    url: urlOf(proxy),
    outageTimeoutMs: 300,
    maxConnections: 2,
  })
  await connections.open()
  proxy.refuse()
  const startMs = performance.now()
  const calls = Array.from({ length: 20 }, () => connections.read(ONE))
  const outcomes = await Promise.allSettled(calls)
  const tookMs = performance.now() - startMs
  for (const outcome of outcomes) {
    expect(outcome).toMatchObject({
      status: 'rejected',
      reason: { code: 'ERR_STORE_UNAVAILABLE', retryable: true },
    })
  }
  expect(tookMs).toBeGreaterThan(290)
  expect(tookMs).toBeLessThan(20_000)
  proxy.accept()
  // On a busy machine the time for an outage may be over once more before the server has answered.
  await expect.poll(() => connections.read(ONE).catch(() => undefined)).toEqual([['1']])
})

test('an abort ends the wait for a server that is down', async () => {
  await using proxy = await startTcpProxy(server)
  await using connections = connect({ url: urlOf(proxy) })
  await connections.open()
  proxy.refuse()
  const reading = connections.read(ONE, [], { signal: AbortSignal.timeout(100) })
  await expect(reading).rejects.toMatchObject({ name: 'TimeoutError' })
})

test('close does not wait for a server that is down', async () => {
  await using proxy = await startTcpProxy(server)
  const connections = connect({ url: urlOf(proxy) })
  await connections.open()
  proxy.refuse()
  const reading = connections.read(ONE)
  const rejected = expect(reading).rejects.toMatchObject({ code: 'ERR_STORE_CLOSED' })
  await systemClock.sleep(100, new AbortController().signal)
  await connections.close()
  await rejected
})

test('a connection that went dead without a word is given up, and the read goes on elsewhere', async () => {
  await using proxy = await startTcpProxy(server)
  const limits = { statementTimeoutMs: 200, connectTimeoutMs: 300 }
  await using connections = connect({ url: urlOf(proxy), ...limits })
  await connections.open()
  proxy.block()
  const reading = connections.read(ONE)
  await expect.poll(() => proxy.droppedBytes).toBeGreaterThan(0)
  await systemClock.sleep(1_500, new AbortController().signal)
  proxy.unblock()
  expect(await reading).toEqual([['1']])
})

test('a server that starts or stands still is waited for', async () => {
  await using connections = connect()
  await connections.open()
  await server.pause()
  const reading = connections.read(ONE)
  const writing = connections.write(INSERT, [1])
  await systemClock.sleep(300, new AbortController().signal)
  server.resume()
  expect(await reading).toEqual([['1']])
  await writing
  expect(await ids()).toEqual([1])
})

test('a standby answers reads; a write on it is refused at once with advice', async () => {
  await using standby = await startPostgresReplica(server)
  await using connections = connect({ url: standby.url() })
  await connections.open()
  expect(await connections.read(ONE)).toEqual([['1']])
  const startMs = performance.now()
  const refused = { code: 'ERR_STORE_UNAVAILABLE', message: expect.stringContaining('primary') }
  await expect(connections.write(INSERT, [1])).rejects.toMatchObject(refused)
  await expect(connections.transaction((sql) => sql.rows(INSERT, [1]))).rejects.toMatchObject(
    refused,
  )
  expect(performance.now() - startMs).toBeLessThan(20_000)
  await standby.caughtUpWith(server)
  await standby.promote()
  await connections.write(INSERT, [1])
})

test('a server that took writes and refuses them is waited for: it is failing over', async () => {
  await using connections = connect()
  await connections.write(INSERT, [1])
  await server.query('ALTER SYSTEM SET default_transaction_read_only = on')
  await server.query('SELECT pg_reload_conf()')
  await expect
    .poll(() => server.query('SHOW default_transaction_read_only'))
    .toEqual([{ default_transaction_read_only: 'on' }])
  const writing = connections.write(INSERT, [2])
  await systemClock.sleep(200, new AbortController().signal)
  await server.query('ALTER SYSTEM RESET default_transaction_read_only')
  await server.query('SELECT pg_reload_conf()')
  await writing
  expect(await ids()).toEqual([1, 2])
})

test('a replica answers for the primary while it can', async () => {
  await using replica = await startPostgresReplica(server)
  await using connections = connect({ replicaUrl: replica.url() })
  await connections.open()
  const recovering: Statement = { name: 'recovering', text: 'SELECT pg_is_in_recovery()' }
  const asked = (): Promise<unknown> => connections.read(recovering, [], { from: 'replica' })
  expect(await connections.read(recovering)).toEqual([['f']])
  expect(await asked()).toEqual([['t']])
  expect(await connections.snapshot((sql) => sql.rows(recovering), { from: 'replica' })).toEqual([
    ['t'],
  ])
  await replica.kill()
  expect(await asked()).toEqual([['f']])
  await replica.start()
  // Asked again after a rest.
  await expect.poll(asked).toEqual([['t']])
  // The replica does not replace the primary for what did not ask for it.
  expect(await connections.read(recovering)).toEqual([['f']])
})

test('opening tells a wrong place at once, without the password', async () => {
  const reject = (url: string): string => new URL(url, 'postgres://x').href
  await server.query(`CREATE ROLE someone LOGIN PASSWORD 'right'`)
  const { port } = server
  const wrong: [string, RegExp][] = [
    [`postgres://postgres:hidden@127.0.0.1:1/postgres`, /host and port/],
    [`postgres://postgres:hidden@does-not-exist.invalid/postgres`, /name of the host|reached/],
    [`postgres://postgres:hidden@127.0.0.1:${port}/nothing`, /"nothing" does not exist.*name in/],
    [`postgres://nobody:hidden@127.0.0.1:${port}/postgres`, /"nobody" does not exist/],
  ]
  for (const [url, message] of wrong) {
    await using connections = connect({ url: reject(url) })
    const startMs = performance.now()
    const error: unknown = await connections.open().catch((reason: unknown) => reason)
    expect(error).toMatchObject({
      code: 'ERR_STORE_UNAVAILABLE',
      message: expect.stringMatching(message),
    })
    expect(JSON.stringify(error) + String(error)).not.toContain('hidden')
    expect(performance.now() - startMs).toBeLessThan(20_000)
  }
})

test('a server that has no room at the moment is waited for, also at opening', async () => {
  await using small = await startPostgresProcess({
    settings: { max_connections: '5', superuser_reserved_connections: '0' },
  })
  await using first = connect({ url: small.url(), maxConnections: 5 })
  const busy = Array.from({ length: 5 }, () => first.read(SLEEP, [0.5]))
  await Promise.race(busy.map((call) => call.then(() => {})).concat(first.open().then(() => {})))
  await using second = connect({ url: small.url(), outageTimeoutMs: 10_000 })
  const opening = second.open()
  await Promise.all(busy)
  await first.close()
  expect(await opening).toMatchObject({ version: expect.any(Number) })
})

test('PID of connections changes only when one was lost', async () => {
  await using connections = connect({ maxConnections: 1 })
  const before = await connections.read(PID)
  expect(await connections.read(PID)).toEqual(before)
  await server.query('SELECT pg_terminate_backend($1)', { values: [Number(before[0]?.[0])] })
  await expect.poll(() => connections.read(PID)).not.toEqual(before)
})
