import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { systemRandom } from '@tidemark/contracts'
import { sharedPostgres, type SharedPostgres } from '@tidemark/testing/servers'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { grantSchema } from './grant-schema.ts'
import { checkSchema, initSchema, migrateSchema } from './manage-schema.ts'
import { STORE_SCHEMA } from './migrations.ts'
import { openSchema } from './open-schema.ts'
import { openSchemaOwner } from './schema-owner.fixture.ts'
import type { SchemaProgram } from './schema-program.ts'

let server: SharedPostgres

beforeAll(async () => {
  server = await sharedPostgres()
})

afterAll(async () => {
  await server[Symbol.asyncDispose]()
})

const random = systemRandom
const PRESENT = STORE_SCHEMA.steps.length

/** What a later release may be: one table more, a function that answers something else. */
const NEXT: SchemaProgram = {
  steps: [
    ...STORE_SCHEMA.steps,
    {
      title: 'notes',
      ddl: `
CREATE TABLE :schema.note(id integer PRIMARY KEY);
ALTER TABLE :schema.segment ADD COLUMN note integer;
`,
    },
  ],
  functions: [
    ...STORE_SCHEMA.functions.slice(1),
    `
CREATE FUNCTION :schema.expiry_second(ts bigint, ttl integer, default_ttl integer) RETURNS text
LANGUAGE sql IMMUTABLE AS $$ SELECT 'changed' $$;
CREATE FUNCTION :schema.expired_second(
  ts bigint, ttl integer, default_ttl integer, eras text, now_ms bigint) RETURNS bigint
LANGUAGE sql IMMUTABLE AS $$ SELECT 0::bigint $$;
`,
  ].reverse(),
}

test('ten connections that open a missing store at once make one, and all get the same', async () => {
  await using owner = await openSchemaOwner(await server.createDatabase(), { connections: 10 })
  const opened = await Promise.all(
    Array.from({ length: 10 }, () => openSchema({ ...owner, management: 'auto', random })),
  )
  expect(new Set(opened.map(({ storeId }) => storeId)).size).toBe(1)
  expect(opened[0]?.storeId).toMatch(/^[0-9a-f]{32}$/)
  expect(await owner.query('SELECT count(*) FROM tidemark.store')).toEqual([['1']])
  // They were there together, not one after the other.
  expect(owner.connectionsMade()).toBeGreaterThan(1)
})

test('so do ten that find an empty schema which somebody has made for them', async () => {
  await using owner = await openSchemaOwner(await server.createDatabase(), { connections: 10 })
  await owner.query('CREATE SCHEMA tidemark')
  const made = await Promise.all(Array.from({ length: 10 }, () => initSchema({ ...owner, random })))
  expect(made.filter(({ created }) => created)).toHaveLength(1)
  expect(new Set(made.map(({ storeId }) => storeId)).size).toBe(1)
})

test('so do ten processes', async () => {
  const url = await server.createDatabase()
  const child = fileURLToPath(new URL('open-schema.child.ts', import.meta.url))
  const printed = await Promise.all(
    Array.from({ length: 10 }, async () => {
      const opener = spawn(process.execPath, ['--conditions=@tidemark/source', child, url], {
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      let text = ''
      opener.stdout.setEncoding('utf8').on('data', (part: string) => (text += part))
      const [code] = (await once(opener, 'close')) as [number | null]
      return { code, text: text.trim() }
    }),
  )
  expect(printed.map(({ code }) => code)).toEqual(Array.from({ length: 10 }, () => 0))
  expect(new Set(printed.map(({ text }) => text)).size).toBe(1)
  expect(printed[0]?.text).toMatch(/^[0-9a-f]{32}$/)
})

test('what fails half way leaves nothing', async () => {
  await using owner = await openSchemaOwner(await server.createDatabase())
  const program = { ...STORE_SCHEMA, functions: [...STORE_SCHEMA.functions, 'CREATE NONSENSE;'] }
  await expect(initSchema({ ...owner, random, program })).rejects.toMatchObject({
    code: 'ERR_STORE_UNAVAILABLE',
  })
  const schemas = "SELECT count(*) FROM pg_namespace WHERE nspname = 'tidemark'"
  expect(await owner.query(schemas)).toEqual([['0']])
  await expect(initSchema({ ...owner, random })).resolves.toMatchObject({ created: true })
})

test('a store that is there is not made again, nor given another identity', async () => {
  await using owner = await openSchemaOwner(await server.createDatabase())
  const { storeId } = await initSchema({ ...owner, random })
  expect(await initSchema({ ...owner, random })).toEqual({
    storeId,
    version: PRESENT,
    created: false,
  })
  expect(await openSchema({ ...owner, management: 'none', random })).toMatchObject({ storeId })
  expect(await checkSchema(owner)).toMatchObject({ storeId, version: PRESENT })
})

test('two stores live in schemas of one database, whatever the names', async () => {
  const url = await server.createDatabase()
  await using one = await openSchemaOwner(url, { schema: 'Order "A"; DROP' })
  await using other = await openSchemaOwner(url)
  const made = await Promise.all([one, other].map((owner) => initSchema({ ...owner, random })))
  expect(made.map(({ created }) => created)).toEqual([true, true])
  expect(made[0]?.storeId).not.toBe(made[1]?.storeId)
})

test('nobody who was told not to makes a store', async () => {
  await using owner = await openSchemaOwner(await server.createDatabase())
  await expect(openSchema({ ...owner, management: 'none', random })).rejects.toMatchObject({
    code: 'ERR_STORE_FORMAT',
    message: expect.stringContaining('tidemark init') as string,
  })
  await expect(checkSchema(owner)).rejects.toMatchObject({ code: 'ERR_STORE_FORMAT' })
  await expect(migrateSchema(owner)).rejects.toMatchObject({ code: 'ERR_STORE_FORMAT' })
  const schemas = "SELECT count(*) FROM pg_namespace WHERE nspname = 'tidemark'"
  expect(await owner.query(schemas)).toEqual([['0']])
})

test('a schema of somebody else is refused and not touched', async () => {
  await using owner = await openSchemaOwner(await server.createDatabase(), { schema: 'public' })
  await owner.query('CREATE TABLE public.store(version text, invoice text)')
  for (const act of [
    () => initSchema({ ...owner, random }),
    () => migrateSchema(owner),
    () => checkSchema(owner),
    () => openSchema({ ...owner, management: 'auto', random }),
  ]) {
    await expect(act()).rejects.toMatchObject({
      code: 'ERR_STORE_IN_USE',
      message: expect.stringContaining('table store') as string,
    })
  }
  const tables = "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"
  expect(await owner.query(tables)).toEqual([['1']])
})

test.each([
  ['TABLE', 'segment', 'table segment'],
  ['TABLE', 'store', 'table store'],
  ['INDEX', 'doc_key', 'index doc_key'],
  ['SEQUENCE', 'segment_number', 'sequence segment_number'],
  ['FUNCTION', 'commit_group', 'function commit_group'],
])('a lost %s is damage, and %s is named', async (kind, name, told) => {
  await using owner = await openSchemaOwner(await server.createDatabase())
  await initSchema({ ...owner, random })
  await owner.query(`DROP ${kind} tidemark.${name}`)
  for (const act of [
    () => checkSchema(owner),
    () => openSchema({ ...owner, management: 'auto', random }),
  ]) {
    await expect(act()).rejects.toMatchObject({
      code: 'ERR_STORE_DAMAGED',
      message: expect.stringContaining(told) as string,
    })
  }
})

test('a newer program migrates an older store once, however many do it at once, and keeps its rows', async () => {
  await using owner = await openSchemaOwner(await server.createDatabase(), { connections: 10 })
  const { storeId } = await initSchema({ ...owner, random })
  await owner.query(`INSERT INTO tidemark.position VALUES (1, 'g', '[]')`)
  await owner.query(
    `CREATE FUNCTION tidemark.somebodys() RETURNS integer LANGUAGE sql AS 'SELECT 1'`,
  )
  const program = NEXT
  await expect(openSchema({ ...owner, management: 'none', random, program })).rejects.toMatchObject(
    {
      code: 'ERR_STORE_FORMAT',
      message: expect.stringContaining('tidemark store migrate') as string,
    },
  )
  expect(await owner.query('SELECT tables FROM tidemark.store')).toEqual([[PRESENT]])
  const moved = await Promise.all(
    Array.from({ length: 10 }, () => migrateSchema({ ...owner, program })),
  )
  expect(moved.filter(({ changed }) => changed)).toEqual([
    { storeId, version: PRESENT + 1, from: PRESENT, changed: true },
  ])
  expect(await openSchema({ ...owner, management: 'none', random, program })).toMatchObject({
    storeId,
  })
  expect(await owner.query('SELECT grp FROM tidemark.position')).toEqual([['g']])
  expect(await owner.query('SELECT tidemark.expiry_second(1, 1, 1)')).toEqual([['changed']])
  expect(await owner.query('SELECT tidemark.somebodys()')).toEqual([[1]])
})

test('tables of before the first release are refused by all, and stay as they were', async () => {
  await using owner = await openSchemaOwner(await server.createDatabase())
  const { storeId } = await initSchema({ ...owner, random })
  // As they were: the version had another name, and was as high as 3.
  await owner.query('ALTER TABLE tidemark.store RENAME COLUMN tables TO version')
  for (const act of [
    () => initSchema({ ...owner, random }),
    () => migrateSchema(owner),
    () => checkSchema(owner),
    () => openSchema({ ...owner, management: 'auto', random }),
  ]) {
    await expect(act()).rejects.toMatchObject({
      code: 'ERR_STORE_FORMAT',
      message: expect.stringContaining('read them with the program that made them') as string,
    })
  }
  await owner.query('ALTER TABLE tidemark.store RENAME COLUMN version TO tables')
  expect(await checkSchema(owner)).toEqual({ storeId, version: PRESENT })
})

test('opening migrates too, where it may', async () => {
  await using owner = await openSchemaOwner(await server.createDatabase())
  const { storeId } = await initSchema({ ...owner, random })
  const program = NEXT
  expect(await openSchema({ ...owner, management: 'auto', random, program })).toMatchObject({
    storeId,
  })
  expect(await checkSchema({ ...owner, program })).toMatchObject({ version: PRESENT + 1 })
})

test('a migration that fails half way changes nothing', async () => {
  await using owner = await openSchemaOwner(await server.createDatabase())
  await initSchema({ ...owner, random })
  const program = { ...NEXT, functions: [...NEXT.functions, 'CREATE NONSENSE;'] }
  await expect(migrateSchema({ ...owner, program })).rejects.toMatchObject({
    code: 'ERR_STORE_UNAVAILABLE',
  })
  await expect(checkSchema(owner)).resolves.toMatchObject({ version: PRESENT })
  expect(await owner.query("SELECT to_regclass('tidemark.note')")).toEqual([[null]])
})

test('an older program that meets a newer store goes away and touches nothing', async () => {
  await using owner = await openSchemaOwner(await server.createDatabase())
  await initSchema({ ...owner, random, program: NEXT })
  const before = await owner.query(FINGERPRINT)
  for (const act of [
    () => initSchema({ ...owner, random }),
    () => migrateSchema(owner),
    () => checkSchema(owner),
    () => openSchema({ ...owner, management: 'auto', random }),
  ]) {
    await expect(act()).rejects.toMatchObject({
      code: 'ERR_STORE_FORMAT',
      message: expect.stringContaining(`version ${PRESENT + 1}`) as string,
    })
  }
  expect(await owner.query(FINGERPRINT)).toEqual(before)
})

test('functions of another build are refused, and put right by a migration that is asked for', async () => {
  await using owner = await openSchemaOwner(await server.createDatabase())
  const other = { ...NEXT, steps: STORE_SCHEMA.steps }
  const { storeId } = await initSchema({ ...owner, random, program: other })
  await expect(openSchema({ ...owner, management: 'auto', random })).rejects.toMatchObject({
    code: 'ERR_STORE_FORMAT',
    message: expect.stringContaining('functions') as string,
  })
  expect(await migrateSchema(owner)).toEqual({
    storeId,
    version: PRESENT,
    from: PRESENT,
    changed: true,
  })
  expect(await openSchema({ ...owner, management: 'none', random })).toMatchObject({ storeId })
})

test('a role that may not create is told so, and what to do', async () => {
  const url = await server.createDatabase()
  await using admin = await openSchemaOwner(url)
  await using role = await admin.createRole()
  await using nobody = await openSchemaOwner(role.url)
  await expect(openSchema({ ...nobody, management: 'auto', random })).rejects.toMatchObject({
    code: 'ERR_STORE_UNAVAILABLE',
    message: expect.stringContaining('tidemark init') as string,
  })
  await initSchema({ ...admin, random })
  await expect(openSchema({ ...nobody, management: 'auto', random })).rejects.toMatchObject({
    code: 'ERR_STORE_UNAVAILABLE',
    message: expect.stringContaining('permission denied') as string,
  })
})

test('an owner needs no more than its own schema', async () => {
  await using admin = await openSchemaOwner(await server.createDatabase())
  await using role = await admin.createRole()
  await admin.query(`CREATE SCHEMA tidemark AUTHORIZATION ${role.name}`)
  await using owner = await openSchemaOwner(role.url)
  await expect(initSchema({ ...owner, random })).resolves.toMatchObject({ created: true })
  await expect(migrateSchema({ ...owner, program: NEXT })).resolves.toMatchObject({ changed: true })
})

test('a worker role may use all rows and functions, also of later migrations, and change no schema', async () => {
  await using admin = await openSchemaOwner(await server.createDatabase())
  await using role = await admin.createRole()
  const { storeId } = await initSchema({ ...admin, random })
  await grantSchema(admin, { role: role.name })
  await using worker = await openSchemaOwner(role.url)
  // It need not migrate what is current, so `auto` does not hurt.
  expect(await openSchema({ ...worker, management: 'auto', random })).toMatchObject({ storeId })
  await expect(worker.query('SELECT * FROM tidemark.doc, tidemark.log')).resolves.toEqual([])
  await expect(worker.query('DELETE FROM tidemark.segment')).resolves.toEqual([])
  await expect(worker.query("SELECT nextval('tidemark.segment_number')")).resolves.toEqual([['1']])
  for (const forbidden of [
    'CREATE TABLE tidemark.mine(x integer)',
    'DROP TABLE tidemark.doc',
    'TRUNCATE tidemark.doc',
    'ALTER TABLE tidemark.doc ADD COLUMN x integer',
    'UPDATE tidemark.store SET tables = 2',
    'DELETE FROM tidemark.store',
  ]) {
    await expect(worker.query(forbidden)).rejects.toMatchObject({ code: '42501' })
  }
  const program = NEXT
  await expect(
    openSchema({ ...worker, management: 'auto', random, program }),
  ).rejects.toMatchObject({
    code: 'ERR_STORE_UNAVAILABLE',
    message: expect.stringContaining('tidemark store migrate') as string,
  })
  await migrateSchema({ ...admin, program })
  await openSchema({ ...worker, management: 'none', random, program })
  await expect(worker.query('INSERT INTO tidemark.note VALUES (1)')).resolves.toEqual([])
})

test('privileges are not given to a role that does not exist', async () => {
  await using admin = await openSchemaOwner(await server.createDatabase())
  await initSchema({ ...admin, random })
  await expect(grantSchema(admin, { role: 'nobody-of-this-name' })).rejects.toMatchObject({
    code: 'ERR_INVALID_OPTION',
  })
})

test('a database of another encoding is refused', async () => {
  await using admin = await openSchemaOwner(await server.createDatabase())
  const name = `${admin.database}_latin`
  await admin.query(
    `CREATE DATABASE ${name} ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0`,
  )
  try {
    await using latin = await openSchemaOwner(admin.urlOf(name))
    await expect(initSchema({ ...latin, random })).rejects.toMatchObject({
      code: 'ERR_SERVER_UNSUPPORTED',
      message: expect.stringContaining('LATIN1') as string,
    })
  } finally {
    await admin.query(`DROP DATABASE ${name}`)
  }
})

/** Everything that a program could have changed: object ids and row versions. */
const FINGERPRINT = `
SELECT (SELECT json_agg(c.oid::text || c.xmin ORDER BY c.oid)::text FROM pg_class c
    WHERE c.relnamespace = 'tidemark'::regnamespace),
  (SELECT json_agg(p.oid::text || p.xmin ORDER BY p.oid)::text FROM pg_proc p
    WHERE p.pronamespace = 'tidemark'::regnamespace),
  (SELECT xmin::text FROM tidemark.store)`
