import { expect, test } from 'vitest'
import {
  deadLetterPath,
  isDeadLetterPath,
  problemOfPath,
  problemOfRuleName,
  problemOfSubscriptionName,
  subscriptionName,
  subscriptionPath,
} from './entity-names.ts'

test.each(['a', 'orders', 'Orders.eu-1_x', 'eu/orders', '7', 'x/y/z', 'a.b~c'])(
  'a queue may be named %s',
  (name) => {
    expect(problemOfPath(name)).toBeUndefined()
  },
)

test.each([
  ['', 'must have 1 to 260 characters, got 0'],
  [5, 'must be a text, got 5'],
  ['a b', 'may have letters, digits and . - _ / ~ only, got "a b"'],
  ['ä', 'may have letters, digits and . - _ / ~ only, got "ä"'],
  ['a/$DeadLetterQueue', 'may have letters, digits and . - _ / ~ only, got "a/$DeadLetterQueue"'],
  ['/a', 'must not begin or end with a slash, or have two in a row, got "/a"'],
  ['a/', 'must not begin or end with a slash, or have two in a row, got "a/"'],
  ['a//b', 'must not begin or end with a slash, or have two in a row, got "a//b"'],
  ['a/subscriptions/b', 'must not have a segment "Subscriptions", got "a/subscriptions/b"'],
])('a queue may not be named %j', (name, problem) => {
  expect(problemOfPath(name)).toBe(problem)
})

test.each([
  ['', 'must have 1 to 50 characters, got 0'],
  ['a/b', 'may have letters, digits and . - _ only, got "a/b"'],
  ['$Default', 'may have letters, digits and . - _ only, got "$Default"'],
])('a subscription may not be named %j', (name, problem) => {
  expect(problemOfSubscriptionName(name)).toBe(problem)
})

test('a queue has up to 260 characters, a subscription up to 50', () => {
  expect(problemOfPath('x'.repeat(260))).toBeUndefined()
  expect(problemOfPath('x'.repeat(261))).toBe('must have 1 to 260 characters, got 261')
  expect(problemOfSubscriptionName('x'.repeat(50))).toBeUndefined()
  expect(problemOfSubscriptionName('x'.repeat(51))).toBe('must have 1 to 50 characters, got 51')
})

test('a rule may have the name of the default one, and no other with a dollar', () => {
  expect(problemOfRuleName('$default')).toBeUndefined()
  expect(problemOfRuleName('important-ones')).toBeUndefined()
  expect(problemOfRuleName('$Other')).toBe(
    'may have letters, digits and . - _ / only, got "$Other"',
  )
  expect(problemOfRuleName('x'.repeat(51))).toBe('must have 1 to 50 characters, got 51')
})

test('paths are made of names, and back', () => {
  expect(subscriptionPath('eu/news', 'all')).toBe('eu/news/Subscriptions/all')
  expect(subscriptionName('eu/news/Subscriptions/all')).toBe('all')
  expect(deadLetterPath('orders')).toBe('orders/$DeadLetterQueue')
  expect(isDeadLetterPath('orders/$deadletterqueue')).toBe(true)
  expect(isDeadLetterPath('orders')).toBe(false)
})
