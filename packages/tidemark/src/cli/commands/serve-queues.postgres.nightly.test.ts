import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ServiceBusClient } from '@azure/service-bus'
import { sharedPostgres } from '@tidemark/testing/servers'
import { afterEach, expect, test } from 'vitest'
import { Served } from './served-command.child.ts'

const KEY = 'MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY='
const QUEUES = [{ Name: 'orders', Properties: { LockDuration: 'PT5S' } }]
const CONFIG = { UserConfig: { Namespaces: [{ Name: 'shop', Queues: QUEUES }] } }

const clients: ServiceBusClient[] = []

afterEach(async () => {
  for (const client of clients.splice(0)) await client.close()
  await Served.killAll()
})

async function clientOf(front: Served): Promise<ServiceBusClient> {
  const { port } = new URL(String((await front.ready())['amqp']))
  const client = new ServiceBusClient(
    `Endpoint=sb://localhost:${port};SharedAccessKeyName=RootManageSharedAccessKey;SharedAccessKey=${KEY};UseDevelopmentEmulator=true;`,
    { retryOptions: { maxRetries: 0 } },
  )
  clients.push(client)
  return client
}

test('two fronts serve one PostgreSQL: what one takes, the other delivers, and what one held when it died comes again', async () => {
  await using server = await sharedPostgres()
  const url = await server.createDatabase()
  const folder = await mkdtemp(join(tmpdir(), 'tidemark-serve-queues-'))
  try {
    const config = join(folder, 'Config.json')
    await writeFile(config, JSON.stringify(CONFIG))
    const front = (): Served =>
      new Served(['serve', url, '--amqp-port', '0', '--queues', config, '--json'], {
        TIDEMARK_GATEWAY_KEY: KEY,
      })
    const [first, second] = [front(), front()]
    const [here, there] = [await clientOf(first), await clientOf(second)]
    await here.createSender('orders').sendMessages([{ body: 'a' }, { body: 'b' }])
    const [held] = await here.createReceiver('orders').receiveMessages(1)
    const receiver = there.createReceiver('orders')
    const [message] = await receiver.receiveMessages(1)
    expect([held?.body, message?.body]).toEqual(['a', 'b'])
    if (message !== undefined) await receiver.completeMessage(message)
    await first.kill()
    const [again] = await receiver.receiveMessages(1, { maxWaitTimeInMs: 60_000 })
    expect([again?.body, again?.deliveryCount]).toEqual(['a', 1])
    if (again !== undefined) await receiver.completeMessage(again)
    expect(await second.end('SIGTERM')).toBe(0)
    expect(first.errors + second.errors).toBe('')
  } finally {
    await rm(folder, { recursive: true })
  }
})
