import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { CosmosClient } from '@azure/cosmos'
import { sharedPostgres } from '@tidemark/testing/servers'
import { expect, test } from 'vitest'
import { COMMAND } from '../command-program.child.ts'
import { openStore } from '../../open-store.ts'
import { tidemark } from './command-runner.child.ts'

const KEY = 'MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY='

test('a store on PostgreSQL is served, too; without a folder a key has to be given', async () => {
  await using server = await sharedPostgres()
  const url = await server.createDatabase()
  const keyless = await tidemark('serve', url, '--port', '0')
  expect(keyless).toMatchObject({ code: 1, errors: expect.stringContaining('ERR_INPUT') })

  const child = spawn(process.execPath, [...COMMAND, 'serve', url, '--port', '0', '--json'], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, TIDEMARK_GATEWAY_KEY: KEY },
  })
  const exited = once(child, 'exit')
  try {
    const [line] = (await Promise.race([once(child.stdout, 'data'), exited])) as [Buffer]
    const { endpoint } = JSON.parse(line.toString()) as { readonly endpoint: string }
    const client = new CosmosClient({ endpoint, key: KEY })
    const { database } = await client.databases.createIfNotExists({ id: 'shop' })
    const { container } = await database.containers.createIfNotExists({
      id: 'orders',
      partitionKey: '/customerId',
    })
    await container.items.create({ id: 'o1', customerId: 'c7' })
    client.dispose()
  } finally {
    child.kill('SIGTERM')
    await exited
  }
  expect(child.exitCode).toBe(0)
  await using store = await openStore(url)
  expect(await store.database('shop').collection('orders').count()).toBe(1)
})
