import { expect, test } from 'vitest'
import { RequestPlace } from './request-place.ts'
import { SharedLimit } from './shared-limit.ts'

const THROTTLED = expect.objectContaining({ code: 'ERR_THROTTLED' })

/** Places of a gateway that serves one request at a time, and lets one wait. */
function places(): () => RequestPlace {
  const limit = { most: 1, share: 1, what: 'requests are here', retryAfterMs: 1 }
  const limits = {
    served: new SharedLimit(limit),
    waiting: new SharedLimit(limit),
    queryChars: new SharedLimit({ ...limit, most: 100 }),
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

test('what queries hold counts for all, until their requests end', () => {
  const place = places()
  const [first, second] = [place(), place()]
  first.holdChars(50)
  second.holdChars(30)
  first.holdChars(20)
  expect(() => second.holdChars(1)).toThrow(THROTTLED)
  first.leave()
  second.holdChars(70)
  expect(() => second.holdChars(1)).toThrow(THROTTLED)
  second.leave()
  // What comes too late is not counted, as nothing would give it back.
  first.holdChars(100)
  place().holdChars(100)
})
