import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { ensureProton } from '@tidemark/testing/servers'

const PROGRAM = fileURLToPath(new URL('proton-client.py', import.meta.url))

/** To ask whether a Python has Proton takes as long as to start it. */
let python: ReturnType<typeof ensureProton> | undefined

/** A message as Proton shows it. */
export interface ProtonMessage {
  readonly id: unknown
  readonly subject: string | null
  readonly durable: boolean
  readonly priority: number
  readonly ttl: number
  readonly deliveryCount: number
  /** With the type of every value. */
  readonly properties: string
  /** Of a body that is a text. */
  readonly text: string | null
  readonly size: number | null
  /** With types; of bytes their hash. */
  readonly body: string
  /** Whether the body is of data or sequence sections. */
  readonly isInferred: boolean
  readonly number: number
  readonly settled: boolean
  readonly annotations: readonly string[]
}

export interface Settled {
  readonly state: string | null
  readonly condition: string | null
}

/** What Proton raises. */
export class ProtonError extends Error {
  override readonly name = 'ProtonError'
  readonly kind: string
  readonly condition: string | null

  constructor({ kind, text, condition }: { kind: string; text: string; condition: string | null }) {
    super(`${kind}: ${text}`)
    this.kind = kind
    this.condition = condition
  }
}

/** Qpid Proton in a Python of its own: one call at a time. */
export class ProtonClient implements AsyncDisposable {
  readonly #child: ChildProcessWithoutNullStreams
  readonly #lines: AsyncIterator<string>
  #stderr = ''
  #links = 0

  private constructor(child: ChildProcessWithoutNullStreams) {
    this.#child = child
    child.stderr.on('data', (data: Buffer) => (this.#stderr += data.toString()))
    child.stdin.on('error', () => {})
    this.#lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  }

  /** Rejects with what to do when the machine has no Proton and cannot get one. */
  static async start(): Promise<ProtonClient> {
    const { path, env } = await (python ??= ensureProton())
    return new ProtonClient(spawn(path, [PROGRAM], { env: { ...process.env, ...env } }))
  }

  connect(
    port: number,
    options: {
      readonly name?: string
      readonly user?: string
      readonly password?: string
      readonly allowed_mechs?: string
      readonly max_frame_size?: number
    } = {},
  ): Promise<unknown> {
    return this.call('connect', { name: 'main', ...options, port })
  }

  async sender(address: string, connection = 'main'): Promise<ProtonSender> {
    const name = `sender-${(this.#links += 1)}`
    await this.call('sender', { connection, address, name })
    return new ProtonSender(this, { connection, name })
  }

  async receiver(
    address: string,
    options: {
      readonly connection?: string
      readonly credit?: number
      readonly settled?: boolean
      readonly session?: string | null
    } = {},
  ): Promise<ProtonReceiver> {
    const name = `receiver-${(this.#links += 1)}`
    const request = { connection: 'main', credit: 0, ...options, address, name }
    const { session } = (await this.call('receiver', request)) as { session: string | null }
    return new ProtonReceiver(this, { connection: request.connection, name, session })
  }

  async call(operation: string, request: object): Promise<unknown> {
    this.#child.stdin.write(`${JSON.stringify({ operation, ...request })}\n`)
    const line = await this.#lines.next()
    if (line.done === true) throw new Error(`the program of Proton ended:\n${this.#stderr}`)
    const answer = JSON.parse(line.value) as {
      readonly result?: unknown
      readonly error?: {
        readonly kind: string
        readonly text: string
        readonly condition: string | null
      }
    }
    if (answer.error !== undefined) throw new ProtonError(answer.error)
    return answer.result
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.stdin.end()
    const ended = Promise.withResolvers<void>()
    this.#child.once('exit', () => ended.resolve())
    if (this.#child.exitCode !== null) ended.resolve()
    await ended.promise
  }
}

interface LinkName {
  readonly connection: string
  readonly name: string
}

export class ProtonSender {
  readonly #client: ProtonClient
  readonly #link: LinkName

  constructor(client: ProtonClient, link: LinkName) {
    this.#client = client
    this.#link = link
  }

  /** Waits until the message is settled, unless it is sent as settled. */
  async send(message: object): Promise<Settled & { readonly sent: ProtonMessage }> {
    const answer = await this.#client.call('send', { ...this.#link, ...message })
    return answer as Settled & { readonly sent: ProtonMessage }
  }

  async close(): Promise<void> {
    await this.#client.call('close', this.#link)
  }
}

export class ProtonReceiver {
  /** That was granted. */
  readonly session: string | null
  readonly #client: ProtonClient
  readonly #link: LinkName

  constructor(client: ProtonClient, { session, ...link }: LinkName & { session: string | null }) {
    this.#client = client
    this.#link = link
    this.session = session
  }

  async flow(credit: number): Promise<void> {
    await this.#client.call('flow', { ...this.#link, credit })
  }

  /** Waits for so many. */
  async receive(count: number): Promise<ProtonMessage[]> {
    return (await this.#client.call('receive', { ...this.#link, count })) as ProtonMessage[]
  }

  /** What is there, at most so many: with a drain. */
  async drain(credit: number): Promise<ProtonMessage[]> {
    return (await this.#client.call('receive', { ...this.#link, drain: credit })) as ProtonMessage[]
  }

  async settle(
    { number }: { readonly number: number },
    state: 'accepted' | 'rejected' | 'released' | 'modified',
    options: object = {},
  ): Promise<Settled> {
    const { connection } = this.#link
    return (await this.#client.call('settle', { connection, number, state, ...options })) as Settled
  }

  async close(): Promise<void> {
    await this.#client.call('close', this.#link)
  }
}
