import { systemClock } from '@tidemark/contracts'
import { startPostgresProcess } from '@tidemark/testing/servers'
import { expect, test } from 'vitest'
import { openStore } from '../../open-store.ts'
import { probes } from './probes.ts'

test('/readyz is 503 while PostgreSQL is away or hangs, and 200 again when it is back', async () => {
  await using server = await startPostgresProcess()
  await using store = await openStore(server.url())
  const probe = probes({ store, draining: new AbortController().signal, clock: systemClock })
  const ready = async () => {
    const response = await probe(new Request('http://localhost/readyz'))
    return [response?.status, await response?.json()]
  }
  expect(await ready()).toMatchObject([200, { store: 'reachable' }])
  await server.pause()
  await expect
    .poll(ready)
    .toMatchObject([503, { store: 'unreachable', code: 'ERR_STORE_UNAVAILABLE' }])
  server.resume()
  await expect.poll(ready).toMatchObject([200, { store: 'reachable' }])
  await server.stop()
  await expect.poll(ready).toMatchObject([503, { store: 'unreachable' }])
  await server.start()
  await expect.poll(ready).toMatchObject([200, { status: 'ready' }])
})
