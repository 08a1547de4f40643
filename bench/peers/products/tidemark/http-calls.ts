import { Agent, request as httpRequest, type IncomingHttpHeaders } from 'node:http'
import { signedHeaders } from './signed-headers.ts'

export interface HttpCall {
  readonly method: string
  readonly path: string
  readonly headers?: Readonly<Record<string, string>> | undefined
  readonly body?: string | undefined
}

export interface HttpReply {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
}

/** Signed requests over connections that are kept, and nothing of a client library around them. */
export class HttpCalls implements Disposable {
  readonly #agent: Agent
  readonly #host: string
  readonly #port: number

  constructor(endpoint: string, { connections }: { readonly connections: number }) {
    const { hostname, port } = new URL(endpoint)
    this.#host = hostname
    this.#port = Number(port)
    this.#agent = new Agent({ keepAlive: true, maxSockets: connections })
  }

  /** Rejects unless the answer is one of success, or 304. */
  call({ method, path, headers, body }: HttpCall): Promise<HttpReply> {
    const { promise, resolve, reject } = Promise.withResolvers<HttpReply>()
    const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) }
    const outgoing = httpRequest(
      {
        agent: this.#agent,
        host: this.#host,
        port: this.#port,
        method,
        path,
        headers: { ...signedHeaders(method, path), ...headers, ...length },
      },
      (incoming) => {
        const pieces: Buffer[] = []
        incoming.on('data', (piece: Buffer) => pieces.push(piece))
        incoming.on('error', reject)
        incoming.on('end', () => {
          const { statusCode: status = 0 } = incoming
          const whole = Buffer.concat(pieces)
          if (status < 300 || status === 304)
            resolve({ status, headers: incoming.headers, body: whole })
          else reject(new Error(`${method} ${path} was answered ${status}: ${whole.toString()}`))
        })
      },
    )
    outgoing.on('error', reject)
    outgoing.end(body)
    return promise
  }

  [Symbol.dispose](): void {
    this.#agent.destroy()
  }
}
