import { expect, test } from 'vitest'
import { addChanges, readChanges, reasonChanges } from './message-changes.ts'

test('nothing is stored for changes that change nothing', () => {
  expect(addChanges(undefined)).toBeUndefined()
  expect(addChanges(undefined, undefined, {}, { properties: {}, removed: [], system: {} })).toBe(
    undefined,
  )
  expect(addChanges('{"removed":["a"]}', undefined)).toBe('{"removed":["a"]}')
  expect(readChanges(undefined)).toEqual({})
})

test('SET-02 later properties lie over earlier ones, and the rest stays', () => {
  const first = addChanges(undefined, { properties: { a: 1, b: 'x' }, system: { subject: 's' } })
  const second = addChanges(first, { properties: { b: { date: 5 } }, system: { subject: null } })
  expect(readChanges(second)).toEqual({
    properties: { a: 1, b: { date: 5 } },
    system: { subject: null },
  })
})

test('TOP-06 what is removed is gone until it is set again', () => {
  const removed = addChanges(undefined, { properties: { a: 1, b: 2 } }, { removed: ['a', 'c'] })
  expect(readChanges(removed)).toEqual({ properties: { b: 2 }, removed: ['a', 'c'] })
  expect(readChanges(addChanges(removed, { properties: { a: 3 } }))).toEqual({
    properties: { b: 2, a: 3 },
    removed: ['c'],
  })
  expect(readChanges(addChanges(undefined, { properties: { a: 1 }, removed: ['a'] }))).toEqual({
    properties: { a: 1 },
  })
})

test('names that objects know are names like any other', () => {
  const text = addChanges(undefined, JSON.parse('{"properties":{"__proto__":1}}'))
  expect(text).toBe('{"properties":{"__proto__":1}}')
  const more = addChanges(text, { properties: { constructor: 2 } })
  expect(more).toBe('{"properties":{"__proto__":1,"constructor":2}}')
})

test('SET-04 reason and description are application properties of at most 4096 characters', () => {
  expect(reasonChanges('r', 'd')).toEqual({
    properties: { DeadLetterReason: 'r', DeadLetterErrorDescription: 'd' },
  })
  expect(reasonChanges(undefined, undefined)).toEqual({ properties: {} })
  const long = reasonChanges('a'.repeat(4096), 'b'.repeat(4097)).properties
  expect(long).toEqual({
    DeadLetterReason: 'a'.repeat(4096),
    DeadLetterErrorDescription: 'b'.repeat(4096),
  })
})

test('SET-04 a character is not cut in two', () => {
  const cut = reasonChanges(`${'a'.repeat(4095)}\u{1F600}`, undefined).properties
  expect(cut).toEqual({ DeadLetterReason: 'a'.repeat(4095) })
})

test('damaged changes do not keep a message from being dead-lettered, and are kept as a property', () => {
  const changes = readChanges(addChanges('{x', reasonChanges('r', undefined)))
  expect(changes).toEqual({ properties: { DamagedChanges: '{x', DeadLetterReason: 'r' } })
})
