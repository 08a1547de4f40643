import { expect, test } from 'vitest'
import { parseAddress } from './resource-address.ts'

const NAME = { topic: 'a', subscription: 'b' }

test.each([
  ['/$namespaceinfo', { kind: 'namespace' }],
  ['/%24NamespaceInfo/', { kind: 'namespace' }],
  ['/$Resources/Queues', { kind: 'queues' }],
  ['/$resources/topics/', { kind: 'topics' }],
  ['/orders', { kind: 'entity', path: 'orders' }],
  ['/eu/orders/', { kind: 'entity', path: 'eu/orders' }],
  ['/eu%2Forders', { kind: 'entity', path: 'eu/orders' }],
  ['/subscriptions', { kind: 'entity', path: 'subscriptions' }],
  ['/a/Subscriptions', { kind: 'subscriptions', topic: 'a' }],
  ['/x/a/subscriptions/', { kind: 'subscriptions', topic: 'x/a' }],
  ['/a/Subscriptions/b', { kind: 'subscription', name: NAME }],
  ['/x/a/Subscriptions/b', { kind: 'subscription', name: { ...NAME, topic: 'x/a' } }],
  ['/a/Subscriptions/b/Rules/', { kind: 'rules', name: NAME }],
  ['/a/Subscriptions/b/rules/$Default', { kind: 'rule', name: NAME, rule: '$Default' }],
  ['/a/Subscriptions/b/Rules/c/d', { kind: 'rule', name: NAME, rule: 'c/d' }],
  ['/', undefined],
  ['/$Resources', undefined],
  ['/$Resources/queues/a', undefined],
  ['/a/Subscriptions/b/Other', undefined],
])('%s names %j', (path, address) => {
  expect(parseAddress(path)).toEqual(address)
})

test.each(['/%', '/%zz', '/%ff'])('%s is encoded wrongly', (path) => {
  expect(() => parseAddress(path)).toThrow(expect.objectContaining({ code: 'ERR_INVALID_REQUEST' }))
})
