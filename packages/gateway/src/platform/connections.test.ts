import { EventEmitter } from 'node:events'
import type { Socket } from 'node:net'
import { expect, test } from 'vitest'
import { Connections, shareOf } from './connections.ts'

let port = 1

/** A socket as far as connections look at it. */
function socketOf(remoteAddress: string): Socket {
  const socket = Object.assign(new EventEmitter(), {
    remoteAddress,
    remotePort: port++,
    destroyed: false,
    destroy: () => {
      if (socket.destroyed) return
      socket.destroyed = true
      // Later, as of a real one, which has forgotten its address by then.
      Object.assign(socket, { remoteAddress: undefined, remotePort: undefined })
      queueMicrotask(() => socket.emit('close'))
    },
  })
  return socket as unknown as Socket
}

function connectionsOf(limits: { all?: number; ofOne?: number; pipelined?: number }): Connections {
  return new Connections({
    maxConnections: limits.all ?? 100,
    maxConnectionsOfOne: limits.ofOne ?? 100,
    maxPipelinedRequests: limits.pipelined ?? 100,
  })
}

function admitted(connections: Connections, count: number, address = '192.0.2.1'): Socket[] {
  return Array.from({ length: count }, () => {
    const socket = socketOf(address)
    connections.admit(socket)
    return socket
  })
}

const closed = (sockets: readonly Socket[]): readonly boolean[] =>
  sockets.map(({ destroyed }) => destroyed)

test('where it is full, the stranger that came first gives way; those who are known stay', () => {
  const connections = connectionsOf({ all: 4 })
  const [known, first, second, third] = admitted(connections, 4)
  connections.know(known!, undefined)
  const [late] = admitted(connections, 1, '192.0.2.9')
  expect(closed([known!, first!, second!, third!, late!])).toEqual([
    false,
    true,
    false,
    false,
    false,
  ])
})

test('where everybody is known, a new connection is closed, until one of them leaves', async () => {
  const connections = connectionsOf({ all: 2 })
  const present = admitted(connections, 2)
  for (const socket of present) connections.know(socket, undefined)
  expect(closed(admitted(connections, 1))).toEqual([true])
  expect(closed(present)).toEqual([false, false])
  present[0]!.destroy()
  await Promise.resolve()
  expect(closed(admitted(connections, 1))).toEqual([false])
})

test('one address has its share, and loses strangers of its own for more of them', () => {
  const connections = connectionsOf({ all: 10, ofOne: 2 })
  const others = admitted(connections, 2, '192.0.2.2')
  const [known, stranger, late] = admitted(connections, 3)
  expect(closed([known!, stranger!, late!])).toEqual([true, false, false])
  connections.know(stranger!, undefined)
  connections.know(late!, undefined)
  expect(closed(admitted(connections, 1))).toEqual([true])
  expect(closed([...others, stranger!, late!])).toEqual([false, false, false, false])
})

test('a flood of one address leaves the others theirs, and nothing is left of it', async () => {
  const connections = connectionsOf({ all: 10, ofOne: 5 })
  const others = admitted(connections, 5, '192.0.2.2')
  const flood = admitted(connections, 1000)
  expect(closed(others)).not.toContain(true)
  expect(closed(flood).filter((isClosed) => !isClosed)).toHaveLength(5)
  for (const socket of flood) socket.destroy()
  await Promise.resolve()
  const again = admitted(connections, 5)
  for (const socket of again) connections.know(socket, undefined)
  expect(closed([...others, ...again])).not.toContain(true)
})

test('a flood gives way to itself before it ends a new connection of somebody else', () => {
  const connections = connectionsOf({ all: 10, ofOne: 8 })
  const [other] = admitted(connections, 1, '192.0.2.2')
  const flood = ['192.0.2.1', '192.0.2.3'].flatMap((address) => admitted(connections, 100, address))
  expect(closed([other!])).toEqual([false])
  expect(closed(flood).filter((isClosed) => !isClosed)).toHaveLength(9)
  // An address that nothing can be taken from gets room from those who came first.
  expect(closed(admitted(connections, 1, '192.0.2.4'))).toEqual([false])
})

test('addresses of one IPv6 network are one client', () => {
  const connections = connectionsOf({ ofOne: 2 })
  const sockets = ['2001:db8::1', '2001:db8::2', '2001:db8::3', '2001:db8:0:1::1'].map((address) =>
    admitted(connections, 1, address),
  )
  expect(closed(sockets.flat())).toEqual([true, false, false, false])
})

test('a key that may only read has its share from however many addresses', async () => {
  const connections = connectionsOf({ all: 10, ofOne: 2 })
  const key = {}
  const sockets = ['192.0.2.1', '192.0.2.2', '192.0.2.3'].flatMap((address) =>
    admitted(connections, 1, address),
  )
  for (const socket of sockets) connections.know(socket, key)
  // The same again of one that is counted changes nothing.
  connections.know(sockets[0]!, key)
  expect(closed(sockets)).toEqual([false, false, true])
  const [other] = admitted(connections, 1, '192.0.2.4')
  connections.know(other!, undefined)
  expect(closed([other!])).toEqual([false])
  sockets[0]!.destroy()
  await Promise.resolve()
  const [again] = admitted(connections, 1, '192.0.2.5')
  connections.know(again!, key)
  expect(closed([again!])).toEqual([false])
})

test('a client that sends requests without waiting for answers is cut off', () => {
  const connections = connectionsOf({ pipelined: 2 })
  const [socket] = admitted(connections, 1)
  const answers = [new EventEmitter(), new EventEmitter()]
  expect(answers.map((answer) => connections.begin(socket!, answer))).toEqual([true, true])
  answers[0]!.emit('close')
  expect(connections.begin(socket!, new EventEmitter())).toBe(true)
  expect(socket!.destroyed).toBe(false)
  expect(connections.begin(socket!, new EventEmitter())).toBe(false)
  expect(socket!.destroyed).toBe(true)
  // Of a connection that is closed nothing is served.
  expect(connections.begin(socket!, new EventEmitter())).toBe(false)
})

test('a connection that was gone before it was looked at counts nowhere', () => {
  const connections = connectionsOf({ all: 1 })
  const gone = Object.assign(socketOf(''), { remoteAddress: undefined, remotePort: undefined })
  connections.admit(gone)
  const [socket] = admitted(connections, 1)
  expect(closed([gone, socket!])).toEqual([true, false])
})

test('a share is at least one', () => {
  expect([shareOf(10, 0.5), shareOf(5, 0.5), shareOf(1, 0.5), shareOf(7, 1)]).toEqual([5, 2, 1, 7])
})
