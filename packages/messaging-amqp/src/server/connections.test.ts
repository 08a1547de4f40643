import { expect, test } from 'vitest'
import type { ClientConnection } from '../connections/client-connection.ts'
import { Connections } from './connections.ts'

class Fake {
  isDestroyed = false

  destroy(): void {
    this.isDestroyed = true
  }
}

/** Each is in the set as a connection that can be destroyed. */
function add(connections: Connections, address: string, isKnown = false): Fake {
  const fake = new Fake()
  const connection = fake as unknown as ClientConnection
  connections.add(connection, address)
  if (isKnown) connections.know(connection)
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

test('strangers have as many sessions as were announced, unless they are many', () => {
  const connections = new Connections(10_000)
  for (let known = 0; known < 100; known++) add(connections, 'a', true)
  add(connections, 'b')
  expect(connections.strangerSessions()).toBe(1_000)
  for (let more = 0; more < 999; more++) add(connections, 'b')
  expect(connections.strangerSessions()).toBe(64)
  for (let more = 0; more < 8_000; more++) add(connections, 'b')
  expect(connections.strangerSessions()).toBe(16)
})
