import { connect, type Socket } from 'node:net'
import { once } from 'node:events'
import { signature, signedText } from '../authorization/signature.ts'
import { resourcePath } from '../protocol/resource-path.ts'
import { TEST_KEY } from './running-gateway.fixture.ts'

/** Headers that a client would sign a request with. */
export function signedHeaders(
  method: string,
  target: string,
  { key = TEST_KEY, at = new Date() }: { key?: string; at?: Date } = {},
): Readonly<Record<string, string>> {
  const msDate = at.toUTCString()
  const { resourceType, resourceLink } = resourcePath(target)
  const text = signedText({ method, resourceType, resourceLink, msDate, date: '' })
  const sig = signature(text, Buffer.from(key, 'base64')).toString('base64')
  return {
    'x-ms-date': msDate,
    'x-ms-version': '2020-07-15',
    authorization: encodeURIComponent(`type=master&ver=1.0&sig=${sig}`),
  }
}

/** A signed request by fetch. */
export async function send(
  endpoint: string,
  method: string,
  target: string,
  {
    headers = {},
    body,
    signal,
    ...sign
  }: {
    headers?: Record<string, string>
    body?: unknown
    key?: string
    at?: Date
    signal?: AbortSignal | undefined
  } = {},
): Promise<{ readonly status: number; readonly headers: Headers; readonly json: unknown }> {
  const response = await fetch(endpoint.replace(/\/$/, '') + target, {
    method,
    headers: { ...signedHeaders(method, target, sign), ...headers },
    ...(signal !== undefined && { signal }),
    ...(body !== undefined && {
      body: typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body),
    }),
  })
  const text = await response.text()
  return {
    status: response.status,
    headers: response.headers,
    json: text === '' ? undefined : JSON.parse(text),
  }
}

/** Bytes sent as they are; what came back until the server closed the connection. */
export async function sendRaw(port: number, text: string): Promise<string> {
  const socket = await rawSocket(port)
  socket.write(text)
  return received(socket)
}

/** @param from an address of this machine: on Linux any of 127.0.0.0/8 */
export async function rawSocket(port: number, from = '127.0.0.1'): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1', localAddress: from })
  await once(socket, 'connect')
  return socket
}

/** A signed request without a body, as bytes. */
export function rawRequest(
  method: string,
  target: string,
  { headers = {}, ...sign }: { headers?: Record<string, string>; key?: string } = {},
): string {
  const all = { host: 'localhost', ...signedHeaders(method, target, sign), ...headers }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  return `${method} ${target} HTTP/1.1\r\n${lines.join('')}\r\n`
}

export async function received(socket: Socket): Promise<string> {
  const chunks: Buffer[] = []
  socket.on('data', (chunk: Buffer) => chunks.push(chunk))
  socket.on('error', () => {})
  if (!socket.closed) await once(socket, 'close')
  return Buffer.concat(chunks).toString()
}
