import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { chown, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { CodedError, FULL_RANGE, errorCode } from '@tidemark/contracts'
import { freePort, startPostgresProcess, type PostgresProcess } from '@tidemark/testing/servers'
import { Client } from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  ALL_DONE,
  allFailedWith,
  openAt,
  openStoreWithFaults,
  writeEachWay,
  type Note,
  type StoreWithFaults,
} from './store-with-faults.fixture.ts'

// Whatever the server answers, a call fails with a stable code and a message that says what to do, and nothing is
// half done: what can be read afterwards is what could be read before, and the store finds no fault in itself.

const run = promisify(execFile)
const FAULT_TIMES = { outageTimeoutMs: 400, statementTimeoutMs: 5_000 }

let server: PostgresProcess
beforeAll(async () => {
  server = await startPostgresProcess()
})
afterAll(() => server[Symbol.asyncDispose]())

/** Fails as `fault` says, changes nothing, and goes on when it is over. */
async function expectNothingHalfDone(
  under: StoreWithFaults,
  {
    fault,
    repair,
    code,
  }: {
    readonly fault: () => Promise<unknown>
    readonly repair: () => Promise<unknown>
    readonly code: string
  },
): Promise<void> {
  const before = await under.contents()
  await fault()
  expect(await writeEachWay(under)).toEqual(allFailedWith(code))
  await repair()
  expect(await under.contents()).toEqual(before)
  expect(await under.store.check()).toEqual([])
  expect(await writeEachWay(under)).toEqual(ALL_DONE)
  expect(await under.store.check()).toEqual([])
}

async function failureOf(promise: Promise<unknown>): Promise<CodedError> {
  const failure: unknown = await promise.then(
    () => undefined,
    (error: unknown) => error,
  )
  if (failure instanceof CodedError) return failure
  throw new Error('there was no coded error', { cause: failure })
}

test('a privilege that is revoked in the middle is said, with the way to get it back, and nothing is half done', async () => {
  await server.query('CREATE ROLE worker LOGIN')
  await using owner = await openStoreWithFaults(server)
  await owner.admin(`GRANT USAGE ON SCHEMA tidemark TO worker;
    GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA tidemark TO worker;
    GRANT USAGE ON ALL SEQUENCES IN SCHEMA tidemark TO worker`)
  const url = new URL(owner.url)
  url.username = 'worker'
  await using store = await openAt(url.href, FAULT_TIMES)
  const database = store.database('faults')
  const under: StoreWithFaults = {
    ...owner,
    store,
    database,
    notes: database.collection<Note>('notes'),
  }
  // The last of a commit's statements: what comes before it must be undone.
  for (const privilege of ['INSERT ON tidemark.doc', 'UPDATE ON tidemark.segment']) {
    await expectNothingHalfDone(under, {
      fault: () => owner.admin(`REVOKE ${privilege} FROM worker`),
      repair: async () => {
        const failure = await failureOf(under.notes.upsert({ id: 'x', key: 'a', text: '' }))
        expect(failure.message).toMatch(/permission denied.*tidemark init .* --grant-to/s)
        // What is allowed still goes.
        expect((await under.notes.read('first', 'a')).document?.text).toBe('of a')
        await owner.admin(`GRANT ${privilege} TO worker`)
      },
      code: 'ERR_STORE_UNAVAILABLE',
    })
    await under.notes.delete('second', 'a')
    await under.notes.delete('third', 'c')
    for (const key of ['a', 'b', 'c']) {
      await under.notes.upsert({ id: 'first', key, text: `of ${key}` })
    }
  }
  await owner.admin('REVOKE SELECT ON tidemark.doc FROM worker')
  expect((await failureOf(under.notes.read('first', 'a'))).code).toBe('ERR_STORE_UNAVAILABLE')
  await owner.admin('REVOKE ALL ON SCHEMA tidemark FROM worker')
  expect((await failureOf(openAt(url.href))).code).toBe('ERR_STORE_UNAVAILABLE')
})

test.each(['doc', 'segment', 'collection', 'log'])(
  'a lost table (%s) is damage that is named, and when it is back everything is as before',
  async (table) => {
    await using under = await openStoreWithFaults(server, FAULT_TIMES)
    await expectNothingHalfDone(under, {
      fault: () => under.admin(`ALTER TABLE tidemark.${table} RENAME TO taken_away`),
      repair: async () => {
        expect((await failureOf(under.contents())).code).toBe('ERR_STORE_DAMAGED')
        const opened = await failureOf(openAt(under.url))
        expect(opened.code).toBe('ERR_STORE_DAMAGED')
        expect(opened.message).toContain(`table ${table}`)
        await under.admin(`ALTER TABLE tidemark.taken_away RENAME TO ${table}`)
      },
      code: 'ERR_STORE_DAMAGED',
    })
  },
)

test('a table that only some writes need does not stop the others', async () => {
  await using under = await openStoreWithFaults(server, FAULT_TIMES)
  const operation = { kind: 'put', document: { id: 'f', key: 'a', text: '' } } as const
  const fence = { job: 'job', range: FULL_RANGE, epoch: 1 }
  const fenced = () =>
    under.database.commitAtomically([{ collection: under.notes, operation }], { fence })
  await under.admin('ALTER TABLE tidemark.fence RENAME TO taken_away')
  expect((await failureOf(fenced())).code).toBe('ERR_STORE_DAMAGED')
  expect((await under.notes.read('f', 'a')).document).toBeUndefined()
  expect(await writeEachWay(under)).toEqual(ALL_DONE)
  await under.admin('ALTER TABLE tidemark.taken_away RENAME TO fence')
  await fenced()
  expect(await under.store.check()).toEqual([])
})

test.each(['commit_group', 'expiry_second'])(
  'a dropped function (%s) is damage that is named, also one that is called late in a commit',
  async (name) => {
    await using under = await openStoreWithFaults(server, FAULT_TIMES)
    await expectNothingHalfDone(under, {
      fault: () => under.admin(`ALTER FUNCTION tidemark.${name} RENAME TO taken_away`),
      repair: async () => {
        expect((await under.notes.read('first', 'a')).document?.text).toBe('of a')
        const opened = await failureOf(openAt(under.url))
        expect(opened.code).toBe('ERR_STORE_DAMAGED')
        expect(opened.message).toContain(`function ${name}`)
        await under.admin(`ALTER FUNCTION tidemark.taken_away RENAME TO ${name}`)
      },
      code: 'ERR_STORE_DAMAGED',
    })
  },
)

const SECRET = 'pa55word-of-nobody-else'

test.each([
  ['no server there', () => `postgres://u:${SECRET}@127.0.0.1:PORT/db`, 'Check that the server'],
  ['no such host', () => `postgres://u:${SECRET}@host.invalid:5432/db`, 'name of the host'],
  [
    'no such role',
    (url: string) => withUser(url, 'nobody_here'),
    'Check the user and the password',
  ],
  ['no such database', (url: string) => `${url}_gone`, 'Create the database first'],
])('a wrong URL is told at once: %s', async (_what, wrong, advice) => {
  const port = String(await freePort())
  const url = wrong(await server.createDatabase()).replace('PORT', port)
  const beganMs = performance.now()
  const failure = await failureOf(openAt(url))
  expect(failure.code).toBe('ERR_STORE_UNAVAILABLE')
  expect(failure.message).toContain(advice)
  expect(failure.message).not.toContain(SECRET)
  expect(performance.now() - beganMs).toBeLessThan(10_000)
})

test.each(['mysql://host/db', 'not a url', `http://u:${SECRET}@host/db`])(
  'what is no URL of a PostgreSQL is an invalid option, and is not repeated: %s',
  async (url) => {
    const failure = await failureOf(openAt(url))
    expect(failure.code).toBe('ERR_INVALID_OPTION')
    expect(failure.message).not.toContain(SECRET)
  },
)

test('a wrong password is refused, and neither it nor the right one is repeated', async () => {
  await server.query(`CREATE ROLE keeper LOGIN PASSWORD 'the-right-one'`)
  const hba = join(server.folder, 'data', 'pg_hba.conf')
  const before = await readFile(hba, 'utf8')
  await writeFile(hba, `host all keeper 127.0.0.1/32 scram-sha-256\n${before}`)
  await server.query('SELECT pg_reload_conf()')
  const right = await server.createDatabase()
  await server.query(`GRANT CREATE ON DATABASE ${new URL(right).pathname.slice(1)} TO keeper`)
  await expect
    .poll(async () => errorCode(await failureOf(openAt(withUser(right, `keeper:${SECRET}`)))))
    .toBe('ERR_STORE_UNAVAILABLE')
  const failure = await failureOf(openAt(withUser(right, `keeper:${SECRET}`)))
  expect(failure.message).toContain('password')
  expect(failure.message).not.toContain(SECRET)
  const none = await failureOf(openAt(withUser(right, 'keeper')))
  expect(none.code).toBe('ERR_STORE_UNAVAILABLE')
  const opened = await openAt(withUser(right, 'keeper:the-right-one'))
  await opened.close()
})

test('somebody else who listens at the address is no PostgreSQL: a coded error, in time', async () => {
  const other = createServer((socket) => {
    socket.on('error', () => {})
    socket.once('data', () => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'))
  })
  other.listen(0, '127.0.0.1')
  await once(other, 'listening')
  const { port } = other.address() as AddressInfo
  const url = `postgres://u:${SECRET}@127.0.0.1:${port}/db`
  const failure = await failureOf(openAt(url, { connectTimeoutMs: 1_000 }))
  expect(failure.code).toBe('ERR_STORE_UNAVAILABLE')
  expect(failure.message).not.toContain(SECRET)
  other.close()
})

test('a server that is too old is refused, and gets no schema', async () => {
  const url = new URL(await server.createDatabase())
  const database = url.pathname.slice(1)
  // A function that is found before the server's own gives itself out for an older one.
  await server.query(
    `CREATE SCHEMA older;
     CREATE FUNCTION older.current_setting(name text) RETURNS text LANGUAGE sql AS
       $$ SELECT CASE name WHEN 'server_version_num' THEN '140011'
         ELSE pg_catalog.current_setting(name) END $$`,
    { database },
  )
  url.searchParams.set('options', '-c search_path=older,pg_catalog,public')
  const failure = await failureOf(openAt(url.href))
  expect(failure.code).toBe('ERR_SERVER_UNSUPPORTED')
  expect(failure.message).toMatch(/PostgreSQL 15\S* or later/)
  const made = await server.query("SELECT 1 FROM pg_namespace WHERE nspname = 'tidemark'", {
    database,
  })
  expect(made).toEqual([])
})

/** A disk that is soon full, for a server; undefined where nobody may mount one. */
async function tinyDisk(
  owner: PostgresProcess,
): Promise<(AsyncDisposable & { readonly folder: string; enlarge(): Promise<void> }) | undefined> {
  const folder = await mkdtemp(join(tmpdir(), 'tidemark-tiny-'))
  try {
    await run('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', folder])
  } catch {
    await rm(folder, { recursive: true })
    return undefined
  }
  const { uid, gid } = await stat(join(owner.folder, 'data'))
  await chown(folder, uid, gid)
  return {
    folder,
    enlarge: async () => void (await run('mount', ['-o', 'remount,size=64m', folder])),
    [Symbol.asyncDispose]: async () => {
      await run('umount', ['--lazy', folder])
      await rm(folder, { recursive: true, force: true })
    },
  }
}

test('a full disk fails the writes that find no room, as a whole, and they go through when there is room', async (context) => {
  // Its disk goes with it.
  await using own = await startPostgresProcess()
  await using disk = await tinyDisk(own)
  if (disk === undefined) return context.skip('nobody may mount a small disk here')
  await own.query(`CREATE TABLESPACE tiny LOCATION '${disk.folder}'`)
  await using under = await openStoreWithFaults(own, FAULT_TIMES)
  await under.admin('ALTER TABLE tidemark.doc SET TABLESPACE tiny')
  const written: string[] = []
  let failure: CodedError | undefined
  for (let number = 0; failure === undefined && number < 500; number++) {
    const documents = [0, 1, 2, 3].map((part) => {
      // Not to be compressed.
      return { id: `n${number}-${part}`, key: 'a', text: randomBytes(4_000).toString('base64') }
    })
    try {
      await under.notes.batch(
        'a',
        documents.map((document) => ({ kind: 'create', document })),
      )
      written.push(...documents.map(({ id }) => id))
    } catch (error) {
      failure = error as CodedError
    }
  }
  // The fault happened, and not at the first write.
  expect(failure?.code).toBe('ERR_STORE_UNAVAILABLE')
  expect(failure?.message).toContain('Free space on the disk')
  expect(written.length).toBeGreaterThan(10)
  const partition = await under.notes.readPartition('a')
  expect(partition.documents.map(({ id }) => id).toSorted()).toEqual(
    ['first', ...written].toSorted(),
  )
  expect(await under.store.check()).toEqual([])
  await disk.enlarge()
  expect(await writeEachWay(under)).toEqual(ALL_DONE)
  expect(await under.store.check()).toEqual([])
})

/** Has each insert into a table raise an error. `times`: so often; nothing rolls a sequence back. */
function raising({
  state,
  table,
  times,
}: {
  readonly state: string
  readonly table: string
  readonly times: number
}): string {
  return `CREATE SEQUENCE IF NOT EXISTS public.raised;
    ALTER SEQUENCE public.raised RESTART;
    CREATE OR REPLACE FUNCTION public.raise_it() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      IF nextval('public.raised') <= ${times} THEN
        RAISE EXCEPTION 'as the test wants it' USING ERRCODE = '${state}';
      END IF;
      RETURN NEW;
    END $$;
    CREATE TRIGGER raising BEFORE INSERT OR UPDATE ON tidemark.${table}
      FOR EACH ROW EXECUTE FUNCTION public.raise_it()`
}

const QUIET = (table: string): string => `DROP TRIGGER raising ON tidemark.${table}`

test.each([
  ['53100', 'ERR_STORE_UNAVAILABLE', 'doc'],
  ['53100', 'ERR_STORE_UNAVAILABLE', 'log'],
  ['53200', 'ERR_STORE_UNAVAILABLE', 'segment'],
  ['58030', 'ERR_STORE_UNAVAILABLE', 'doc'],
  ['XX001', 'ERR_STORE_DAMAGED', 'doc'],
  ['XX002', 'ERR_STORE_DAMAGED', 'log'],
  ['2200F', 'ERR_INVALID_DOCUMENT', 'doc'],
  ['P0001', 'ERR_STORE_UNAVAILABLE', 'doc'],
])('when PostgreSQL answers %s it is %s, and nothing is half done (in %s)', async (...fault) => {
  const [state, code, table] = fault
  await using under = await openStoreWithFaults(server, FAULT_TIMES)
  await expectNothingHalfDone(under, {
    fault: () => under.admin(raising({ state, table, times: 1_000_000 })),
    repair: () => under.admin(QUIET(table)),
    code,
  })
})

test.each(['40001', '40P01'])(
  'a commit that loses against others (%s) is done again, once, and nobody is told',
  async (state) => {
    await using under = await openStoreWithFaults(server, FAULT_TIMES)
    await under.admin(raising({ state, table: 'segment', times: 3 }))
    expect(await writeEachWay(under)).toEqual(ALL_DONE)
    const [raised] = await under.admin('SELECT last_value::int AS times FROM public.raised')
    expect(raised?.['times']).toBeGreaterThan(3)
    expect(await under.notes.count()).toBe(5)
    expect(await under.store.check()).toEqual([])
    // Not without end, and then with a code.
    await under.admin(QUIET('segment'))
    await expectFailsFor(under, state)
  },
)

async function expectFailsFor(under: StoreWithFaults, state: string): Promise<void> {
  const before = await under.contents()
  await under.admin(raising({ state, table: 'segment', times: 1_000_000 }))
  const failure = await failureOf(under.notes.create({ id: 'never', key: 'a', text: '' }))
  expect(failure.code).toBe('ERR_STORE_UNAVAILABLE')
  await under.admin(QUIET('segment'))
  expect(await under.contents()).toEqual(before)
}

test('a write that waits longer than the statement timeout fails, and does not happen later', async () => {
  await using under = await openStoreWithFaults(server, { statementTimeoutMs: 2_000 })
  const before = await under.contents()
  const holder = new Client(under.url)
  await holder.connect()
  try {
    await holder.query('BEGIN; LOCK TABLE tidemark.segment IN ACCESS EXCLUSIVE MODE')
    const failure = await failureOf(under.notes.create({ id: 'late', key: 'a', text: '' }))
    expect(failure.code).toBe('ERR_STORE_UNAVAILABLE')
    expect(failure.message).toContain('statement timeout')
    await holder.query('COMMIT')
  } finally {
    await holder.end()
  }
  expect(await under.contents()).toEqual(before)
  expect(await writeEachWay(under)).toEqual(ALL_DONE)
  expect(await under.store.check()).toEqual([])
})

test('a server that takes no writes any more is said to be so, after the time that is left for a fail-over', async () => {
  await using under = await openStoreWithFaults(server, FAULT_TIMES)
  const name = new URL(under.url).pathname.slice(1)
  await expectNothingHalfDone(under, {
    fault: async () => {
      await server.query(`ALTER DATABASE ${name} SET default_transaction_read_only = on`)
      await server.query(ENDED, { values: [name] })
    },
    repair: async () => {
      expect(
        (await failureOf(under.notes.upsert({ id: 'x', key: 'a', text: '' }))).message,
      ).toMatch(/takes no writes/)
      expect((await under.notes.read('first', 'a')).document?.text).toBe('of a')
      await server.query(`ALTER DATABASE ${name} RESET default_transaction_read_only`)
      await server.query(ENDED, { values: [name] })
    },
    code: 'ERR_STORE_UNAVAILABLE',
  })
})

const ENDED = 'SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = $1'

function withUser(url: string, user: string): string {
  return url.replace('postgres@', `${user}@`)
}
