import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { Pool } from 'pg'
import { expect, test } from 'vitest'
import { PoolSource } from './pool-source.ts'

const SETTINGS = {
  maxConnections: 2,
  connectTimeoutMs: 2_000,
  applicationName: 'test',
  settings: { statementTimeoutMs: 1_000, idleInTransactionTimeoutMs: 1_000 },
}

function message(type: string, body: Buffer): Buffer {
  const head = Buffer.alloc(5)
  head.write(type)
  head.writeInt32BE(body.length + 4, 1)
  return Buffer.concat([head, body])
}

/** Begins a session. */
function begin(): Buffer {
  return Buffer.concat([message('R', Buffer.alloc(4)), message('Z', Buffer.from('I'))])
}

/** Ends it, as an administrator does. */
function terminated(): Buffer {
  const fields = ['SFATAL', 'VFATAL', 'C57P01', 'Mterminated', ''].map((field) => `${field}\0`)
  return message('E', Buffer.from(fields.join('')))
}

test.each(['own', 'passed in'] as const)(
  'a connection that is ended as soon as it is made ends nothing else, in a pool that is %s',
  async (whose) => {
    const server = createServer((socket) => {
      socket.on('error', () => {})
      socket.once('data', () => socket.end(Buffer.concat([begin(), terminated()])))
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const url = `postgres://nobody@127.0.0.1:${port}/none`
    const pool = whose === 'own' ? undefined : new Pool({ connectionString: url })
    const source = new PoolSource(pool ?? url, SETTINGS)
    // An error that nobody listens to would end the process, and fails the run here.
    await expect(source.connect()).rejects.toThrow('terminated')
    await sleep(20)
    await source.end()
    await pool?.end()
    server.close()
  },
)

test('a connection that hears of the end of the server after its pool has ended ends nothing else', async () => {
  const gone = Promise.withResolvers<void>()
  const server = createServer((socket) => {
    socket.on('error', () => {}).on('close', () => gone.resolve())
    socket.once('data', () => {
      socket.write(begin())
      // The client says goodbye, and the server is being stopped.
      socket.once('data', () => socket.end(terminated()))
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const source = new PoolSource(`postgres://nobody@127.0.0.1:${port}/none`, SETTINGS)
  const client = await source.connect()
  client.release()
  await source.end()
  await gone.promise
  await sleep(20)
  server.close()
})
