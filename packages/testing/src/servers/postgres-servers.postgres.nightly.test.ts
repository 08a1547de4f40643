import { execFile } from 'node:child_process'
import { readdir, rm, stat } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { Client } from 'pg'
import { afterEach, expect, test, vi } from 'vitest'
import { startPostgresReplica, startPostgresProcess } from './postgres-process.ts'
import { aliveProcesses } from './process-tree.ts'
import { sharedPostgres } from './shared-postgres.ts'
import { startTcpProxy } from './tcp-proxy.ts'

const run = promisify(execFile)

afterEach(() => {
  vi.unstubAllEnvs()
})

test('two servers at once have ports, folders and data of their own', async () => {
  const servers = await Promise.all([startPostgresProcess(), startPostgresProcess()])
  await using one = servers[0]
  await using other = servers[1]
  expect(one.port).not.toBe(other.port)
  expect(one.folder).not.toBe(other.folder)
  await one.query('CREATE TABLE only_here (id int)')
  await expect(other.query('SELECT * FROM only_here')).rejects.toThrow('does not exist')
})

test('each database is new and empty, and sorts text by bytes', async () => {
  await using server = await startPostgresProcess()
  const [one, other] = await Promise.all([server.createDatabase(), server.createDatabase()])
  expect(one).not.toBe(other)
  const client = new Client({ connectionString: other })
  await client.connect()
  const tables = await client.query("SELECT FROM pg_tables WHERE schemaname = 'public'")
  const { rows } = await client.query("SELECT 'Z' < 'a' AS bytes, 'ü' = U&'\\00fc' AS utf8")
  await client.end()
  expect(tables.rowCount).toBe(0)
  expect(rows).toEqual([{ bytes: true, utf8: true }])
})

test('settings win over the kit’s own, and only a durable server waits for the disk', async () => {
  await using fast = await startPostgresProcess({ settings: { max_connections: '50' } })
  await using durable = await startPostgresProcess({ durable: true })
  const read = `SELECT current_setting('fsync') AS fsync, current_setting('full_page_writes') AS pages,
    current_setting('synchronous_commit') AS commits, current_setting('max_connections') AS connections`
  expect(await fast.query(read)).toEqual([
    { fsync: 'off', pages: 'off', commits: 'on', connections: '50' },
  ])
  expect(await durable.query(read)).toEqual([
    { fsync: 'on', pages: 'on', commits: 'on', connections: '200' },
  ])
})

test('an immediate restart keeps what was committed and loses what was not', async () => {
  await using server = await startPostgresProcess()
  await server.query('CREATE TABLE kept (id int)')
  await server.query('INSERT INTO kept VALUES (1)')
  const open = new Client({ connectionString: server.url() })
  const broken = vi.fn<() => void>()
  open.on('error', broken)
  await open.connect()
  await open.query('BEGIN')
  await open.query('INSERT INTO kept VALUES (2)')
  const { pid } = server
  await server.restart('immediate')
  expect(server.pid).not.toBe(pid)
  await expect.poll(() => broken.mock.calls.length).toBeGreaterThan(0)
  expect(await server.query('SELECT id FROM kept')).toEqual([{ id: 1 }])
})

test('killed in the middle of work it leaves no process, and another server goes on with its folder and port', async () => {
  await using server = await startPostgresProcess()
  await server.query('CREATE TABLE kept (id int)')
  await server.query('INSERT INTO kept VALUES (1)')
  const stuck = server.query('SELECT pg_sleep(600)')
  const failed = expect(stuck).rejects.toThrow()
  const backends = await activeBackends(server)
  expect(backends).toHaveLength(1)
  await server.kill()
  await failed
  expect(server.running).toBe(false)
  expect(await aliveProcesses(backends)).toEqual([])
  {
    await using next = await startPostgresProcess({ folder: server.folder, port: server.port })
    expect(next.port).toBe(server.port)
    expect(await next.query('SELECT id FROM kept')).toEqual([{ id: 1 }])
  }
  // The folder was given to `next`, so it is still there for the one that made it.
  await server.start()
  expect(await server.query('SELECT id FROM kept')).toEqual([{ id: 1 }])
})

test('a paused server answers nothing, and goes on when it is resumed', async () => {
  await using server = await startPostgresProcess()
  const client = new Client({ connectionString: server.url() })
  await client.connect()
  await server.pause()
  const answer = client.query("SELECT 'late' AS answer")
  const newcomer = server.query('SELECT 1 AS one')
  // Real time: that nothing comes can only be waited for.
  expect(await Promise.race([answer, newcomer, sleep(200, 'nothing')])).toBe('nothing')
  server.resume()
  expect((await answer).rows).toEqual([{ answer: 'late' }])
  expect(await newcomer).toEqual([{ one: 1 }])
  await client.end()
})

test('a disposed server leaves no process and no files, even when it is paused', async () => {
  const server = await startPostgresProcess()
  const { pid = 0, folder } = server
  await server.pause()
  await server[Symbol.asyncDispose]()
  expect(await aliveProcesses([pid])).toEqual([])
  await expect(readdir(folder)).rejects.toThrow(/ENOENT/)
})

test('a stop ends also a paused server', async () => {
  await using server = await startPostgresProcess()
  await server.pause()
  await server.stop('fast')
  expect(server.running).toBe(false)
  await expect(server.query('SELECT 1')).rejects.toThrow('ECONNREFUSED')
})

test('a replica follows its primary, takes only reads, and writes once it is promoted', async () => {
  await using primary = await startPostgresProcess()
  await primary.query('CREATE TABLE kept (id int)')
  await using replica = await startPostgresReplica(primary)
  await primary.query('INSERT INTO kept VALUES (1)')
  await replica.caughtUpWith(primary)
  expect(await replica.query('SELECT id FROM kept')).toEqual([{ id: 1 }])
  await expect(replica.query('INSERT INTO kept VALUES (2)')).rejects.toThrow('read-only')
  await primary.kill()
  await replica.promote()
  await replica.query('INSERT INTO kept VALUES (2)')
  expect(await replica.query('SELECT id FROM kept ORDER BY id')).toEqual([{ id: 1 }, { id: 2 }])
})

test('a replica behind a proxy can be cut off from its primary', async () => {
  await using primary = await startPostgresProcess()
  await using proxy = await startTcpProxy(primary)
  await using replica = await startPostgresReplica(proxy)
  await replica.caughtUpWith(primary)
  proxy.block('toClient')
  await primary.query('CREATE TABLE later (id int)')
  await expect.poll(() => proxy.droppedBytes).toBeGreaterThan(0)
  await expect(replica.query('SELECT FROM later')).rejects.toThrow('does not exist')
  proxy.unblock()
  await replica.caughtUpWith(primary)
  expect(await replica.query('SELECT FROM later')).toEqual([])
})

test('a server that cannot start says what PostgreSQL said, and leaves no files', async () => {
  const started = startPostgresProcess({ settings: { shared_buffers: 'plenty' } })
  const error = await started.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  expect(String(error)).toMatch(/did not start .*invalid value for parameter "shared_buffers"/s)
  const folder = /in (\S+):/.exec(String(error))?.[1] ?? ''
  await expect(stat(folder)).rejects.toThrow(/ENOENT/)
})

test('a shared server is the one that is named, and drops what was made on it even while it is in use', async () => {
  await using server = await startPostgresProcess()
  vi.stubEnv('TIDEMARK_TEST_POSTGRES_URL', server.url())
  const shared = await sharedPostgres()
  const url = await shared.createDatabase()
  expect(new URL(url).port).toBe(String(server.port))
  const client = new Client({ connectionString: url })
  client.on('error', () => {})
  await client.connect()
  const made = "SELECT count(*)::int AS n FROM pg_database WHERE datname LIKE 'tidemark\\_%'"
  expect(await server.query(made)).toEqual([{ n: 1 }])
  await shared[Symbol.asyncDispose]()
  expect(await server.query(made)).toEqual([{ n: 0 }])
})

test('a connection that is just ending gets no error from the end of its database', async () => {
  await using server = await startPostgresProcess()
  vi.stubEnv('TIDEMARK_TEST_POSTGRES_URL', server.url())
  const shared = await sharedPostgres()
  const client = new Client({ connectionString: await shared.createDatabase() })
  const broken = vi.fn<() => void>()
  client.on('error', broken)
  await client.connect()
  const disposed = shared[Symbol.asyncDispose]()
  // The server is waiting for it by now, or has not been asked yet.
  await sleep(200)
  await client.end()
  await disposed
  expect(broken).not.toHaveBeenCalled()
})

test('without a named server the shared one is started here and ends with it', async () => {
  vi.stubEnv('TIDEMARK_TEST_POSTGRES_URL', '')
  const shared = await sharedPostgres()
  const client = new Client({ connectionString: await shared.createDatabase() })
  client.on('error', () => {})
  await client.connect()
  const ended = new Promise((resolve) => client.once('end', resolve))
  await shared[Symbol.asyncDispose]()
  await ended
})

test('servers end with the process that started them, paused ones too, even when it is killed', async () => {
  const child = fileURLToPath(new URL('postgres-servers.child.ts', import.meta.url))
  const { stdout } = await run(process.execPath, [...process.execArgv, child]).catch(
    (killed: { signal: string; stdout: string }) => killed,
  )
  const { pids, folders } = JSON.parse(stdout) as { pids: number[]; folders: string[] }
  expect(pids.length).toBeGreaterThan(2)
  await expect.poll(() => aliveProcesses(pids)).toEqual([])
  // No process is left that could remove them.
  for (const folder of folders) await rm(folder, { recursive: true })
})

async function activeBackends(server: {
  query(text: string): Promise<Record<string, unknown>[]>
}): Promise<number[]> {
  const rows = await vi.waitFor(async () => {
    const found = await server.query(
      "SELECT pid FROM pg_stat_activity WHERE wait_event = 'PgSleep' ORDER BY pid",
    )
    expect(found).not.toHaveLength(0)
    return found
  })
  return rows.map(({ pid }) => Number(pid))
}
