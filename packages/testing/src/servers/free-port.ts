import { once } from 'node:events'
import { createServer } from 'node:net'

/** A Redis cluster node also listens on its port + 10,000, which has to be a port too. */
const HIGHEST_PORT = 55_000

/** A TCP port of the loopback interface that nobody listened on a moment ago. */
export async function freePort(): Promise<number> {
  for (;;) {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    const address = server.address()
    server.close()
    await once(server, 'close')
    if (typeof address === 'object' && address !== null && address.port < HIGHEST_PORT) {
      return address.port
    }
  }
}
