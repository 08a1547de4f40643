import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import vercel from '@vercel/cosmosdb-server'
import { serveParent } from '../../measuring/child-process.ts'

export interface VercelReply {
  readonly endpoint: string
}

serveParent(async (): Promise<VercelReply> => {
  const server = vercel.createHttpServer({ keepAlive: true })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return { endpoint: `http://127.0.0.1:${port}/` }
})
