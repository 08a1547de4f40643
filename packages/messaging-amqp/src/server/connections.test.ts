import { expect, test } from 'vitest'
import type { ClientConnection } from '../connections/client-connection.ts'
import { Connections } from './connections.ts'

class Fake {
  readonly isKnown: boolean
  isDestroyed = false

  constructor(isKnown: boolean) {
    this.isKnown = isKnown
  }

  destroy(): void {
    this.isDestroyed = true
  }
}

/** Each is in the set as a connection that is asked for these two only. */
function add(connections: Connections, address: string, isKnown = false): Fake {
  const fake = new Fake(isKnown)
  connections.add(fake as unknown as ClientConnection, address)
  return fake
}

test('the oldest stranger of the address with the most strangers gives way', () => {
  const connections = new Connections(5)
  add(connections, 'a', true)
  const alone = add(connections, 'b')
  expect(connections.makeRoom()).toBe(true)
  const oldest = add(connections, 'c')
  const others = [add(connections, 'c'), add(connections, 'c')]
  expect(connections.makeRoom()).toBe(true)
  expect(oldest.isDestroyed).toBe(true)
  expect([alone, ...others].map(({ isDestroyed }) => isDestroyed)).toEqual([false, false, false])
})

test('clients that have shown a key stay, and then there is no room', () => {
  const connections = new Connections(1)
  const known = add(connections, 'a', true)
  expect(connections.makeRoom()).toBe(false)
  expect(known.isDestroyed).toBe(false)
})
