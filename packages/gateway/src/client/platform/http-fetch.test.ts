import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { fetchUpTo, systemFetch } from './http-fetch.ts'

/** Characters of one to four bytes, so that pieces end within them. */
const unit = 'aü€😀'
const MIB = 1024 * 1024

test('an answer without an end is given up, and its connection cut', async () => {
  const cut = Promise.withResolvers<void>()
  const server = createServer((_, outgoing) => {
    const piece = Buffer.alloc(MIB / 4, 'a')
    let pieces = 0
    const more = (): void => {
      // A client that reads on would see an end.
      while (pieces < 256 && outgoing.write(piece)) pieces++
      if (pieces === 256) outgoing.end()
    }
    outgoing.on('drain', more).on('close', cut.resolve)
    more()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const { signal } = new AbortController()
  const options = { method: 'GET', headers: {}, signal }
  const response = await fetchUpTo(MIB)(`http://127.0.0.1:${port}/`, options)
  await expect(response.text()).rejects.toThrow('the answer has more than 1048576 bytes')
  await cut.promise
  server.close()
  await once(server, 'close')
})

test('answers that arrive in pieces side by side are each their own text, whatever their size', async () => {
  const texts = [0, 1, 50_000, MIB / 4, MIB].map((units, index) => `${index}${unit.repeat(units)}`)
  const server = createServer((incoming, outgoing) => {
    outgoing.end(texts[Number(incoming.url?.slice(1))])
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const { signal } = new AbortController()
  const get = async (path: number): Promise<string> => {
    const url = `http://127.0.0.1:${port}/${path}`
    const response = await systemFetch(url, { method: 'GET', headers: {}, signal })
    return response.text()
  }
  // Each of them twice: what is left of a longer one must not show.
  const order = [4, 0, 3, 1, 2, 2, 1, 3, 0, 4]
  const received = await Promise.all(order.map((path) => get(path)))
  expect(received.map((text, at) => text === texts[order[at]!])).toEqual(order.map(() => true))
  server.close()
  server.closeAllConnections()
  await once(server, 'close')
})
