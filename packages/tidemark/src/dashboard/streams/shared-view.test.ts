import { SimulatedClock } from '@tidemark/testing'
import { expect, test } from 'vitest'
import { Events } from '../opened-page.fixture.ts'
import { Streams } from './streams.ts'
import type { AnyView } from './view-difference.ts'

/** A view that a test changes, with streams of it. */
function watched() {
  const clock = new SimulatedClock()
  const streams = new Streams(clock)
  let rows: readonly { readonly id: string; readonly n: number }[] = [
    { id: 'a', n: 1 },
    { id: 'b', n: 1 },
  ]
  let total = 2
  let fault: Error | undefined
  const counts = { reads: 0, sources: 0, released: 0 }
  const read = async (): Promise<AnyView> => {
    counts.reads += 1
    if (fault !== undefined) throw fault
    return { atMs: clock.wallMs(), head: { total, name: 'x' }, tables: { rows, others: [] } }
  }
  const begin = () => {
    counts.sources += 1
    return { read, release: () => void (counts.released += 1) }
  }
  return {
    clock,
    streams,
    counts,
    open: async (key = 'view') => new Events(await streams.view(key, begin)),
    answer: () => streams.view('view', begin),
    change: (next: typeof rows, sum = total) => {
      rows = next
      total = sum
    },
    fail: (error: Error | undefined) => {
      fault = error
    },
  }
}

test('a stream begins with the view, and sends only what changed: rows, ids that are gone, values', async () => {
  const { clock, open, change, streams } = watched()
  const events = await open()
  expect(await events.next()).toMatchObject({
    event: 'view',
    data: { head: { total: 2 }, tables: { rows: [{ id: 'a' }, { id: 'b' }] } },
  })
  await clock.advance(5_000)
  change(
    [
      { id: 'b', n: 1 },
      { id: 'c', n: 1 },
    ],
    3,
  )
  await clock.advance(1_000)
  const { event, data } = (await events.next())!
  expect([event, data]).toEqual([
    'update',
    {
      atMs: expect.any(Number) as number,
      head: { total: 3 },
      rows: { rows: [{ id: 'c', n: 1 }] },
      removed: { rows: ['a'] },
    },
  ])
  change([
    { id: 'b', n: 2 },
    { id: 'c', n: 1 },
  ])
  await clock.advance(1_000)
  const second = (await events.next())?.data
  expect(second).toEqual({
    atMs: expect.any(Number) as number,
    rows: { rows: [{ id: 'b', n: 2 }] },
  })
  await streams.close()
  expect(await events.next()).toBeUndefined()
})

test('one read a second serves all who look at the same view, and none is made when nobody looks', async () => {
  const { clock, open, counts, change } = watched()
  const all = await Promise.all([open(), open(), open(), open('other')])
  expect(counts.sources).toBe(2)
  const before = counts.reads
  await clock.advance(3_000)
  expect(counts.reads - before).toBe(2 * 3)
  change([])
  await clock.advance(1_000)
  for (const events of all) {
    expect((await events.next())?.event).toBe('view')
    expect((await events.next())?.data).toMatchObject({ removed: { rows: ['a', 'b'] } })
  }
  for (const events of all) await events.cancel()
  expect(counts.released).toBe(2)
  const after = counts.reads
  await clock.advance(10_000)
  expect(counts.reads).toBe(after)
})

test('a read that fails is told once, and the stream goes on; one that fails first is no stream', async () => {
  const { clock, open, fail, change, streams, counts } = watched()
  const events = await open()
  await events.next()
  fail(Object.assign(new Error('away'), { code: 'ERR_STORE_UNAVAILABLE' }))
  await clock.advance(3_000)
  expect(await events.next()).toEqual({
    event: 'problem',
    data: { code: 'ERR_STORE_UNAVAILABLE', message: 'away' },
  })
  await expect(open('another')).rejects.toThrow('away')
  expect(counts.released).toBe(1)
  // Nothing has changed meanwhile, but the client must know that it sees the truth again.
  fail(undefined)
  await clock.advance(1_000)
  expect((await events.next())?.event).toBe('view')
  change([])
  await clock.advance(1_000)
  expect((await events.next())?.event).toBe('update')
  await streams.close()
})

test('a client that does not read gets the whole view when it reads again, and holds up nobody', async () => {
  const { clock, open, answer, change, streams } = watched()
  const slow = await answer()
  const fast = await open()
  await fast.next()
  for (let n = 2; n < 60; n += 1) {
    change([{ id: 'a', n }])
    await clock.advance(1_000)
    expect((await fast.next())?.data).toMatchObject({ rows: { rows: [{ id: 'a', n }] } })
  }
  const events = new Events(slow)
  const kinds: unknown[] = []
  for (let last: unknown; last !== 99;) {
    if (kinds.length === 16) {
      change([{ id: 'a', n: 99 }])
      await clock.advance(1_000)
    }
    const { event, data } = (await events.next())!
    kinds.push(event)
    if (event === 'view') last = (data as { tables: { rows: { n: number }[] } }).tables.rows[0]?.n
  }
  expect(kinds.length).toBeLessThan(25)
  expect(kinds.at(-1)).toBe('view')
  await streams.close()
})

test('a view that takes long to read is read less often', async () => {
  const clock = new SimulatedClock()
  const streams = new Streams(clock)
  let reads = 0
  const source = {
    read: async (): Promise<AnyView> => {
      reads += 1
      await clock.sleep(2_000, new AbortController().signal)
      return { atMs: 0, head: {}, tables: {} }
    },
    release: () => {},
  }
  const opening = streams.view('slow', () => source)
  await clock.advance(2_000)
  await opening
  await clock.advance(60_000)
  expect(reads).toBeLessThanOrEqual(10)
  const closing = streams.close()
  await clock.advance(5_000)
  await closing
})

test('a stream that gave way while its view was opened holds no view', async () => {
  const streams = new Streams(new SimulatedClock())
  const reading = Promise.withResolvers<AnyView>()
  let released = 0
  const slow = streams.view('slow', () => ({
    read: () => reading.promise,
    release: () => void (released += 1),
  }))
  const view: AnyView = { atMs: 0, head: {}, tables: {} }
  for (let n = 0; n < 50; n += 1) {
    await streams.view(`${n}`, () => ({ read: async () => view, release: () => {} }))
  }
  reading.resolve(view)
  await slow
  expect(released).toBe(1)
  await streams.close()
})
