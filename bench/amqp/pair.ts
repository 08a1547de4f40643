import { BenchChild } from '../measuring/child-process.ts'
import type { ClientReply, ClientRequest } from './client-requests.ts'
import type { ServerReply, ServerRequest } from './server-requests.ts'

export type ServerKind = 'front' | 'echo'
export type ClientKind = 'official' | 'lean'

/** A server and a client, each in a process of its own. */
export class Pair implements AsyncDisposable {
  readonly #server: BenchChild<ServerRequest, ServerReply>
  readonly #client: BenchChild<ClientRequest, ClientReply>

  private constructor(
    server: BenchChild<ServerRequest, ServerReply>,
    client: BenchChild<ClientRequest, ClientReply>,
  ) {
    this.#server = server
    this.#client = client
  }

  static async start({
    server,
    client,
    folder,
  }: {
    readonly server: ServerKind
    readonly client: ClientKind
    /** @default in memory */
    readonly folder?: string | undefined
  }): Promise<Pair> {
    const serverFile = new URL(`children/${server}.child.ts`, import.meta.url)
    const clientFile = new URL(`children/${client}-client.child.ts`, import.meta.url)
    const serving = await BenchChild.start<ServerRequest, ServerReply>(serverFile)
    const { port } = await serving.call({ kind: 'start', folder })
    const calling = await BenchChild.start<ClientRequest, ClientReply>(clientFile)
    await calling.call({ kind: 'connect', port })
    return new Pair(serving, calling)
  }

  ask(request: ClientRequest): Promise<ClientReply> {
    return this.#client.call(request)
  }

  usage(): Promise<ServerReply> {
    return this.#server.call({ kind: 'usage' })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#client[Symbol.asyncDispose]()
    await this.#server[Symbol.asyncDispose]()
  }
}
