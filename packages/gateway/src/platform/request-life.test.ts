import { EventEmitter } from 'node:events'
import type { ServerResponse } from 'node:http'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { RequestLives } from './request-life.ts'

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
})
afterEach(() => {
  vi.useRealTimers()
})

/** An answer that is never finished. */
function unfinished(): ServerResponse {
  const outgoing = Object.assign(new EventEmitter(), { writableFinished: false })
  return outgoing as unknown as ServerResponse
}

test('each request has its own time, however the others end', () => {
  const lives = new RequestLives(1000)
  const first = lives.begin(unfinished())
  vi.advanceTimersByTime(400)
  const second = lives.begin(unfinished())
  const third = lives.begin(unfinished())
  first.end()
  third.end()
  expect(lives.count).toBe(1)
  vi.advanceTimersByTime(999)
  expect(second.signal.aborted).toBe(false)
  vi.advanceTimersByTime(2)
  expect(second.signal.reason).toMatchObject({ code: 'ERR_REQUEST_TIMEOUT' })
  expect(first.signal.aborted || third.signal.aborted).toBe(false)
  second.end()
  expect(lives.count).toBe(0)

  // After a rest, and beside one that is overdue and not ended yet.
  vi.advanceTimersByTime(10_000)
  const late = lives.begin(unfinished())
  vi.advanceTimersByTime(500)
  const later = lives.begin(unfinished())
  vi.advanceTimersByTime(501)
  expect([late.signal.aborted, later.signal.aborted]).toEqual([true, false])
  vi.advanceTimersByTime(500)
  expect(later.signal.aborted).toBe(true)
  expect(lives.count).toBe(2)
})

test('a request ends with its client, and not when it was answered', () => {
  const lives = new RequestLives(1000)
  const outgoing = unfinished()
  const left = lives.begin(outgoing)
  outgoing.emit('close')
  expect(left.signal.reason).toMatchObject({ code: 'ERR_CLIENT_GONE' })
  const answered = Object.assign(unfinished(), { writableFinished: true })
  const served = lives.begin(answered)
  answered.emit('close')
  expect(served.signal.aborted).toBe(false)
})

test('when all are ended, what is being served ends for that reason, and what comes too', () => {
  const lives = new RequestLives(1000)
  const served = lives.begin(unfinished())
  const ended = lives.begin(unfinished())
  ended.end()
  const reason = new Error('it stops')
  lives.endAll(reason)
  const late = lives.begin(unfinished())
  expect([served.signal.reason, late.signal.reason]).toEqual([reason, reason])
  expect(ended.signal.aborted).toBe(false)
  expect(vi.getTimerCount()).toBe(0)
})

test('one that lasts has no time limit, counts, and ends with all that last', () => {
  const lives = new RequestLives(1000)
  const lasting = lives.begin(unfinished())
  const timed = lives.begin(unfinished())
  lasting.last()
  vi.advanceTimersByTime(1001)
  expect([lasting.signal.aborted, timed.signal.aborted]).toEqual([false, true])
  expect(lives.count).toBe(2)
  const [served, late] = [lives.begin(unfinished()), lives.begin(unfinished())]
  const reason = new Error('it drains')
  lives.endLasting(reason)
  expect([lasting.signal.reason, served.signal.aborted]).toEqual([reason, false])
  late.last()
  expect(late.signal.reason).toBe(reason)
  for (const life of [lasting, timed, served, late]) life.end()
  expect(lives.count).toBe(0)
})
