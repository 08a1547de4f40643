import { createHmac } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { AccessPolicies, permits, type AccessPolicy, type AccessRight } from './access-policies.ts'

const NOW_MS = Date.UTC(2026, 0, 1)
const POLICIES: readonly AccessPolicy[] = [
  { name: 'root', keys: ['first', 'second'], rights: ['Manage'] },
  { name: 'sender', keys: ['s'], rights: ['Send'] },
]
const UNAUTHORIZED = expect.objectContaining({ code: 'ERR_UNAUTHORIZED_ACCESS' })

interface Given {
  readonly resource?: string
  readonly name?: string
  readonly key?: string
  readonly expiresMs?: number
}

/** As the official client makes it. */
function token({
  resource = 'sb://localhost:5672/orders',
  name = 'sender',
  key = 's',
  expiresMs = NOW_MS + 60_000,
}: Given = {}): string {
  const sr = encodeURIComponent(resource)
  const se = Math.floor(expiresMs / 1000)
  const sig = createHmac('sha256', key).update(`${sr}\n${se}`).digest('base64')
  return `SharedAccessSignature sr=${sr}&sig=${encodeURIComponent(sig)}&se=${se}&skn=${name}`
}

function claimsOf(given?: Given) {
  return new AccessPolicies(POLICIES).claimsOfToken(token(given), NOW_MS)
}

function may(given: Given, right: AccessRight, path: string, nowMs = NOW_MS): boolean {
  return permits(claimsOf(given), { right, path, nowMs })
}

describe('a token', () => {
  test('is signed by any key of the policy that it names', () => {
    for (const key of ['first', 'second']) {
      expect(claimsOf({ name: 'root', key }).path).toBe('orders')
    }
  })

  test.each<[string, Given]>([
    ['of another key', { key: 'x' }],
    ['of the key of another policy', { key: 'first' }],
    ['of an unknown policy', { name: 'other' }],
    ['that has run out', { expiresMs: NOW_MS - 1000 }],
    ['that runs out now', { expiresMs: NOW_MS }],
  ])('%s is refused', (_, given) => {
    expect(() => claimsOf(given)).toThrow(UNAUTHORIZED)
  })

  test.each([
    ['', 'an empty text'],
    ['Bearer x', 'another kind'],
    [token().replace('&se=', '&se=1'), 'a longer time than was signed'],
    [token().replace('orders', 'others'), 'another resource than was signed'],
    [token().replace(/&se=\d+/, ''), 'no time'],
    [token().replace(/&sig=[^&]+/, '&sig='), 'no signature'],
    [token().replace('sr=', 'sr=%E0%A4%A'), 'a broken resource'],
    [`${token()}&${'x'.repeat(10_000)}`, 'far too much'],
  ])('%s is refused: it has %s', (text) => {
    const policies = new AccessPolicies(POLICIES)
    expect(() => policies.claimsOfToken(text, NOW_MS)).toThrow(UNAUTHORIZED)
  })
})

describe('claims', () => {
  test('give their rights, and Manage gives all', () => {
    expect(may({}, 'Send', 'orders')).toBe(true)
    for (const right of ['Listen', 'Manage'] as const) expect(may({}, right, 'orders')).toBe(false)
    for (const right of ['Listen', 'Send', 'Manage'] as const) {
      expect(may({ name: 'root', key: 'first' }, right, 'orders')).toBe(true)
    }
  })

  test('cover what stands below their resource, whatever the case, and nothing beside it', () => {
    expect(may({}, 'Send', 'Orders/$management')).toBe(true)
    expect(may({ resource: 'http://h/' }, 'Send', 'anything')).toBe(true)
    for (const resource of [
      'sb://h/ORDERS/',
      'localhost/orders',
      'a.example.org:5672/orders',
      '[::1]/orders',
      '/orders',
      'orders',
    ]) {
      expect(may({ resource }, 'Send', 'orders/Subscriptions/a')).toBe(true)
      expect(may({ resource }, 'Send', 'invoices')).toBe(false)
    }
    expect(may({ resource: 'a.example.org' }, 'Send', 'invoices')).toBe(true)
    for (const path of ['orders2', 'order', '', 'a/orders']) {
      expect(may({}, 'Send', path)).toBe(false)
    }
  })

  test('are not given by a token that has ended, which says when', () => {
    expect(() => claimsOf({ expiresMs: NOW_MS - 1000 })).toThrow(
      `ExpiredToken: The token is expired. Expiration time: '${new Date(NOW_MS - 1000).toISOString()}', server time: '${new Date(NOW_MS).toISOString()}'`,
    )
  })

  test('end with their token', () => {
    expect(may({}, 'Send', 'orders', NOW_MS + 59_999)).toBe(true)
    expect(may({}, 'Send', 'orders', NOW_MS + 60_000)).toBe(false)
  })

  test('end when their key is replaced, and stay when it stays', () => {
    const policies = new AccessPolicies(POLICIES)
    const [first, second] = ['first', 'second'].map((key) => policies.claimsOfKey('root', key))
    policies.replace([{ name: 'root', keys: ['second', 'third'], rights: ['Manage'] }])
    expect(policies.isInForce(first!)).toBe(false)
    expect(policies.isInForce(second!)).toBe(true)
    policies.replace([{ name: 'root', keys: ['second'], rights: ['Listen'] }])
    expect(policies.isInForce(second!)).toBe(false)
  })
})

test('a key itself gives the rights of its policy on everything', () => {
  const claims = new AccessPolicies(POLICIES).claimsOfKey('sender', 's')
  expect(permits(claims, { right: 'Send', path: 'a/b', nowMs: NOW_MS * 10 })).toBe(true)
  for (const [name, key] of [
    ['sender', 'x'],
    ['other', 's'],
    ['sender', ''],
  ] as const) {
    expect(() => new AccessPolicies(POLICIES).claimsOfKey(name, key)).toThrow(UNAUTHORIZED)
  }
})

test('a policy without a name is for every name', () => {
  const policies = new AccessPolicies([{ name: undefined, keys: ['k'], rights: ['Listen'] }])
  expect(policies.claimsOfKey('whoever', 'k').rights).toContain('Listen')
  expect(policies.claimsOfToken(token({ name: 'any', key: 'k' }), NOW_MS).path).toBe('orders')
})

test('a list without keys, or with an empty one, is refused, and the old keys stay', () => {
  const policies = new AccessPolicies(POLICIES)
  for (const bad of [[], [{ name: 'a', keys: [''], rights: ['Send'] as const }]]) {
    expect(() => policies.replace(bad)).toThrow(
      expect.objectContaining({ code: 'ERR_INVALID_OPTION' }),
    )
  }
  expect(policies.claimsOfKey('sender', 's').rights).toContain('Send')
})

test('a key whose rights are widened or narrowed is another one: what was proved by it is in force no longer', () => {
  const of = (...rights: readonly AccessRight[]): readonly AccessPolicy[] => [
    { name: 'sender', keys: ['s'], rights },
  ]
  for (const [before, after] of [
    [of('Send'), of('Send', 'Listen')],
    [of('Send', 'Listen'), of('Send')],
    [of('Send'), of('Listen')],
  ] as const) {
    const policies = new AccessPolicies(before)
    const claims = policies.claimsOfKey('sender', 's')
    policies.replace(before)
    expect(policies.isInForce(claims)).toBe(true)
    policies.replace(after)
    expect(policies.isInForce(claims)).toBe(false)
    expect([...policies.claimsOfKey('sender', 's').rights]).toEqual(after[0]?.rights)
  }
})
