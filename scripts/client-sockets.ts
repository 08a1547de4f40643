import { subscribe } from 'node:diagnostics_channel'
import { Socket } from 'node:net'

// Set-up of every test file. The official client of Service Bus leaves Nagle's algorithm on, and Linux acknowledges 40 ms late
// what the server does not answer. Its tests would wait for that most of their time.
const SEEN = Symbol.for('tidemark.client-sockets')
// Set-up runs again for each file, in a process that keeps its globals.
if (!Reflect.has(globalThis, SEEN)) {
  Reflect.set(globalThis, SEEN, true)
  subscribe('net.client.socket', (message) => {
    const socket: unknown = Reflect.get(Object(message), 'socket')
    if (socket instanceof Socket) socket.setNoDelay(true)
  })
}
