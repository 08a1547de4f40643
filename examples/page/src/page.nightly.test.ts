import { once } from 'node:events'
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { serveRequests } from '@tidemark/gateway'
import { expect, test } from 'vitest'
import { createDashboard, openStore, type Dashboard } from 'tidemark'
import { expressApp } from './express.ts'
import { fastifyApp } from './fastify.ts'
import { honoApp } from './hono.ts'
import { nextRoute } from './next.ts'

interface Served extends AsyncDisposable {
  readonly url: string
}

async function listening(listener: RequestListener): Promise<Served> {
  const server: Server = createServer(listener)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

const FRAMEWORKS: Readonly<Record<string, (page: Dashboard) => Promise<Served>>> = {
  hono: async (page) => {
    const app = honoApp(page)
    const served = await serveRequests({ answer: async (request) => app.fetch(request), port: 0 })
    return { url: served.endpoint, [Symbol.asyncDispose]: () => served.stop() }
  },
  express: (page) => listening(expressApp(page)),
  fastify: async (page) => {
    const app = fastifyApp(page)
    const url = `${await app.listen({ port: 0, host: '127.0.0.1' })}/`
    return {
      url,
      async [Symbol.asyncDispose]() {
        app.server.closeAllConnections()
        await app.close()
      },
    }
  },
}

test.each(Object.keys(FRAMEWORKS))(
  'in %s the page answers below its path: views, events, actions; and the application beside it',
  async (name) => {
    await using store = await openStore(':memory:')
    await store.createDatabase('shop')
    const page = createDashboard({ store, basePath: '/tidemark', host: '127.0.0.1' })
    await using served = await FRAMEWORKS[name]!(page)
    const { url } = served
    const own = await fetch(url)
    expect(await own.text()).toBe('the application')
    const slash = await fetch(`${url}tidemark`, { redirect: 'manual' })
    expect([slash.status, slash.headers.get('location')]).toEqual([308, '/tidemark/'])
    const overview = await fetch(`${url}tidemark/api/views/overview`)
    expect(await overview.json()).toMatchObject({ head: { databases: 1 } })
    const events = await fetch(`${url}tidemark/api/streams/overview`)
    const reader = (events.body as ReadableStream<Uint8Array>).getReader()
    expect(Buffer.from((await reader.read()).value ?? []).toString()).toMatch(/^event: view\n/)
    await reader.cancel()
    const act = (headers: Record<string, string>) =>
      fetch(`${url}tidemark/api/actions/pause`, {
        method: 'POST',
        body: JSON.stringify({ leases: 'shop/leases', group: 'no' }),
        headers: { 'content-type': 'application/json', ...headers },
      })
    expect((await act({})).status).toBe(403)
    const known = await act({ 'x-tidemark-action': '1' })
    expect([known.status, await known.json()]).toMatchObject([404, { code: 'ERR_NOT_FOUND' }])
    await page.close()
  },
)

test('in Next the handlers of a route are the page', async () => {
  await using store = await openStore(':memory:')
  await using page = createDashboard({ store, basePath: '/tidemark', host: '127.0.0.1' })
  const { GET, POST } = nextRoute(page)
  const info = await GET(new Request('http://localhost:3000/tidemark/api/info'))
  expect(await info.json()).toMatchObject({ readOnly: false })
  const action = new Request('http://localhost:3000/tidemark/api/actions/pause', { method: 'POST' })
  expect((await POST(action)).status).toBe(403)
})
