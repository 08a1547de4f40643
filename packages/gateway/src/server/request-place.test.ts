import { expect, test } from 'vitest'
import { RequestPlace } from './request-place.ts'
import { SharedLimit } from './shared-limit.ts'

/** What each request may hold without being counted, and asks for at once. */
const CHUNK = 256 * 1024
const THROTTLED = expect.objectContaining({ code: 'ERR_THROTTLED' })

/** Places of a gateway that serves one request at a time, and lets one wait. */
function places(): () => RequestPlace {
  const limit = { most: 1, share: 1, what: 'requests are here', retryAfterMs: 1 }
  const limits = {
    served: new SharedLimit(limit),
    waiting: new SharedLimit(limit),
    heldChars: new SharedLimit({ ...limit, most: 10 * CHUNK }),
  }
  return () => new RequestPlace(limits)
}

test.each(['is answered', 'fails'])(
  'who waits is not served meanwhile, and again when its wait %s',
  async (end) => {
    const place = places()
    const waiter = place()
    waiter.enter(['a'])
    const change = Promise.withResolvers<void>()
    const waited = waiter.whileWaiting(() => change.promise)
    const other = place()
    other.enter(['b'])
    expect(() => place().enter(['c'])).toThrow(THROTTLED)
    other.leave()
    if (end === 'fails') change.reject(new Error('away'))
    else change.resolve()
    await waited.catch(() => {})
    expect(() => other.enter(['b'])).toThrow(THROTTLED)
    waiter.leave()
    waiter.leave()
    other.enter(['b'])
    expect(() => place().enter(['c'])).toThrow(THROTTLED)
  },
)

test('who may not wait keeps its place', async () => {
  const place = places()
  const first = place()
  first.enter(['a'])
  const waited = first.whileWaiting(() => new Promise<never>(() => {}))
  waited.catch(() => {})
  const second = place()
  second.enter(['b'])
  await expect(second.whileWaiting(() => Promise.resolve())).rejects.toThrow(THROTTLED)
  expect(() => place().enter(['c'])).toThrow(THROTTLED)
})

test('what requests hold counts for all, until they end', () => {
  const place = places()
  const [first, second] = [place(), place()]
  expect(first.holdChars(CHUNK)).toBe(CHUNK)
  expect(first.holdChars(CHUNK + 1)).toBe(2 * CHUNK)
  expect(first.holdChars(6 * CHUNK)).toBe(6 * CHUNK)
  // Less than before gives nothing back.
  expect(first.holdChars(1)).toBe(6 * CHUNK)
  expect(second.holdChars(6 * CHUNK)).toBe(6 * CHUNK)
  expect(() => second.holdChars(6 * CHUNK + 1)).toThrow(THROTTLED)
  expect(() => place().holdChars(CHUNK + 1)).toThrow(THROTTLED)
  first.leave()
  expect(second.holdChars(11 * CHUNK)).toBe(11 * CHUNK)
  expect(() => second.holdChars(11 * CHUNK + 1)).toThrow(THROTTLED)
  second.leave()
  // What comes too late is not counted, as nothing would give it back.
  first.holdChars(11 * CHUNK)
  place().holdChars(11 * CHUNK)
})

test('the answer to a write that was done counts, and is not refused', () => {
  const place = places()
  const [write, read] = [place(), place()]
  write.holdCharsAnyway(100 * CHUNK)
  expect(() => read.holdChars(CHUNK + 1)).toThrow(THROTTLED)
  write.leave()
  read.holdChars(11 * CHUNK)
})
