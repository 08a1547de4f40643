import { SimulatedClock } from '@tidemark/testing'
import { expect, test } from 'vitest'
import { probes } from './probes.ts'

/** Probes of a store of which each call ends as told. */
function probed() {
  const clock = new SimulatedClock()
  const draining = new AbortController()
  const calls: PromiseWithResolvers<readonly []>[] = []
  const listDatabases = () => {
    const call = Promise.withResolvers<readonly []>()
    calls.push(call)
    return call.promise
  }
  const probe = probes({ store: { listDatabases }, draining: draining.signal, clock })
  const ask = async (path: string, method = 'GET') => {
    const response = await probe(new Request(`http://localhost${path}`, { method }))
    return response && { status: response.status, body: await response.text() }
  }
  return { clock, draining, calls, ask }
}

test('what is no probe is for somebody else', async () => {
  const { ask } = probed()
  for (const path of ['/', '/livez/', '/livezz', '/x/readyz', '/metrics']) {
    expect(await ask(path)).toBeUndefined()
  }
})

test('the process answers /livez without asking its store', async () => {
  const { ask, calls, draining } = probed()
  draining.abort()
  expect(await ask('/livez')).toEqual({ status: 200, body: '{"status":"alive"}' })
  expect(calls).toEqual([])
})

test('/readyz says whether the store answers, by its code and without a name', async () => {
  const { ask, calls, clock } = probed()
  const first = ask('/readyz')
  calls[0]?.resolve([])
  expect(await first).toEqual({
    status: 200,
    body: '{"status":"ready","draining":false,"store":"reachable"}',
  })
  await clock.advance(1_000)
  const second = ask('/readyz')
  const error = Object.assign(new Error('secret-name'), { code: 'ERR_STORE_UNAVAILABLE' })
  calls[1]?.reject(error)
  expect(await second).toEqual({
    status: 503,
    body: '{"status":"notReady","draining":false,"store":"unreachable","code":"ERR_STORE_UNAVAILABLE"}',
  })
})

test('a store that hangs is not ready; it is asked by one call, however many ask', async () => {
  const { ask, calls, clock } = probed()
  const many = Array.from({ length: 20 }, () => ask('/readyz'))
  await clock.advance(2_000)
  for (const answer of await Promise.all(many)) expect(answer?.status).toBe(503)
  const later = ask('/readyz')
  expect(calls).toHaveLength(1)
  calls[0]?.resolve([])
  expect((await later)?.status).toBe(200)
})

test('who drains is not ready, also while its store answers', async () => {
  const { ask, calls, draining } = probed()
  draining.abort()
  const answer = ask('/readyz')
  calls[0]?.resolve([])
  expect(await answer).toEqual({
    status: 503,
    body: '{"status":"notReady","draining":true,"store":"reachable"}',
  })
})

test('a probe is asked by GET or HEAD', async () => {
  const { ask } = probed()
  for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS']) {
    for (const path of ['/livez', '/readyz']) {
      const answer = await ask(path, method)
      expect([answer?.status, answer?.body]).toEqual([
        405,
        expect.stringContaining('ERR_METHOD_NOT_ALLOWED'),
      ])
    }
  }
  expect((await ask('/livez', 'HEAD'))?.status).toBe(200)
})
