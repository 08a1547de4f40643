import { RangeGoneError, systemClock, systemRandom } from '@tidemark/contracts'
import { sharedPostgres, type SharedPostgres } from '@tidemark/testing/servers'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { integerArray, textArray } from './binary-array.ts'
import type { ConnectionOptions } from './connection-options.ts'
import { Connections } from './connections.ts'
import { numberColumn } from './columns.ts'
import type { Statement } from './sql.ts'

let server: SharedPostgres
let url: string
beforeAll(async () => {
  server = await sharedPostgres()
  url = await server.createDatabase()
})
afterAll(() => server[Symbol.asyncDispose]())

let watcher: Connections
beforeEach(async () => {
  watcher = connect({ applicationName: 'watcher' })
  await watcher.script(
    'DROP TABLE IF EXISTS t; CREATE TABLE t (id integer PRIMARY KEY, n integer); INSERT INTO t VALUES (1, 0), (2, 0)',
  )
  return () => watcher.close()
})

function connect(options: Partial<ConnectionOptions> = {}): Connections {
  return new Connections({ url, clock: systemClock, random: systemRandom, ...options })
}

let names = 0
function statement(text: string): Statement {
  return { name: `s${names++}`, text }
}

/** What the server is doing for connections of that application. */
async function running(application: string): Promise<(string | null)[]> {
  const rows = await watcher.read(
    statement(
      `SELECT query FROM pg_stat_activity WHERE application_name = $1 AND state = 'active' AND datname = current_database()`,
    ),
    [application],
  )
  return rows.map(([query]) => query ?? null)
}

const COUNT = statement('SELECT n FROM t WHERE id = $1')
const ADD = statement('UPDATE t SET n = n + $2 WHERE id = $1 RETURNING n')
const SLEEP = statement('SELECT pg_sleep($1)')

test('every column arrives as the text of the server, whatever its type', async () => {
  await using connections = connect()
  const [row] = await connections.read(
    statement(`SELECT 1::integer, 2::bigint, 1.5::float8, true, false, NULL, 'ä'::text, '{"a":1}'::jsonb,
      ARRAY[1, 2, NULL], ARRAY[true, NULL], '2020-01-01'::date`),
  )
  const rest = ['t', 'f', null, 'ä', '{"a": 1}', '{1,2,NULL}', '{t,NULL}', '2020-01-01']
  expect(row).toEqual(['1', '2', '1.5', ...rest])
})

test('arrays arrive on the server as they were', async () => {
  await using connections = connect()
  const texts = ['', 'a"b', '{}', 'NULL', null, 'ä€😀', 'x'.repeat(10_000), '\\']
  const [row = []] = await connections.read(
    statement('SELECT to_json($1::text[]), $2::bigint[], array_length($3::text[], 1)'),
    [textArray(texts), integerArray([1, null, 2 ** 53 - 1]), textArray([])],
  )
  expect(JSON.parse(row[0] ?? '')).toEqual(texts)
  expect(row.slice(1)).toEqual(['{1,NULL,9007199254740991}', null])
})

test('bytes of any kind of array go as bytes', async () => {
  await using connections = connect()
  const bytes = new Uint8Array(Buffer.from('..abc..')).subarray(2, 5)
  const rows = await connections.read(statement(`SELECT convert_from($1, 'UTF8')`), [bytes])
  expect(rows).toEqual([['abc']])
})

test('a text with a NUL that got this far is refused by the server as a bad document', async () => {
  await using connections = connect()
  await expect(connections.write(statement('SELECT $1::text'), ['a\0b'])).rejects.toMatchObject({
    code: 'ERR_INVALID_DOCUMENT',
  })
})

const PREPARED = statement('SELECT count(*) FROM pg_prepared_statements WHERE name = $1')

test('statements are prepared once a connection, or not at all', async () => {
  await using preparing = connect({ maxConnections: 1 })
  await preparing.read(PREPARED, [PREPARED.name])
  expect(await preparing.read(PREPARED, [PREPARED.name])).toEqual([['1']])
  await using plain = connect({ maxConnections: 1, preparedStatements: false })
  await plain.read(PREPARED, [PREPARED.name])
  expect(await plain.read(PREPARED, [PREPARED.name])).toEqual([['0']])
})

test('prepared statements that a pooler lost are sent without preparing from then on', async () => {
  await using connections = connect({ maxConnections: 1 })
  await connections.read(PREPARED, ['x'])
  await connections.script('DEALLOCATE ALL')
  expect(await connections.write(ADD, [1, 1])).toEqual([['1']])
  expect(await connections.read(PREPARED, ['x'])).toEqual([['0']])
  expect(await connections.read(PREPARED, [PREPARED.name])).toEqual([['0']])
})

test('a statement goes on after its table was changed', async () => {
  await using connections = connect({ maxConnections: 1 })
  const all = statement('SELECT * FROM t WHERE id = 1')
  expect(await connections.read(all)).toEqual([['1', '0']])
  await watcher.script('ALTER TABLE t ADD COLUMN more integer')
  expect(await connections.read(all)).toEqual([['1', '0', null]])
})

test('a transaction is committed as a whole, or rolled back with the error of its code', async () => {
  await using connections = connect()
  const result = await connections.transaction(async (sql) => {
    await sql.rows(ADD, [1, 1])
    // Asked for together, run one after the other.
    const rows = await Promise.all([sql.rows(ADD, [1, 1]), sql.rows(ADD, [2, 5])])
    return rows.flat().map((row) => numberColumn(row, 0))
  })
  expect(result).toEqual([2, 5])
  const refusal = new RangeGoneError('0', [])
  const refused = connections.transaction(async (sql) => {
    await sql.rows(ADD, [1, 100])
    throw refusal
  })
  await expect(refused).rejects.toBe(refusal)
  expect(await connections.read(COUNT, [1])).toEqual([['2']])
})

test('a transaction that hides a failed statement does not pass for committed', async () => {
  await using connections = connect()
  const hiding = connections.transaction(async (sql) => {
    await sql.rows(ADD, [1, 1])
    await sql.rows(statement('SELECT 1/0')).catch(() => {})
    await sql.rows(ADD, [1, 1]).catch(() => {})
  })
  await expect(hiding).rejects.toThrow('division by zero')
  expect(await connections.read(COUNT, [1])).toEqual([['0']])
})

test('a failure behind a savepoint does not spoil the transaction', async () => {
  await using connections = connect()
  await connections.transaction(async (sql) => {
    await sql.rows(ADD, [1, 1])
    await sql.script('SAVEPOINT a')
    await sql.rows(statement('SELECT 1/0')).catch(() => {})
    await sql.script('ROLLBACK TO a')
  })
  expect(await connections.read(COUNT, [1])).toEqual([['1']])
})

test('a statement after the end of its transaction is refused', async () => {
  await using connections = connect()
  const sql = await connections.transaction((inside) => Promise.resolve(inside))
  await expect(sql.rows(ADD, [1, 1])).rejects.toThrow('after its transaction had ended')
})

test('a snapshot sees one state of all tables and cannot write', async () => {
  await using connections = connect()
  const seen = await connections.snapshot(async (sql) => {
    const before = await sql.rows(COUNT, [1])
    await watcher.write(ADD, [2, 7])
    return [...before, ...(await sql.rows(COUNT, [2]))]
  })
  expect(seen).toEqual([['0'], ['0']])
  expect(await connections.read(COUNT, [2])).toEqual([['7']])
  await expect(connections.snapshot((sql) => sql.rows(ADD, [1, 1]))).rejects.toMatchObject({
    code: 'ERR_STORE_UNAVAILABLE',
  })
})

test('two real deadlocks are run again until both transactions are done', async () => {
  await using connections = connect()
  for (let round = 0; round < 2; round++) {
    let runs = 0
    const both = Promise.withResolvers<void>()
    let holding = 0
    const crossing = (first: number, second: number): Promise<void> =>
      connections.transaction(async (sql) => {
        runs++
        await sql.script('SET LOCAL deadlock_timeout = 50')
        await sql.rows(ADD, [first, 1])
        if (++holding === 2) both.resolve()
        await both.promise
        await sql.rows(ADD, [second, 1])
      })
    await Promise.all([crossing(1, 2), crossing(2, 1)])
    // Without a repetition there was no deadlock.
    expect(runs).toBeGreaterThan(2)
  }
  expect(await connections.read(COUNT, [1])).toEqual([['4']])
  expect(await connections.read(COUNT, [2])).toEqual([['4']])
})

test('a transaction that always loses is given up', async () => {
  await using connections = connect({ random: { fraction: () => 0, hex: () => '' } })
  let runs = 0
  const losing = connections.transaction(async (sql) => {
    runs++
    await sql.script(`DO $$ BEGIN RAISE SQLSTATE '40001'; END $$`)
  })
  await expect(losing).rejects.toMatchObject({ code: 'ERR_STORE_UNAVAILABLE', retryable: true })
  expect(runs).toBe(12)
})

test.each(['read', 'snapshot'] as const)(
  'an abort of a %s rejects with its reason and stops the statement on the server',
  async (how) => {
    await using connections = connect({ applicationName: `abort-${how}`, maxConnections: 1 })
    const pid = statement('SELECT pg_backend_pid()')
    const before = await connections.read(pid)
    const abort = new AbortController()
    const { signal } = abort
    const sleeping =
      how === 'read'
        ? connections.read(SLEEP, [60], { signal })
        : connections.snapshot((sql) => sql.rows(SLEEP, [60]), { signal })
    const rejected = expect(sleeping).rejects.toBe('enough')
    await expect.poll(() => running(`abort-${how}`)).toEqual([SLEEP.text])
    abort.abort('enough')
    await rejected
    await expect.poll(() => running(`abort-${how}`)).toEqual([])
    // The connection itself is still good, and the request does not hit what comes after.
    for (let i = 0; i < 20; i++) expect(await connections.read(pid)).toEqual(before)
  },
)

test('an abort takes a call out of the queue', async () => {
  await using connections = connect({ maxConnections: 1 })
  const abort = new AbortController()
  const first = connections.read(SLEEP, [0.3])
  const waiting = connections.read(COUNT, [1], { signal: abort.signal })
  abort.abort('enough')
  await expect(waiting).rejects.toBe('enough')
  await expect(connections.read(COUNT, [1], { signal: abort.signal })).rejects.toBe('enough')
  expect(await first).toEqual([['']])
  expect(await connections.read(COUNT, [1])).toEqual([['0']])
})

test('there are never more connections than allowed, and waiting for one has no limit', async () => {
  const applicationName = 'bounded'
  await using connections = connect({
    maxConnections: 3,
    outageTimeoutMs: 50,
    connectTimeoutMs: 500,
    applicationName,
  })
  const count = statement(
    `SELECT count(*) FROM pg_stat_activity WHERE application_name = 'bounded' AND pg_sleep(0.03) IS NOT NULL`,
  )
  const counts = await Promise.all(Array.from({ length: 40 }, () => connections.read(count)))
  const most = Math.max(...counts.map(([row = []]) => numberColumn(row, 0)))
  expect(most).toBe(3)
})

test('calls get connections in their order', async () => {
  await using connections = connect({ maxConnections: 1 })
  const done: number[] = []
  const calls = Array.from({ length: 10 }, async (_, index) => {
    await connections.read(COUNT, [1])
    done.push(index)
  })
  await Promise.all(calls)
  expect(done).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
})

test('a statement that runs too long is ended and says so', async () => {
  await using connections = connect({ statementTimeoutMs: 100 })
  const error = { code: 'ERR_STORE_UNAVAILABLE', message: expect.stringContaining('57014') }
  await expect(connections.read(SLEEP, [60])).rejects.toMatchObject(error)
  await expect(connections.write(SLEEP, [60])).rejects.toMatchObject(error)
})

test('a process that stops in the middle of a transaction does not hold its locks', async () => {
  await using connections = connect({ idleInTransactionTimeoutMs: 100, maxConnections: 1 })
  let runs = 0
  await connections.transaction(async (sql) => {
    runs++
    await sql.rows(ADD, [1, 1])
    // Longer than allowed, as a process that stands still.
    if (runs === 1) await watcher.read(SLEEP, [0.4])
  })
  // A busy machine stands still now and then by itself.
  expect(runs).toBeGreaterThan(1)
  expect(await watcher.read(COUNT, [1])).toEqual([['1']])
})

test('a script is all or nothing', async () => {
  await using connections = connect()
  const broken = connections.script('UPDATE t SET n = 9; SELECT 1/0')
  await expect(broken).rejects.toThrow('division by zero')
  expect(await connections.read(COUNT, [1])).toEqual([['0']])
})

test('a lost table is damage', async () => {
  await using connections = connect()
  await watcher.script('DROP TABLE t')
  const lost = { code: 'ERR_STORE_DAMAGED', message: expect.stringContaining('"t"') }
  await expect(connections.read(COUNT, [1])).rejects.toMatchObject(lost)
  await expect(connections.write(ADD, [1, 1])).rejects.toMatchObject(lost)
  await expect(connections.transaction((sql) => sql.rows(ADD, [1, 1]))).rejects.toMatchObject(lost)
})

test('a missing privilege is said, and the connection stays usable', async () => {
  const role = `reader_${new URL(url).pathname.slice(1)}`
  await watcher.script(`CREATE ROLE ${role} LOGIN PASSWORD 'x'; GRANT SELECT ON t TO ${role}`)
  const reader = new URL(url)
  reader.username = role
  reader.password = 'x'
  {
    await using connections = connect({ url: reader.href })
    expect(await connections.read(COUNT, [1])).toEqual([['0']])
    const refused = {
      code: 'ERR_STORE_UNAVAILABLE',
      message: expect.stringContaining('--grant-to'),
    }
    await expect(connections.write(ADD, [1, 1])).rejects.toMatchObject(refused)
    await watcher.script(`GRANT UPDATE ON t TO ${role}`)
    expect(await connections.write(ADD, [1, 1])).toEqual([['1']])
    await watcher.script(`REVOKE ALL ON t FROM ${role}`)
    await expect(connections.read(COUNT, [1])).rejects.toMatchObject(refused)
  }
  await watcher.script(`DROP ROLE ${role}`)
})

test('close waits for what runs, and nothing runs after it', async () => {
  const connections = connect({ applicationName: 'closing' })
  const slow = connections.read(SLEEP, [0.2])
  const waiting = Array.from({ length: 20 }, () => connections.write(ADD, [1, 1]))
  await connections.close()
  expect(await slow).toEqual([['']])
  expect(await Promise.all(waiting)).toHaveLength(20)
  const closed = { code: 'ERR_STORE_CLOSED' }
  await expect(connections.read(COUNT, [1])).rejects.toMatchObject(closed)
  await expect(connections.transaction(() => Promise.resolve())).rejects.toMatchObject(closed)
  await connections.close()
  const left = statement(`SELECT count(*) FROM pg_stat_activity WHERE application_name = 'closing'`)
  await expect.poll(() => watcher.read(left)).toEqual([['0']])
})

test('the server shows who is connected and holds the limits', async () => {
  await using connections = connect({ applicationName: `it's us`, statementTimeoutMs: 1234 })
  const settings = statement(`SELECT current_setting('application_name'),
    current_setting('statement_timeout'), current_setting('idle_in_transaction_session_timeout')`)
  expect(await connections.read(settings)).toEqual([[`it's us`, '1234ms', '5s']])
  expect(await connections.open()).toEqual({ version: expect.any(Number) })
  await expect(connections.open({ oldestVersion: 990_000 })).rejects.toMatchObject({
    code: 'ERR_SERVER_UNSUPPORTED',
    message: expect.stringContaining('99.0'),
  })
})
