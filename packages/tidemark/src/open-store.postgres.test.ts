import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { sharedPostgres, type SharedPostgres } from '@tidemark/testing/servers'
import { Pool } from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openStore } from './open-store.ts'

let server: SharedPostgres

beforeAll(async () => {
  server = await sharedPostgres()
})
afterAll(async () => {
  await server[Symbol.asyncDispose]()
})

interface Order {
  readonly id: string
  readonly total: number
}
const orders = { id: 'orders', partitionKey: '/id' }

test('ST-10 a URL opens one store for everybody who has it, whichever way it is written', async () => {
  const url = await server.createDatabase()
  const pool = new Pool({ connectionString: url, max: 3 })
  pool.on('error', () => {})
  try {
    await using one = await openStore(url)
    const collection = await one.database('shop').createCollectionIfNotExists<Order>(orders)
    await collection.upsert({ id: 'o1', total: 12 })
    for (const where of [
      url.replace(/^postgres:/, 'postgresql:'),
      { url },
      { pool },
      `${url}?schema=tidemark`,
    ]) {
      await using other = await openStore(where)
      const { document } = await other.database('shop').collection('orders').read('o1', 'o1')
      expect(document).toMatchObject({ id: 'o1', total: 12 })
    }
  } finally {
    // The caller's pool is not ended by the store.
    expect(pool.ended).toBe(false)
    await pool.end()
  }
})

test('schemas of one database are different stores, named in the URL or by an option', async () => {
  const url = await server.createDatabase()
  await using one = await openStore(`${url}?schema=one`)
  await one.database('shop').createCollectionIfNotExists(orders)
  await using same = await openStore({ url, schema: 'one' })
  expect(await same.listDatabases()).toMatchObject([{ id: 'shop' }])
  await using other = await openStore({ url, schema: 'other' })
  expect(await other.listDatabases()).toEqual([])
  await expect(openStore({ url: `${url}?schema=one`, schema: 'other' })).rejects.toMatchObject({
    code: 'ERR_INVALID_OPTION',
  })
})

test('options of the engine are passed on', async () => {
  const url = await server.createDatabase()
  await expect(openStore({ url, schemaManagement: 'none' })).rejects.toMatchObject({
    code: 'ERR_STORE_FORMAT',
  })
  await expect(openStore({ url, maxConnections: 0 })).rejects.toMatchObject({
    code: 'ERR_INVALID_OPTION',
  })
  await expect(openStore({ url, maxDocumentBytes: 0 })).rejects.toMatchObject({
    code: 'ERR_INVALID_OPTION',
  })
})

test('a program with a store in a folder does not load pg', async () => {
  const loaded = async (program: string): Promise<boolean> => {
    const ask = `
      const { registerHooks } = await import('node:module')
      let loaded = false
      registerHooks({ load(url, context, next) {
        loaded ||= /node_modules\\/pg\\//.test(url)
        return next(url, context)
      } })
      const { openStore } = await import(${JSON.stringify(new URL('index.ts', import.meta.url).href)})
      ${program}
      console.log(loaded)`
    const args = ['--conditions=@tidemark/source', '--input-type=module', '--eval', ask]
    const cwd = fileURLToPath(new URL('.', import.meta.url))
    const { stdout } = await promisify(execFile)(process.execPath, args, { cwd })
    return stdout.trim() === 'true'
  }
  const url = await server.createDatabase()
  expect(await loaded(`await (await openStore(${JSON.stringify(url)})).close()`)).toBe(true)
  expect(await loaded('')).toBe(false)
})
