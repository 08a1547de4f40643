import { expect, test } from 'vitest'
import { SharedLimit } from './shared-limit.ts'

const throttled = expect.objectContaining({ code: 'ERR_THROTTLED', retryAfterMs: 50 })

function limit(most: number, share: number): SharedLimit {
  return new SharedLimit({ most, share, what: 'requests are being served', retryAfterMs: 50 })
}

test('one client has its share, all together have the limit', () => {
  const shared = limit(4, 0.5)
  const leave = [shared.enter(['a']), shared.enter(['a'])]
  expect(() => shared.enter(['a'])).toThrow(throttled)
  leave.push(shared.enter(['b']), shared.enter(['c']))
  expect(() => shared.enter(['d'])).toThrow(throttled)
  leave[0]?.()
  shared.enter(['d'])
  expect(() => shared.enter(['a'])).toThrow(throttled)
})

test('a request counts for its address and for its key', () => {
  const shared = limit(10, 0.2)
  const key = {}
  const leave = [shared.enter(['a', key]), shared.enter(['b', key])]
  expect(() => shared.enter(['c', key])).toThrow(throttled)
  // Of a refused one nothing is left.
  shared.enter(['c'])
  shared.enter(['c'])
  leave[0]?.()
  shared.enter(['d', key])
})

test('what was let in before comes back above the limit, and counts', () => {
  const shared = limit(2, 1)
  shared.enter(['a'])
  shared.enter(['a'])
  const leave = shared.enterAnyway(['a'])
  expect(() => shared.enter(['b'])).toThrow(throttled)
  leave()
  expect(() => shared.enter(['b'])).toThrow(throttled)
})
