import { expect, test } from 'vitest'
import { checkedStart } from './start-position.ts'

test('CF-6 a start position is a word, a date or a continuation; anything else is refused by name', () => {
  for (const start of ['beginning', 'now', new Date(0), { continuation: 'c' }] as const) {
    expect(checkedStart('from', start)).toEqual(start)
  }
  const wrong = ['soon', 0, null, new Date(Number.NaN), { kind: 'now' }, { timeMs: 0 }]
  for (const start of [...wrong, { continuation: 1 }]) {
    expect(() => checkedStart('from', start)).toThrow(
      /^from must be "beginning", "now", a valid date/,
    )
  }
})
