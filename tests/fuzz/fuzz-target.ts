import { Agent } from 'node:http'
import {
  ServingProcess,
  type ServingOptions,
  type ServerUsage,
} from '../gateway/serving-process.ts'
import { signedHeaders } from '../gateway/signed-request.ts'
import type { FuzzOutcome } from './fuzz-outcome.ts'
import type { FuzzRequest } from './fuzz-request.ts'
import { FUZZ } from './generate/signed-requests.ts'
import { sendRaw } from './send-raw.ts'
import { sendSigned } from './send-signed.ts'

/** A request that takes longer hangs. The server itself gives up after the half of it. */
const HANG_MS = 20_000
const SERVER_ARGS = ['--request-timeout', '10', '--max-wait', '1']
/** A good request is over in milliseconds; the machine may be busy. */
const GOOD_REQUEST_MS = 10_000

/** A server under fuzz, with documents of its own that must come out of it unharmed. */
export class FuzzTarget implements AsyncDisposable {
  readonly server: ServingProcess
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 64 })
  #turn = 0

  private constructor(server: ServingProcess) {
    this.server = server
  }

  static async start(options: ServingOptions): Promise<FuzzTarget> {
    const server = await ServingProcess.start({ ...options, args: SERVER_ARGS })
    const target = new FuzzTarget(server)
    try {
      await target.#expect('POST', '/dbs', { body: { id: 'good' } })
      const body = { id: 'items', partitionKey: { paths: ['/pk'] } }
      await target.#expect('POST', '/dbs/good/colls', { body })
      await target.renew()
    } catch (error) {
      await server.kill()
      throw error
    }
    return target
  }

  send(request: FuzzRequest): Promise<FuzzOutcome> {
    const options = { agent: this.#agent, port: this.server.port, timeoutMs: HANG_MS }
    return request.kind === 'raw' ? sendRaw(request, options) : sendSigned(request, options)
  }

  /** Creates the containers again that requests go to, so that what they leave behind does not add up. */
  async renew(): Promise<void> {
    const database = `/dbs/${FUZZ.database}`
    await this.#call('DELETE', database)
    await this.#expect('POST', '/dbs', { body: { id: FUZZ.database } })
    const paths = { partitionKey: { paths: ['/pk'], kind: 'Hash', version: 2 } }
    const definitions = [
      { id: FUZZ.plain, ...paths },
      { id: FUZZ.split, defaultTtl: -1, partitionKey: { paths: ['/pk'] } },
      { id: FUZZ.versions, ...paths, changeFeedPolicy: { retentionDuration: 10 } },
    ]
    for (const body of definitions) {
      const headers = { 'x-ms-offer-throughput': body.id === FUZZ.split ? '20000' : '400' }
      await this.#expect('POST', `${database}/colls`, { body, headers })
    }
  }

  /** Writes, reads and finds a document of its own; rejects when one of it fails, is wrong or takes long. */
  async check(): Promise<void> {
    const turn = ++this.#turn
    const documents = '/dbs/good/colls/items/docs'
    const key = { 'x-ms-documentdb-partitionkey': '["good"]' }
    const body = { id: 'good', pk: 'good', turn }
    const upsert = { ...key, 'x-ms-documentdb-is-upsert': 'true' }
    await this.#expect('POST', documents, { body, headers: upsert })
    const read = await this.#expect('GET', `${documents}/good`, { headers: key })
    const headers = { ...key, 'x-ms-documentdb-isquery': 'true' }
    const query = { query: 'SELECT VALUE c.turn FROM c WHERE c.id = "good"' }
    const found = await this.#expect('POST', documents, { body: query, headers })
    const answer: unknown = Reflect.get(read, 'turn')
    const documentsFound: unknown = Reflect.get(found, 'Documents')
    if (answer !== turn || JSON.stringify(documentsFound) !== `[${turn}]`) {
      throw new Error(
        `a good document is ${JSON.stringify(read)}, found as ${JSON.stringify(found)}; expected turn ${turn}`,
      )
    }
  }

  /** What the server holds once all clients have left. */
  async usage(): Promise<ServerUsage> {
    this.#agent.destroy()
    await this.check()
    this.#agent.destroy()
    return this.server.usage(GOOD_REQUEST_MS)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#agent.destroy()
    await this.server.kill()
  }

  async #expect(method: string, path: string, call: Call): Promise<object> {
    const answer = await this.#call(method, path, call)
    const text = await answer.text()
    if (!answer.ok)
      throw new Error(`a good ${method} ${path} is answered ${answer.status}: ${text}`)
    return JSON.parse(text) as object
  }

  async #call(method: string, path: string, { headers, body }: Call = {}): Promise<Response> {
    try {
      return await fetch(new URL(path, this.server.endpoint), {
        method,
        headers: { ...signedHeaders({ method, path }), ...headers },
        body: body === undefined ? null : JSON.stringify(body),
        signal: AbortSignal.timeout(GOOD_REQUEST_MS),
      })
    } catch (cause) {
      throw new Error(`a good ${method} ${path} is not answered`, { cause })
    }
  }
}

interface Call {
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: object
}
