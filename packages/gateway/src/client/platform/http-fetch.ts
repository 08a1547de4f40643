import { request as httpRequest, type IncomingMessage } from 'node:http'
import { request as httpsRequest } from 'node:https'

/** What is needed of `fetch`; the global one fits. */
export type HttpFetch = (
  url: string,
  request: {
    readonly method: string
    readonly headers: Record<string, string>
    readonly body?: string
    readonly signal: AbortSignal
  },
) => Promise<HttpResponse>

/** What is needed of its answer. A global `fetch` bounds no text: a server that is not yours can fill the memory. */
export interface HttpResponse {
  readonly status: number
  readonly headers: { get(name: string): string | null }
  text(): Promise<string>
}

/** Above what a gateway answers at once, and below the longest text of V8, which would end the process. */
const MAX_ANSWER_BYTES = 500 * 1024 * 1024

/** By Node's own client, which keeps connections alive. It takes less processor time than the global `fetch`. */
export const systemFetch: HttpFetch = fetchUpTo(MAX_ANSWER_BYTES)

/** Texts of answers reject with AnswerTooLargeError above so many bytes. */
export function fetchUpTo(maxBytes: number): HttpFetch {
  return (url, request) => exchange(url, request, maxBytes)
}

function exchange(
  url: string,
  { method, headers, body, signal }: Parameters<HttpFetch>[1],
  maxBytes: number,
): Promise<HttpResponse> {
  const { promise, resolve, reject } = Promise.withResolvers<HttpResponse>()
  const send = url.startsWith('https:') ? httpsRequest : httpRequest
  const length = body === undefined ? {} : { 'content-length': Buffer.byteLength(body) }
  const request = send(url, { method, headers: { ...headers, ...length }, signal })
  request.on('error', reject)
  request.once('response', (response) => {
    response.on('error', reject)
    const { statusCode: status = 0 } = response
    const get = (name: string): string | null => {
      const value = response.headers[name]
      return Array.isArray(value) ? value.join(', ') : (value ?? null)
    }
    resolve({ status, headers: { get }, text: () => textOf(response, maxBytes) })
  })
  request.end(body)
  return promise
}

/** Rejects when the connection ends before the text does, and with AnswerTooLargeError. */
async function textOf(response: IncomingMessage, maxBytes: number): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  const pieces: Buffer[] = []
  let bytes = 0
  response.on('data', (piece: Buffer) => {
    bytes += piece.length
    if (bytes <= maxBytes) pieces.push(piece)
    else response.destroy(new AnswerTooLargeError(maxBytes))
  })
  response.on('error', reject)
  response.once('end', () => resolve(joinedText(pieces)))
  return promise
}

/** A text of this size is put together in memory that is kept: new memory for each page makes V8 collect garbage far more often. */
const JOINED_BYTES = 4 * 1024 * 1024
let joined: Buffer | undefined

function joinedText(pieces: readonly Buffer[]): string {
  const [only] = pieces
  if (pieces.length === 1 && only !== undefined) return only.toString()
  const bytes = pieces.reduce((sum, { length }) => sum + length, 0)
  if (bytes > JOINED_BYTES) return Buffer.concat(pieces, bytes).toString()
  joined ??= Buffer.allocUnsafeSlow(JOINED_BYTES)
  let at = 0
  for (const piece of pieces) at += piece.copy(joined, at)
  return joined.toString('utf8', 0, bytes)
}

/** Asking again would bring the same answer. */
export class AnswerTooLargeError extends Error {
  constructor(maxBytes: number) {
    super(`the answer has more than ${maxBytes} bytes`)
  }
}

/** An instant as HTTP writes it. */
export function httpDate(epochMs: number): string {
  return new Date(epochMs).toUTCString()
}
