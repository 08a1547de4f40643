import { LeaseStoreUnavailableError, type LeaseGroup } from '@tidemark/contracts'
import { expect, test, vi } from 'vitest'
import { DocumentLeaseStore } from '../index.ts'
import { ORDERS, MIRROR, startHost, write } from './mirrored-orders.fixture.ts'
import { Events, OpenedPage, problem } from './opened-page.fixture.ts'

/** As many as there may be. */
const MOST_STREAMS = 50

test('clients that left while their stream was opened, or whose server only aborts requests, take no room', async () => {
  await using page = await OpenedPage.open()
  await write(page.store, 1)
  const stays = await page.stream('tail', ORDERS)
  const query = new URLSearchParams(ORDERS).toString()
  for (const path of ['overview', `tail?${query}`]) {
    for (let n = 0; n <= MOST_STREAMS; n += 1) {
      const client = new AbortController()
      const { signal } = client
      const opening = page.fetch(`api/streams/${path}`, { signal })
      if (n % 2 === 0) client.abort()
      const answer = await opening
      expect(answer.status).toBe(200)
      client.abort()
      const events = new Events(answer)
      while ((await events.next()) !== undefined);
    }
  }
  await write(page.store, 1)
  expect(await stays.next()).toBeDefined()
})

test('HEAD of a stream opens none', async () => {
  await using page = await OpenedPage.open()
  await write(page.store, 1)
  const stays = await page.stream('tail', ORDERS)
  for (let n = 0; n <= MOST_STREAMS; n += 1) {
    const { status, body } = await page.fetch('api/streams/overview', { method: 'HEAD' })
    expect([status, body]).toEqual([200, null])
  }
  await write(page.store, 1)
  expect(await stays.next()).toBeDefined()
})

test('a page that was closed answers nothing, also to streams that were being opened', async () => {
  await using page = await OpenedPage.open()
  const { store, dashboard } = page
  const reading = Promise.withResolvers<void>()
  const going = Promise.withResolvers<void>()
  const list = store.listDatabases.bind(store)
  store.listDatabases = async () => {
    reading.resolve()
    await going.promise
    return list()
  }
  const opening = page.fetch('api/streams/overview')
  await reading.promise
  const closing = dashboard.close()
  going.resolve()
  const closed = [503, 'ERR_PAGE_CLOSED'] as const
  expect(await problem(await opening)).toEqual(closed)
  await closing
  for (const path of ['', 'api/info', 'api/views/overview', 'api/streams/overview']) {
    expect(await page.refused(path)).toEqual(closed)
  }
})

test('leases that cannot be closed end no process, and a log that fails no request', async () => {
  const rejections: unknown[] = []
  const onRejection = (reason: unknown): void => void rejections.push(reason)
  process.on('unhandledRejection', onRejection)
  try {
    await using page = await OpenedPage.open({
      onFailure: () => {
        throw new Error('the log is full')
      },
    })
    await write(page.store, 1)
    await using _host = await startHost(page.store)
    const leases = new DocumentLeaseStore(page.store.database('shop').collection('leases'))
    const group = await leases.openGroup(MIRROR.group)
    using closing = vi.spyOn(Object.getPrototypeOf(group) as LeaseGroup, 'close')
    closing.mockRejectedValue(new LeaseStoreUnavailableError('away'))
    expect(await page.view('group', MIRROR)).toMatchObject({ head: MIRROR })
    expect(closing).toHaveBeenCalled()
    page.store.listDatabases = () => Promise.reject(new Error('away'))
    expect(await page.refused('api/views/overview')).toEqual([500, 'ERR_FAILED'])
  } finally {
    process.off('unhandledRejection', onRejection)
  }
  expect(rejections).toEqual([])
})
