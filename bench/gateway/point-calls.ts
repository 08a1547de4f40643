import { join } from 'node:path'
import { customerOf, orderDocument, orderId } from '../data/order-document.ts'
import { BenchChild } from '../measuring/child-process.ts'
import type { PreparedScenario, Scenario } from '../measuring/scenario.ts'
import { rateOfConcurrent } from '../measuring/stopwatch.ts'
import type { VercelReply } from './children/vercel-server.child.ts'
import { DOCUMENTS_PATH } from './feed-pages.ts'
import { ServerProcess } from './gateway-process.ts'
import { HttpCalls } from './http-calls.ts'

const CONNECTIONS = 32
const LOADED = 1_000
const VERCEL = '@vercel/cosmosdb-server: in memory, no signatures checked'
const OURS = 'the gateway on a folder'

/** Reads by id and creates over 32 connections; the client is this process, each server one of its own. */
export const pointCalls: Scenario = {
  name: 'gateway-points',
  measures: [
    { name: 'gateway.read', unit: 'requests/s', rawIs: VERCEL },
    { name: 'gateway.create', unit: 'requests/s', rawIs: `${VERCEL}; ours is durable` },
    { name: 'gateway.create.memory', unit: 'requests/s', rawIs: `${VERCEL}; ours in memory, too` },
    { name: 'gateway.vercel.read', unit: 'requests/s', rawIs: OURS },
    { name: 'gateway.vercel.create', unit: 'requests/s', rawIs: `${OURS}, durable` },
  ],
  async prepare({ folder }): Promise<PreparedScenario> {
    const server = await ServerProcess.gateway(join(folder, 'store'))
    const inMemory = await ServerProcess.gateway()
    const vercel = await BenchChild.start<object, VercelReply>(
      new URL('children/vercel-server.child.ts', import.meta.url),
    )
    const ours = await PointClient.start(server.endpoint)
    const memory = await PointClient.start(inMemory.endpoint)
    const peer = await PointClient.start((await vercel.call({})).endpoint)
    return {
      async ours(seconds) {
        return {
          'gateway.read': await ours.readRate(seconds),
          'gateway.create': await ours.createRate(seconds),
          'gateway.create.memory': await memory.createRate(seconds),
          'gateway.vercel.read': await peer.readRate(seconds),
          'gateway.vercel.create': await peer.createRate(seconds),
        }
      },
      async raw(seconds) {
        const [read, create] = [await peer.readRate(seconds), await peer.createRate(seconds)]
        return {
          'gateway.read': read,
          'gateway.create': create,
          'gateway.create.memory': create,
          'gateway.vercel.read': await ours.readRate(seconds),
          'gateway.vercel.create': await ours.createRate(seconds),
        }
      },
      async [Symbol.asyncDispose]() {
        for (const client of [ours, memory, peer]) client[Symbol.dispose]()
        await vercel[Symbol.asyncDispose]()
        await server[Symbol.asyncDispose]()
        await inMemory[Symbol.asyncDispose]()
      },
    }
  },
}

/** Calls a server of the protocol that has the orders 0 to `LOADED`. */
class PointClient implements Disposable {
  readonly #calls: HttpCalls
  #turn = 0
  #next = LOADED

  private constructor(calls: HttpCalls) {
    this.#calls = calls
  }

  static async start(endpoint: string): Promise<PointClient> {
    const calls = new HttpCalls(endpoint, { connections: CONNECTIONS })
    const make = (path: string, body: object): Promise<unknown> =>
      calls.call({ method: 'POST', path, body: JSON.stringify(body), headers: JSON_BODY })
    await make('/dbs', { id: 'shop' })
    const partitionKey = { paths: ['/customerId'], kind: 'Hash', version: 2 }
    await make('/dbs/shop/colls', { id: 'orders', partitionKey })
    const client = new PointClient(calls)
    for (let index = 0; index < LOADED; index++) await client.#create(index)
    return client
  }

  async readRate(seconds: number): Promise<number> {
    const { perSecond } = await rateOfConcurrent(
      async () => {
        this.#turn = (this.#turn + 7_919) % LOADED
        const path = `${DOCUMENTS_PATH}/${orderId(this.#turn)}`
        await this.#calls.call({ method: 'GET', path, headers: keyOf(this.#turn) })
        return 1
      },
      { writers: CONNECTIONS, seconds },
    )
    return perSecond
  }

  async createRate(seconds: number): Promise<number> {
    const { perSecond } = await rateOfConcurrent(
      async () => {
        await this.#create(this.#next++)
        return 1
      },
      { writers: CONNECTIONS, seconds },
    )
    return perSecond
  }

  [Symbol.dispose](): void {
    this.#calls[Symbol.dispose]()
  }

  #create(index: number): Promise<unknown> {
    const body = JSON.stringify(orderDocument(index))
    const headers = { ...JSON_BODY, ...keyOf(index) }
    return this.#calls.call({ method: 'POST', path: DOCUMENTS_PATH, headers, body })
  }
}

const JSON_BODY = { 'content-type': 'application/json' }

function keyOf(index: number): Record<string, string> {
  return { 'x-ms-documentdb-partitionkey': JSON.stringify([customerOf(index)]) }
}
