import { expect, test } from 'vitest'
import { Acceptance } from './acceptance.ts'
import { changes } from './delivery-driver.fixture.ts'

test('PH-15 an observer that was told to stop once is told so from then on, whatever it accepts', () => {
  const batch = changes(6)
  const answers = [true, false, true]
  const onAccepted = (): boolean => answers.shift() ?? true
  const acceptance = new Acceptance({ changes: batch, from: 1, to: 5, onAccepted })
  expect(acceptance.accept(batch[1]!)).toBe(true)
  expect(acceptance.accept(batch[2]!)).toBe(false)
  expect(acceptance.accept(batch[3]!)).toBe(false)
  expect([acceptance.count, acceptance.isStopped]).toEqual([3, true])
})

test('PH-15 only changes in hand count, each once, and none after the call', () => {
  const batch = changes(6)
  const told: number[] = []
  const onAccepted = (count: number): boolean => told.push(count) > 0
  const acceptance = new Acceptance({ changes: batch, from: 1, to: 5, onAccepted })
  expect(acceptance.accept(batch[3]!)).toBe(true)
  expect(acceptance.accept(batch[2]!)).toBe(true)
  for (const other of [batch[0]!, batch[5]!, { ...batch[4]! }]) {
    expect(() => acceptance.accept(other)).toThrow(/changes of the batch in hand/)
  }
  acceptance.end()
  expect(acceptance.accept(batch[4]!)).toBe(false)
  expect([acceptance.count, told]).toEqual([3, [3]])
})
