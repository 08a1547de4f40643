import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { serveParent } from '../../measuring/child-process.ts'
import { readFeedPage, readRangeIds } from '../feed-pages.ts'
import { HttpCalls, type HttpReply } from '../http-calls.ts'

export interface BareHttpRequest {
  /** The gateway whose pages it learns. */
  readonly endpoint: string
}

export interface BareHttpReply {
  readonly endpoint: string
}

/* Sends the very bytes that the gateway sends, out of memory: what Node's HTTP server can do at most. */

serveParent(async ({ endpoint }: BareHttpRequest): Promise<BareHttpReply> => {
  const pages = new Map<string, HttpReply>()
  using calls = new HttpCalls(endpoint, { connections: 1 })
  for (const range of await readRangeIds(calls)) {
    let etag: string | undefined
    for (let status = 200; status === 200;) {
      const page = await readFeedPage(calls, { range, etag })
      pages.set(`${range} ${etag ?? ''}`, page)
      status = page.status
      etag = page.headers.etag
    }
  }
  const server = createServer(({ headers }, outgoing) => {
    const range = String(headers['x-ms-documentdb-partitionkeyrangeid'])
    const page = pages.get(`${range} ${headers['if-none-match'] ?? ''}`)
    if (page === undefined) {
      outgoing.writeHead(404).end()
      return
    }
    const { 'x-ms-item-count': count, etag } = page.headers
    outgoing.writeHead(page.status, {
      ...(etag !== undefined && { etag }),
      ...(count !== undefined && { 'x-ms-item-count': count }),
      'content-type': 'application/json',
      ...(page.status === 200 && { 'content-length': page.body.length }),
    })
    if (page.status === 200) outgoing.end(page.body)
    else outgoing.end()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return { endpoint: `http://127.0.0.1:${port}/` }
})
