import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { openMessaging, type MessageBroker } from '@tidemark/messaging'
import { ALL_RIGHTS, type AccessPolicy } from '@tidemark/messaging/front'
import { openMemoryStore } from '@tidemark/testing'
import type { AdminFailure } from './admin-service.ts'
import {
  startAdminServer,
  type AdminServerOptions,
  type RunningAdminServer,
} from './start-admin-server.ts'

export const KEY = 'a key of our own'
export const ROOT: AccessPolicy = { name: 'Root', keys: [KEY], rights: ALL_RIGHTS }
export const EMULATOR: AccessPolicy = { ...ROOT, keys: ['SAS_KEY_VALUE'] }

export interface RunningAdmin extends AsyncDisposable {
  readonly broker: MessageBroker
  readonly server: RunningAdminServer
  readonly failures: readonly AdminFailure[]
  /** With a token for the path, unless another Authorization header is given. */
  send(method: string, path: string, options?: SendOptions): Promise<Sent>
}

export interface SendOptions {
  readonly body?: string | Uint8Array<ArrayBuffer> | undefined
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** Undefined: without one. */
  readonly token?: string | undefined
}

export interface Sent {
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

export async function runningAdmin(
  options: Partial<AdminServerOptions> = {},
): Promise<RunningAdmin> {
  const store = await openMemoryStore()
  const broker = openMessaging(await store.createDatabaseIfNotExists('shop'))
  const failures: AdminFailure[] = []
  const close = async (): Promise<void> => {
    await broker.close()
    await store.close()
  }
  try {
    const server = await startAdminServer({
      broker,
      policies: [ROOT],
      port: 0,
      onFailure: (failure) => failures.push(failure),
      ...options,
    })
    return {
      broker,
      server,
      failures,
      send: (method, path, given = {}) => send(server, { method, path, given }),
      [Symbol.asyncDispose]: async () => {
        await server.stop()
        await close()
      },
    }
  } catch (error) {
    await close()
    throw error
  }
}

export function sasToken(
  resource: string,
  {
    key = KEY,
    name = 'Root',
    expiresS = Math.floor(Date.now() / 1000) + 300,
  }: { readonly key?: string; readonly name?: string; readonly expiresS?: number } = {},
): string {
  const sr = encodeURIComponent(resource)
  const signature = createHmac('sha256', key).update(`${sr}\n${expiresS}`).digest('base64')
  return `SharedAccessSignature sr=${sr}&sig=${encodeURIComponent(signature)}&se=${expiresS}&skn=${name}`
}

/** An ATOM entry with this description as content. */
export function entryOf(description: string): string {
  return `<entry xmlns="http://www.w3.org/2005/Atom"><content type="application/xml">${description}</content></entry>`
}

/** A connection that has sent this. */
export async function rawSocket(port: number, text: string): Promise<Socket> {
  const socket = connect(port, '127.0.0.1')
  await once(socket, 'connect')
  socket.write(text)
  return socket
}

/** Everything that comes back by the connection's end. */
export async function received(socket: Socket): Promise<string> {
  const chunks: string[] = []
  socket.setEncoding('utf8')
  socket.on('data', (chunk: string) => chunks.push(chunk))
  // A server that does not want to read more may cut the connection.
  socket.on('error', () => {})
  await new Promise((resolve) => socket.once('close', resolve))
  return chunks.join('')
}

async function send(
  { endpoint }: RunningAdminServer,
  {
    method,
    path,
    given,
  }: { readonly method: string; readonly path: string; readonly given: SendOptions },
): Promise<Sent> {
  const url = endpoint + path
  const token = 'token' in given ? given.token : sasToken(url)
  const answer = await fetch(url, {
    method,
    headers: { ...(token === undefined ? {} : { authorization: token }), ...given.headers },
    ...(given.body === undefined ? {} : { body: given.body }),
  })
  return { status: answer.status, headers: answer.headers, text: await answer.text() }
}
