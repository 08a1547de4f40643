import { createHmac } from 'node:crypto'
import { AccessPolicies } from '@tidemark/messaging/front'
import { SimulatedClock } from '@tidemark/testing'
import { expect, test, vi } from 'vitest'
import { ConnectionClaims } from './connection-claims.ts'

const POLICIES = new AccessPolicies([{ name: 'p', keys: ['key'], rights: ['Listen'] }])

function tokenFor(path: string): string {
  const sr = encodeURIComponent(`sb://localhost/${path}`)
  const sig = createHmac('sha256', 'key').update(`${sr}\n9999999999`).digest('base64')
  return `SharedAccessSignature sr=${sr}&sig=${encodeURIComponent(sig)}&se=9999999999&skn=p`
}

function claimsFor(...paths: string[]): ConnectionClaims {
  const claims = new ConnectionClaims(POLICIES, new SimulatedClock())
  for (const path of paths) claims.putToken(tokenFor(path))
  return claims
}

test('a token is for its path and what is below it', () => {
  const claims = claimsFor('Shop/orders')
  for (const path of ['shop/orders', 'SHOP/Orders', 'shop/orders/$management', 'shop/orders/a/b']) {
    expect(claims.permits('Listen', path)).toBe(true)
  }
  for (const path of ['', 'shop', 'shop/order', 'shop/ordersx', 'other/shop/orders', '/']) {
    expect(claims.permits('Listen', path)).toBe(false)
  }
  expect(claims.permits('Send', 'shop/orders')).toBe(false)
  expect(claimsFor('').permits('Listen', 'any/path')).toBe(true)
})

test('a client with a thousand tokens is judged by those alone that can be for a path', () => {
  const claims = claimsFor(...Array.from({ length: 1000 }, (_, n) => `queue-${n}`))
  const looked = vi.spyOn(String.prototype, 'startsWith')
  const found = ['queue-7/$management', 'queue-999', 'other/a'].map((path) =>
    claims.permits('Listen', path),
  )
  const looks = looked.mock.calls.length
  looked.mockRestore()
  expect(found).toEqual([true, true, false])
  expect(looks).toBeLessThan(10)
})
