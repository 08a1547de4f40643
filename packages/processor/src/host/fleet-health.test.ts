import { once } from 'node:events'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { errorCode } from '@tidemark/contracts'
import { expect, test } from 'vitest'
import type { FleetHost } from '@tidemark/testing'
import { fleetsWith } from './fleets.fixture.ts'
import { serveHealth } from './platform/serve-health.ts'

const newFleet = fleetsWith({ ranges: 4 })

type Probe = 'livez' | 'readyz'

async function probe({ host }: FleetHost, path: Probe, method = 'GET') {
  const response = await host.healthHandler()(new Request(`http://pod/${path}?x=1`, { method }))
  const { headers, status } = response
  return { status, headers, json: (await response.json()) as Record<string, unknown> }
}

/** Statuses of both probes, with the status of the host. */
async function seen(member: FleetHost): Promise<readonly [live: number, ready: number, string]> {
  const { status } = member.host.health()
  return [(await probe(member, 'livez')).status, (await probe(member, 'readyz')).status, status]
}

test('a host is ready from when it has joined until it drains, and alive all the time', async () => {
  const one = newFleet({ behaviour: () => one.clock.sleep(1_000, new AbortController().signal) })
  const member = one.create('secret-host')
  expect(await seen(member)).toEqual([200, 503, 'idle'])
  const starting = one.register(member)
  expect(await seen(member)).toEqual([200, 503, 'starting'])
  await one.run(starting)
  await one.until(() => member.host.health().leases.length === 4)
  expect(await seen(member)).toEqual([200, 200, 'running'])
  one.feed.append('secret-key')
  await one.until(() => one.deliveries.length > 0)
  const stopping = one.stop(member)
  expect(await seen(member)).toEqual([200, 503, 'stopping'])
  await stopping
  expect(await seen(member)).toEqual([200, 503, 'stopped'])
})

test('the answer says why, in numbers and states, without a name', async () => {
  const one = newFleet()
  const member = await one.start('secret-host')
  one.feed.append('secret-key')
  await one.until(() => one.isDrained())
  const { json, headers } = await probe(member, 'readyz')
  expect(json).toEqual({
    status: 'ready',
    hosts: [
      {
        status: 'running',
        leases: { running: 4 },
        sessionValidForMs: expect.any(Number),
        leaseStoreAvailable: true,
      },
    ],
  })
  expect(headers.get('cache-control')).toBe('no-store')
  expect(JSON.stringify(json)).not.toMatch(/secret|group/)
})

test('a lease store that is away makes it not ready, and ready again when it is back', async () => {
  const one = newFleet()
  const member = await one.start('a')
  await one.until(() => one.coversAll())
  member.store.link = 'down'
  await one.until(() => !member.host.health().leaseStoreAvailable)
  expect(await seen(member)).toEqual([200, 503, 'degraded'])
  expect((await probe(member, 'readyz')).json).toMatchObject({
    status: 'notReady',
    hosts: [{ leaseStoreAvailable: false }],
  })
  await one.until(() => member.host.health().status === 'fenced')
  expect(await seen(member)).toEqual([200, 503, 'fenced'])
  member.store.link = 'up'
  await one.until(() => member.host.health().status === 'running')
  expect(await seen(member)).toEqual([200, 200, 'running'])
})

test('a process that stood still longer than its session is not ready before it has looked', async () => {
  const one = newFleet()
  const member = await one.start('a')
  await one.until(() => one.coversAll())
  member.gate.freeze()
  await one.advance(20_000)
  expect(await seen(member)).toEqual([200, 503, 'running'])
  member.gate.thaw()
  await one.until(() => one.coversAll())
})

test('an observer that keeps failing is no reason to restart, or to take the host out', async () => {
  const one = newFleet({
    behaviour: () => {
      throw new Error('never')
    },
  })
  const member = await one.start('a')
  one.feed.append('key')
  await one.until(() => member.host.health().status === 'degraded')
  expect(await seen(member)).toEqual([200, 200, 'degraded'])
})

test('a host that stopped by itself with an error is not alive; one that was stopped is', async () => {
  const one = newFleet({ hostOptions: { onLeaseStoreLoss: 'stop' } })
  const [failed, fine] = [await one.start('a'), one.create('b')]
  await one.until(() => failed.host.health().leases.length === 4)
  one.memory.loseAllData()
  await one.until(() => failed.host.health().status === 'stopped')
  expect(await seen(failed)).toEqual([503, 503, 'stopped'])
  const { json } = await probe(failed, 'livez')
  expect(json).toMatchObject({ status: 'failed', hosts: [{ code: 'ERR_LEASES_VANISHED' }] })

  await using server = await serveHealth([fine.host, failed.host], { port: 0 })
  expect((await fetch(`${server.url}livez`)).status).toBe(503)
  await using alone = await serveHealth(fine.host, { port: 0 })
  expect((await fetch(`${alone.url}livez`)).status).toBe(200)
  await fine.host.unregisterObservers()
  expect(await seen(fine)).toEqual([200, 503, 'stopped'])
})

test('a failing listener of a host that is stopped then does not make it look failed', async () => {
  const one = newFleet()
  const member = await one.start('a')
  member.host.on('leaseReleased', () => {
    throw new Error('a listener')
  })
  await one.until(() => one.coversAll())
  await one.stop(member)
  expect(member.host.health().lastError).toBeInstanceOf(Error)
  expect(await seen(member)).toEqual([200, 503, 'stopped'])
})

test('other paths are 404, other methods 405, HEAD has no body, at a handler and at a server', async () => {
  const one = newFleet()
  const { host } = one.create('a')
  await using server = await serveHealth(host, { port: 0 })
  const handler = host.healthHandler()
  for (const ask of [fetch, (url: string, init?: RequestInit) => handler(new Request(url, init))]) {
    for (const path of ['', 'livez/', 'livezz', 'metrics']) {
      const answer = await ask(server.url + path)
      expect([answer.status, await answer.json()]).toMatchObject([404, { code: 'ERR_NOT_FOUND' }])
    }
    const posted = await ask(`${server.url}livez`, { method: 'POST', body: 'x'.repeat(100_000) })
    expect([posted.status, posted.headers.get('allow'), await posted.json()]).toMatchObject([
      405,
      'GET, HEAD',
      { code: 'ERR_METHOD_NOT_ALLOWED' },
    ])
  }
  const head = await fetch(`${server.url}livez`, { method: 'HEAD' })
  expect([head.status, await head.text()]).toEqual([200, ''])
})

test('several hosts of a process are ready when each is', async () => {
  const one = newFleet()
  const first = await one.start('a')
  const second = one.create('b')
  await using server = await serveHealth([first.host, second.host], { port: 0 })
  const status = async () => (await fetch(`${server.url}readyz`)).status
  expect(await status()).toBe(503)
  await one.run(one.register(second))
  await one.until(() => one.isBalanced())
  expect(await status()).toBe(200)
  await one.stop(first)
  expect(await status()).toBe(503)
})

test('a server listens on loopback, ends what hangs, and can be closed again and again', async () => {
  const one = newFleet()
  const { host } = one.create('a')
  const server = await serveHealth(host, { port: 0 })
  expect(server.url).toBe(`http://127.0.0.1:${server.port}/`)
  const taken = serveHealth(host, { port: server.port })
  await expect(taken).rejects.toMatchObject({ code: 'ERR_ADDRESS_UNAVAILABLE' })
  const slow = connect(server.port, '127.0.0.1').on('error', () => {})
  slow.write('GET /livez HTTP/1.1\r\nhost: x\r\n')
  expect((await fetch(`${server.url}livez`)).status).toBe(200)
  await server.close()
  await server.close()
  expect(await text(slow)).not.toContain('200')
  await expect(fetch(`${server.url}livez`)).rejects.toThrow()
})

test('who holds connections does not keep probes out: the oldest give way', async () => {
  const one = newFleet()
  await using server = await serveHealth(one.create('a').host, { port: 0 })
  const idle = Array.from({ length: 130 }, () =>
    connect(server.port, '127.0.0.1').on('error', () => {}),
  )
  await Promise.all(idle.map((socket) => once(socket, 'connect')))
  expect((await fetch(`${server.url}livez`)).status).toBe(200)
  await text(idle[0]!)
  for (const socket of idle) socket.destroy()
})

test('what makes no server is refused', async () => {
  const one = newFleet()
  const { host } = one.create('a')
  const refused = async (hosts: Parameters<typeof serveHealth>[0], options: object) => {
    try {
      await (await serveHealth(hosts, options as { port: number })).close()
    } catch (error) {
      return errorCode(error)
    }
    return undefined
  }
  expect(await refused([], { port: 0 })).toBe('ERR_INVALID_OPTION')
  for (const options of [
    {},
    { port: '80' },
    { port: -1 },
    { port: 65_536 },
    { port: 0, prot: 1 },
  ]) {
    expect([options, await refused(host, options)]).toEqual([options, 'ERR_INVALID_OPTION'])
  }
})
