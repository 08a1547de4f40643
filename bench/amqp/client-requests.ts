import { serveParent } from '../measuring/child-process.ts'

/** What a client's process is asked; the first request connects it. */
export type ClientRequest =
  | { readonly kind: 'connect'; readonly port: number }
  /** Sends for so long. */
  | { readonly kind: 'send'; readonly batch: number; readonly seconds: number }
  /** Receives and completes for so long, or until nothing is left. */
  | { readonly kind: 'receive'; readonly credit: number; readonly seconds: number }
  /** Sends so many in large batches. */
  | { readonly kind: 'fill'; readonly count: number }
  /** Sends at a pace, and receives beside it. */
  | { readonly kind: 'trips'; readonly perSecond: number; readonly seconds: number }
  /** Opens so many connections with a receiver each, to which nothing comes. */
  | { readonly kind: 'idle'; readonly receivers: number }

export interface ClientReply {
  /** Messages per second. */
  readonly perSecond: number
  /** From the call of each send to the arrival of its message. */
  readonly tripsMs: readonly number[]
  /** Cores that this process used. */
  readonly cores: number
}

/** A client of some library. Rates are messages per second. */
export interface LoadClient {
  connect(port: number): Promise<void>
  send(options: { readonly batch: number; readonly seconds: number }): Promise<number>
  receive(options: { readonly credit: number; readonly seconds: number }): Promise<number>
  fill(count: number): Promise<void>
  trips(options: {
    readonly perSecond: number
    readonly seconds: number
  }): Promise<readonly number[]>
  idle(receivers: number): Promise<void>
}

export function serveClient(client: LoadClient): void {
  serveParent<ClientRequest, ClientReply>(async (request) => {
    const [startedMs, before] = [performance.now(), process.cpuUsage()]
    const [perSecond, tripsMs] = await perform(client, request)
    const { user, system } = process.cpuUsage(before)
    const cores = (user + system) / 1000 / (performance.now() - startedMs)
    return { perSecond, tripsMs, cores }
  })
}

async function perform(
  client: LoadClient,
  request: ClientRequest,
): Promise<readonly [perSecond: number, tripsMs: readonly number[]]> {
  switch (request.kind) {
    case 'connect':
      await client.connect(request.port)
      return [0, []]
    case 'send':
      return [await client.send(request), []]
    case 'receive':
      return [await client.receive(request), []]
    case 'fill':
      await client.fill(request.count)
      return [0, []]
    case 'trips':
      return [0, await client.trips(request)]
    case 'idle':
      await client.idle(request.receivers)
      return [0, []]
  }
}
