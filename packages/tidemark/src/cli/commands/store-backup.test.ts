import { chmod, mkdtemp, readdir, rm, stat, truncate } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openStore } from '../../open-store.ts'
import { tidemark } from './command-runner.child.ts'

let folder: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tidemark-backup-'))
})
afterEach(async () => {
  await rm(folder, { recursive: true, force: true })
})

test('a store is backed up while it is open, restored, and marked; the outcome is told', async () => {
  const [data, backup, again] = ['data', 'backup', 'again'].map((name) => join(folder, name))
  if (data === undefined || backup === undefined || again === undefined) throw new Error()
  {
    await using store = await openStore({ folder: data, durability: 'relaxed' })
    const orders = await store
      .database('shop')
      .createCollectionIfNotExists({ id: 'orders', partitionKey: '/id' })
    await orders.create({ id: 'a' })
    const made = await tidemark('store', 'backup', data, backup)
    expect(made).toMatchObject({ code: 0, errors: '' })
    expect(made.output).toMatch(/^backed up store [0-9a-f]{32}: databases shop\n$/)
  }
  expect(await tidemark('store', 'restore', backup, again, '--json')).toMatchObject({
    code: 0,
    output: expect.stringContaining('"databases":["shop"]'),
  })
  expect(await tidemark('store', 'mark-restored', again)).toMatchObject({ code: 0 })
  expect(await tidemark('store', 'check', again, '--deep')).toMatchObject({
    code: 0,
    output: 'no contradictions\n',
  })
  await using restored = await openStore(again)
  expect(await restored.database('shop').collection('orders').count()).toBe(1)
  const refused = await tidemark('store', 'restore', backup, data)
  expect(refused.code).toBe(1)
  expect(refused.errors).toMatch(/^tidemark: ERR_STORE_IN_USE: /)
  expect(await tidemark('store', 'backup', 'postgres://localhost/shop', backup)).toMatchObject({
    code: 2,
    errors: expect.stringContaining('pg_dump'),
  })
})

test.each([
  ['missing', (file: string) => rm(file)],
  ['cut off', async (file: string) => truncate(file, (await stat(file)).size / 2)],
])('check fails where the file of a database is %s, also without --deep', async (_what, damage) => {
  const data = join(folder, 'data')
  {
    await using store = await openStore({ folder: data, maintenance: 'manual' })
    const orders = await store
      .database('shop')
      .createCollectionIfNotExists<{ id: string; text: string }>({
        id: 'orders',
        partitionKey: '/id',
      })
    for (let n = 0; n < 50; n += 1) await orders.create({ id: `${n}`, text: 'x'.repeat(2_000) })
  }
  expect(await tidemark('store', 'check', data)).toMatchObject({ code: 0 })
  const [file = ''] = (await readdir(data)).filter((name) => /^db-.*\.sqlite$/.test(name))
  await damage(join(data, file))
  expect(await tidemark('store', 'check', data)).toMatchObject({
    code: 1,
    output: '',
    errors: expect.stringMatching(/^tidemark: ERR_STORE_(DAMAGED|UNAVAILABLE): .*db-/),
  })
})

test.runIf(process.platform !== 'win32')(
  'check warns of a store that every user of the machine can read, and changes nothing',
  async () => {
    const data = join(folder, 'data')
    await (await openStore({ folder: data, maintenance: 'manual' })).close()
    expect((await tidemark('store', 'check', data)).errors).toBe('')
    // As earlier versions made it.
    await chmod(data, 0o755)
    expect((await tidemark('store', 'check', data)).errors).toBe('')
    await chmod(join(data, 'catalog.sqlite'), 0o644)
    const warned = {
      code: 0,
      errors: expect.stringMatching(/^tidemark: warning: .*chmod -R o= .*\n$/),
    }
    expect(await tidemark('store', 'check', data)).toMatchObject(warned)
    expect(await tidemark('store', 'check', data)).toMatchObject(warned)
    await chmod(join(data, 'catalog.sqlite'), 0o600)
    await chmod(data, 0o707)
    expect(await tidemark('store', 'check', data)).toMatchObject(warned)
    expect(await readdir(data)).toContain('catalog.sqlite')
  },
)
