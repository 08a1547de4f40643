import assert from 'node:assert/strict'
import { once } from 'node:events'
import {
  createServer,
  request as httpRequest,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import type { Clock } from '@tidemark/contracts'
import type { JsonRecord } from '@tidemark/contracts/internal'

/** What is asked, as faults see it. */
export interface AskedRequest {
  readonly method: string
  readonly path: string
  readonly header: (name: string) => string | undefined
}

/** What happens to a request instead of its answer, or before it. */
export interface Fault {
  readonly status?: number
  readonly substatus?: number
  readonly retryAfterMs?: number
  /** How long the answer is held back. */
  readonly delayMs?: number
  /** Of the operations of a batch, of which none is done. */
  readonly batch?: readonly JsonRecord[]
  /** Of the answer, besides its own. */
  readonly headers?: Readonly<Record<string, string>>
  /** The request is served, and the connection breaks before its answer. */
  readonly answer?: 'lost'
}

/**
 * Our gateway as an account that knows nothing of us: no header of ours reaches it, or comes back from it. Requests can be
 * given faults on the way.
 */
export class PlainAccount implements AsyncDisposable {
  readonly endpoint: string
  /** Every request that came, in order. */
  readonly asked: AskedRequest[] = []
  /** The fault of a request, if it has one. */
  fault: ((request: AskedRequest) => Fault | undefined) | undefined
  /** Told of requests that the gateway did not answer. */
  onFailure: (() => void) | undefined
  /** Number of requests that had a fault. */
  faults = 0
  readonly #server: Server

  private constructor(server: Server, endpoint: string) {
    this.#server = server
    this.endpoint = endpoint
  }

  /** The date of its answers is `clock`'s: to the ms, for suites that step a clock by less than HTTP can say. */
  static async before(
    gateway: string,
    clock: Pick<Clock, 'wallMs'> = { wallMs: Date.now },
  ): Promise<PlainAccount> {
    const server = createServer((incoming, outgoing) => {
      account.#pass(incoming, outgoing, { gateway, clock }).catch(() => {
        account.onFailure?.()
        outgoing.destroy()
      })
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const account = new PlainAccount(server, `http://127.0.0.1:${port}/`)
    return account
  }

  /** The next `times` requests of a kind have a fault. */
  failNext(times: number, of: (request: AskedRequest) => boolean, fault: Fault): void {
    let left = times
    this.fault = (request) => (left > 0 && of(request) && left-- > 0 ? fault : undefined)
  }

  async #pass(
    incoming: IncomingMessage,
    outgoing: ServerResponse,
    { gateway, clock }: { readonly gateway: string; readonly clock: Pick<Clock, 'wallMs'> },
  ): Promise<void> {
    const own = Object.keys(incoming.headers).filter((name) => name.startsWith('x-tidemark-'))
    assert.deepEqual(own, [], 'an account is asked for something of our own')
    const { method = 'GET', url = '/' } = incoming
    const body = await bytesOf(incoming)
    const header = (name: string): string | undefined => incoming.headers[name]?.toString()
    const asked = { method, path: url, header }
    this.asked.push(asked)
    const fault = this.fault?.(asked)
    if (fault !== undefined) this.faults++
    if (fault?.delayMs !== undefined) await delay(fault.delayMs, undefined, { ref: false })
    if (fault?.status !== undefined) {
      outgoing.writeHead(fault.status, {
        date: new Date(clock.wallMs()).toUTCString(),
        'content-type': 'application/json',
        ...(fault.substatus !== undefined && { 'x-ms-substatus': fault.substatus }),
        ...(fault.retryAfterMs !== undefined && { 'x-ms-retry-after-ms': fault.retryAfterMs }),
      })
      outgoing.end(JSON.stringify({ code: 'Injected', message: 'a fault of the test' }))
      return
    }
    if (fault?.batch !== undefined) {
      outgoing.writeHead(207, {
        date: new Date(clock.wallMs()).toUTCString(),
        'content-type': 'application/json',
      })
      outgoing.end(JSON.stringify(fault.batch))
      return
    }
    const { hostname, port } = new URL(gateway)
    const request = httpRequest({ hostname, port, method, path: url, headers: incoming.headers })
    request.end(body)
    const [answer] = (await once(request, 'response')) as [IncomingMessage]
    const answered = await bytesOf(answer)
    if (fault?.answer === 'lost') {
      outgoing.destroy()
      return
    }
    const headers = Object.fromEntries(
      Object.entries(answer.headers).filter(([name]) => !name.startsWith('x-tidemark-')),
    )
    Object.assign(headers, fault?.headers)
    delete headers['transfer-encoding']
    const nowMs = clock.wallMs()
    const ms = String(nowMs % 1000).padStart(3, '0')
    headers['date'] = new Date(nowMs).toUTCString().replace(' GMT', `.${ms} GMT`)
    outgoing.writeHead(answer.statusCode ?? 500, headers)
    outgoing.end(answered)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.close()
    this.#server.closeAllConnections()
    await once(this.#server, 'close')
  }
}

/** A read of the feed of documents. */
export function isFeedRead({ header }: AskedRequest): boolean {
  return header('a-im') !== undefined
}

async function bytesOf(stream: IncomingMessage): Promise<Buffer> {
  const pieces: Buffer[] = []
  for await (const piece of stream) pieces.push(piece as Buffer)
  return Buffer.concat(pieces)
}
