import { describe, expect, test } from 'vitest'
import { messageTime } from './message-time.ts'

const pair = { storeMs: 5_000, lockMs: 1_000 }

describe('the lock clock', () => {
  test.each([
    ['EXP-29 goes on with the broker', { storeMs: 5_300, knownMs: 1_300 }, 1_300],
    ['SET-19 is the same for a broker that heard late', { storeMs: 5_300, knownMs: 1_050 }, 1_300],
    [
      'does not follow a store whose clock was set ahead',
      { storeMs: 90_000, knownMs: 1_300 },
      1_300,
    ],
    ['is corrected by one second at most', { storeMs: 6_300, knownMs: 1_300 }, 2_300],
    ['and by nothing above it', { storeMs: 6_301, knownMs: 1_300 }, 1_300],
    ['EXP-29 does not stand still with a clock set back', { storeMs: 100, knownMs: 1_300 }, 1_300],
    ['EXP-29 never goes back', { storeMs: 100, knownMs: 200 }, 1_000],
    [
      'takes the word of the store in a new broker',
      { storeMs: 90_000, knownMs: undefined },
      86_000,
    ],
    ['is whole milliseconds', { storeMs: 5_000, knownMs: 1_300.7 }, 1_300],
  ])('%s', (_, { storeMs, knownMs }, lockMs) => {
    expect(messageTime(pair, storeMs, { lockMs: knownMs })).toEqual({ storeMs, lockMs })
  })
})
