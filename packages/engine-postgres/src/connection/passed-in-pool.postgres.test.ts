import { systemClock, systemRandom } from '@tidemark/contracts'
import { sharedPostgres, startTcpProxy, type SharedPostgres } from '@tidemark/testing/servers'
import { Pool, type PoolConfig } from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { ConnectionOptions } from './connection-options.ts'
import { Connections } from './connections.ts'
import type { Statement } from './sql.ts'

let server: SharedPostgres
let url: string
beforeAll(async () => {
  server = await sharedPostgres()
  url = await server.createDatabase()
})
afterAll(() => server[Symbol.asyncDispose]())

function makePool(config: PoolConfig = {}): Pool & AsyncDisposable {
  const pool = new Pool({ connectionString: url, ...config })
  // The server's last word to a connection that is being ended is its owner's to hear, and this pool is the test's.
  pool.on('error', () => {})
  const dispose = async (): Promise<void> => {
    if (!pool.ending) await pool.end()
  }
  return Object.assign(pool, { [Symbol.asyncDispose]: dispose })
}

function connect(pool: Pool, options: Partial<ConnectionOptions> = {}): Connections {
  return new Connections({ pool, clock: systemClock, random: systemRandom, ...options })
}

const ONE: Statement = { name: 'one', text: 'SELECT 1' }
const SLEEP: Statement = { name: 'sleep', text: 'SELECT pg_sleep($1)' }

test('a pool whose types are parsed oddly changes nothing about the rows', async () => {
  await using pool = makePool({
    types: { getTypeParser: () => () => 'odd' } as unknown as NonNullable<PoolConfig['types']>,
  })
  expect((await pool.query('SELECT 1 AS one')).rows).toEqual([{ one: 'odd' }])
  await using connections = connect(pool)
  const all: Statement = { name: 'all', text: `SELECT 1, true, 'x', ARRAY[1], NULL` }
  expect(await connections.read(all)).toEqual([['1', 't', 'x', '{1}', null]])
  expect(await connections.transaction((sql) => sql.rows(all))).toEqual([
    ['1', 't', 'x', '{1}', null],
  ])
  // And nothing of ours stays with the pool.
  expect((await pool.query('SELECT 1 AS one')).rows).toEqual([{ one: 'odd' }])
})

test('the pool and its connections are as they were after close', async () => {
  await using pool = makePool({ max: 3 })
  const settings = `SELECT current_setting('statement_timeout') AS a, current_setting('application_name') AS b`
  const before = (await pool.query(settings)).rows
  const connections = connect(pool, { statementTimeoutMs: 777 })
  await Promise.all(
    Array.from({ length: 10 }, () => connections.transaction((sql) => sql.rows(ONE))),
  )
  await connections.close()
  expect(pool.ending).toBe(false)
  expect(pool.idleCount).toBe(pool.totalCount)
  expect((await pool.query(settings)).rows).toEqual(before)
  expect(pool.listenerCount('error')).toBe(1)
})

test('the limits hold in transactions and writes by SET LOCAL, for reads by a request to cancel', async () => {
  await using pool = makePool()
  await using connections = connect(pool, { statementTimeoutMs: 300, applicationName: `o'neill` })
  const settings: Statement = {
    name: 'settings',
    text: `SELECT current_setting('statement_timeout'), current_setting('application_name'),
      current_setting('idle_in_transaction_session_timeout')`,
  }
  const expected = [['300ms', `o'neill`, '5s']]
  expect(await connections.transaction((sql) => sql.rows(settings))).toEqual(expected)
  expect(await connections.snapshot((sql) => sql.rows(settings))).toEqual(expected)
  expect(await connections.write(settings)).toEqual(expected)
  const tooLong = { code: 'ERR_STORE_UNAVAILABLE', message: expect.stringContaining('57014') }
  await expect(connections.write(SLEEP, [60])).rejects.toMatchObject(tooLong)
  await expect(connections.read(SLEEP, [60])).rejects.toMatchObject(tooLong)
})

test('the pool is not used beyond its size: one connection is left for listening', async () => {
  await using pool = makePool({ max: 3, connectionTimeoutMillis: 200 })
  await using connections = connect(pool, { maxConnections: 10 })
  let held = 0
  let most = 0
  pool.on('acquire', () => (most = Math.max(most, ++held)))
  pool.on('release', () => held--)
  const calls = Array.from({ length: 8 }, () => connections.read(SLEEP, [0.1]))
  expect(await Promise.all(calls)).toHaveLength(8)
  expect(most).toBe(2)
})

test('a pool that its owner ended is told as closed', async () => {
  const pool = makePool()
  await using connections = connect(pool)
  expect(await connections.read(ONE)).toEqual([['1']])
  await pool.end()
  await expect(connections.read(ONE)).rejects.toMatchObject({ code: 'ERR_STORE_CLOSED' })
})

test('errors of idle connections of a passed-in pool do not end the process', async () => {
  const target = new URL(url)
  await using proxy = await startTcpProxy({ host: target.hostname, port: Number(target.port) })
  const through = new URL(url)
  through.host = `${proxy.host}:${proxy.port}`
  await using pool = makePool({ connectionString: through.href })
  await using connections = connect(pool)
  await Promise.all([connections.read(SLEEP, [0.1]), connections.read(SLEEP, [0.1])])
  expect(pool.idleCount).toBe(2)
  proxy.cut()
  await expect.poll(() => pool.totalCount).toBe(0)
  expect(await connections.read(ONE)).toEqual([['1']])
})

test('a pool that stops waiting for statements itself does not leave answers behind', async () => {
  await using pool = makePool({ query_timeout: 100, max: 2 })
  await using connections = connect(pool, { outageTimeoutMs: 0 })
  await expect(connections.read(SLEEP, [0.5])).rejects.toMatchObject({
    code: 'ERR_STORE_UNAVAILABLE',
  })
  expect(await connections.read(ONE)).toEqual([['1']])
})
