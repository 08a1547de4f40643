import { systemClock, systemRandom, type Clock } from '@tidemark/contracts'
import {
  startPostgresProcess,
  startTcpProxy,
  type PostgresProcess,
} from '@tidemark/testing/servers'
import { Pool } from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Connections } from '../connection/connections.ts'
import { Doorbell, type DoorbellOptions } from './doorbell.ts'
import { Ringer } from './ringer.ts'
import type { Touched } from './touched-range.ts'

let server: PostgresProcess
let connections: Connections
beforeAll(async () => {
  server = await startPostgresProcess()
  connections = new Connections({ url: server.url(), clock: systemClock, random: systemRandom })
})
afterAll(async () => {
  await connections.close()
  await server[Symbol.asyncDispose]()
})

const channel = `tidemark_it's "here"`

function touched(...numbers: readonly number[]): Touched {
  return { ranges: numbers.map((range) => ({ collection: 1, range, lsn: 5 })), entities: [] }
}

class Heard implements AsyncDisposable {
  /** Numbers of the ranges that each ring named. */
  readonly rings: (readonly number[])[] = []
  connected = 0
  readonly doorbell: Doorbell

  constructor(options: Partial<DoorbellOptions> = {}) {
    this.doorbell = new Doorbell({
      ...(options.pool === undefined && { url: server.url() }),
      channel,
      clock: systemClock,
      random: systemRandom,
      onRing: (touched) =>
        this.rings.push(touched === 'anything' ? [] : touched.ranges.map(({ range }) => range)),
      onConnected: () => this.connected++,
      ...options,
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.doorbell.stop()
  }
}

function makeRinger(origin?: string): Ringer {
  return new Ringer({ connections, channel, origin, clock: systemClock })
}

async function listeners(): Promise<number> {
  const rows = await server.query(
    `SELECT 1 FROM pg_stat_activity WHERE query LIKE '%pg_notify(''tidemark%'`,
  )
  return rows.length
}

test('what one process rings, another hears; its own it does not', async () => {
  await using mine = new Heard({ origin: 'me' })
  await using other = new Heard({ origin: 'other' })
  await using elsewhere = new Heard({ channel: 'elsewhere' })
  const all = [mine, other, elsewhere]
  await Promise.all(all.map(({ doorbell }) => doorbell.start()))
  expect(all.map(({ doorbell, connected }) => [doorbell.isConnected, connected])).toEqual([
    [true, 1],
    [true, 1],
    [true, 1],
  ])
  const ringer = makeRinger('me')
  ringer.ring(touched(7, 8))
  await expect.poll(() => other.rings).toEqual([[7, 8]])
  await makeRinger().stop()
  const strange = makeRinger()
  strange.ring('anything')
  await expect.poll(() => mine.rings).toEqual([[]])
  expect(elsewhere.rings).toEqual([])
  await ringer.stop()
  await strange.stop()
})

test('it hears again after the server was restarted or ended its connection, and says so', async () => {
  await using heard = new Heard()
  await heard.doorbell.start()
  await server.restart('immediate')
  await expect.poll(() => heard.connected).toBe(2)
  expect(heard.doorbell.isConnected).toBe(true)
  await server.query(
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE '%pg_notify(''tidemark%' AND pid <> pg_backend_pid()`,
  )
  await expect.poll(() => heard.connected).toBe(3)
  const ringer = makeRinger()
  ringer.ring(touched(1))
  await expect.poll(() => heard.rings).toEqual([[1]])
  await ringer.stop()
})

test('while the server is away it tries again, and knows that it hears nothing', async () => {
  await using proxy = await startTcpProxy(server)
  await using heard = new Heard({ url: `postgres://postgres@${proxy.host}:${proxy.port}/postgres` })
  proxy.refuse()
  await heard.doorbell.start()
  expect(heard.doorbell.isConnected).toBe(false)
  proxy.accept()
  await expect.poll(() => heard.doorbell.isConnected).toBe(true)
  proxy.refuse()
  await expect.poll(() => heard.doorbell.isConnected).toBe(false)
  expect(heard.connected).toBe(1)
})

test('a connection that went dead without a word is noticed and made again; stop does not wait for it', async () => {
  await using proxy = await startTcpProxy(server)
  const url = `postgres://postgres@${proxy.host}:${proxy.port}/postgres`
  // A clock that makes the pauses between tests of the connection short.
  const clock: Clock = {
    ...systemClock,
    sleep: (delayMs, signal, options) => systemClock.sleep(delayMs / 50, signal, options),
  }
  await using heard = new Heard({ url, clock })
  await heard.doorbell.start()
  proxy.block()
  await expect.poll(() => heard.doorbell.isConnected).toBe(false)
  // By a clock this fast, a busy machine is dead without a word, too: the block has to have met something.
  await expect.poll(() => proxy.droppedBytes).toBeGreaterThan(0)
  const before = heard.connected
  proxy.unblock()
  await expect.poll(() => heard.connected).toBeGreaterThan(before)
  proxy.block()
  await heard.doorbell.stop()
})

test('a passed-in pool gives one connection, and gets its place back', async () => {
  const pool = new Pool({ connectionString: server.url(), max: 2 })
  pool.on('error', () => {})
  {
    await using heard = new Heard({ pool })
    await heard.doorbell.start()
    expect(heard.doorbell.isConnected).toBe(true)
    expect(pool.totalCount).toBe(1)
    const ringer = makeRinger()
    ringer.ring(touched(3))
    await expect.poll(() => heard.rings).toEqual([[3]])
    await ringer.stop()
  }
  expect(pool.totalCount).toBe(0)
  await pool.end()
})

test('a pool of one connection is not asked for it', async () => {
  const pool = new Pool({ connectionString: server.url(), max: 1 })
  pool.on('error', () => {})
  await using heard = new Heard({ pool })
  await heard.doorbell.start()
  expect(heard.doorbell.isConnected).toBe(false)
  expect(pool.totalCount).toBe(0)
  await pool.end()
})

test('a wrong password does not fail the start; nothing is heard', async () => {
  await using heard = new Heard({ url: server.url('no_such_database') })
  await heard.doorbell.start()
  expect(heard.doorbell.isConnected).toBe(false)
  expect(heard.connected).toBe(0)
})

test('stop ends the connection, also twice and before a start', async () => {
  const heard = new Heard()
  await heard.doorbell.start()
  await heard.doorbell.start()
  expect(await listeners()).toBeGreaterThan(0)
  await heard.doorbell.stop()
  await heard.doorbell.stop()
  expect(heard.doorbell.isConnected).toBe(false)
  await expect.poll(listeners).toBe(0)
  await new Heard().doorbell.stop()
})

test('rings are few however many commits there are', async () => {
  await using heard = new Heard()
  await heard.doorbell.start()
  const ringer = makeRinger()
  const startMs = performance.now()
  let commits = 0
  while (performance.now() - startMs < 200) {
    ringer.ring(touched(commits++))
    await systemClock.sleep(0, new AbortController().signal)
  }
  await ringer.stop()
  await expect.poll(() => heard.rings.flat().length).toBe(commits)
  expect(heard.rings.length).toBeLessThanOrEqual((performance.now() - startMs) / 2 + 2)
})
