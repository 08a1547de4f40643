import { connect, type Socket } from 'node:net'
import { connect as connectSecurely } from 'node:tls'
import type { PostgresClient } from '../postgres-pool.ts'

const SSL_REQUEST = Buffer.from([0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f])

/**
 * Asks the server to cancel the statement of `client`, over a separate connection as the protocol requires. Resolves
 * with true when the server has accepted it, so that it cannot hit a later statement of `client`. Resolves with false
 * when the request was not possible within `timeoutMs`.
 */
export async function requestCancel(
  client: PostgresClient,
  { timeoutMs }: { timeoutMs: number },
): Promise<boolean> {
  const { processID, secretKey, host, port, ssl } = client
  if (typeof processID !== 'number' || typeof secretKey !== 'number') return false
  if (host === undefined || port === undefined) return false
  const socket = host.startsWith('/') ? connect(`${host}/.s.PGSQL.${port}`) : connect(port, host)
  try {
    socket.setTimeout(timeoutMs, () => socket.destroy(new Error('timeout')))
    await once(socket, 'connect')
    const channel =
      ssl === undefined || ssl === false ? socket : await secured(socket, { host, ssl })
    const ended = once(channel, 'close')
    const request = Buffer.alloc(16)
    request.writeInt32BE(16, 0)
    request.writeInt32BE(80_877_102, 4)
    request.writeInt32BE(processID, 8)
    request.writeInt32BE(secretKey, 12)
    channel.write(request)
    channel.resume()
    // The server closes without an answer once it has sent the signal.
    await ended
    return true
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}

async function secured(
  socket: Socket,
  { host, ssl }: { host: string; ssl: unknown },
): Promise<Socket> {
  socket.write(SSL_REQUEST)
  const answer = await new Promise<Buffer>((resolve, reject) => {
    socket.once('data', resolve)
    socket.once('error', reject)
    socket.once('close', () => reject(new Error('closed')))
  })
  if (answer.toString('latin1') !== 'S') throw new Error('the server refused TLS')
  const options = typeof ssl === 'object' && ssl !== null ? ssl : {}
  const servername = host.startsWith('/') ? '' : host
  const channel = connectSecurely({ servername, ...options, socket })
  await once(channel, 'secureConnect')
  return channel
}

function once(socket: Socket, event: 'connect' | 'secureConnect' | 'close'): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.once(event, () => resolve())
    socket.once('error', reject)
    if (event !== 'close') socket.once('close', () => reject(new Error('closed')))
  })
}
