import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SERVED_KEY } from '../../gateway/signed-request.ts'
import {
  ServingProcess,
  type ServerUsage,
  type ServingOptions,
} from '../../gateway/serving-process.ts'
import type { FuzzOutcome } from '../fuzz-outcome.ts'
import type { FuzzedServer } from '../run-fuzz.ts'
import { AmqpBystander, type BystanderReport } from './amqp-bystander.ts'
import { generateConversation } from './generate-conversation.ts'
import { holdConversation } from './hold-conversation.ts'

const GOOD = 'good'
/** What clients of the fuzz leave behind is gone soon. */
const SHORT = { Properties: { DefaultMessageTimeToLive: 'PT1S', LockDuration: 'PT5S' } }
const SESSIONS = { Properties: { ...SHORT.Properties, RequiresSession: true } }
const CONFIG = {
  UserConfig: {
    Namespaces: [
      {
        Name: 'fuzz',
        Queues: [{ Name: GOOD }, { Name: 'fuzz', ...SHORT }, { Name: 'sessions', ...SESSIONS }],
        Topics: [
          {
            Name: 'topic',
            Properties: { DefaultMessageTimeToLive: 'PT1S' },
            Subscriptions: [{ Name: 'all', ...SHORT }],
          },
        ],
      },
    ],
  },
}
/** A connection whose client has gone is let go some time after its last word. */
const LINGER_MS = 60_000
/** Messages of the other client between batches. */
const ARRIVALS = 5
const USAGE_MS = 30_000

/** `tidemark serve` with an AMQP front, and another client of it that must not notice anything. */
export class AmqpTarget implements FuzzedServer {
  readonly server: ServingProcess
  readonly #configFolder: string
  readonly #onReport: (report: BystanderReport) => void
  #bystander: AmqpBystander | undefined

  private constructor(parts: {
    readonly server: ServingProcess
    readonly configFolder: string
    readonly onReport: (report: BystanderReport) => void
  }) {
    this.server = parts.server
    this.#configFolder = parts.configFolder
    this.#onReport = parts.onReport
    this.#bystander = this.#startBystander()
  }

  /** `onReport`: what the other client saw, each time it stops. */
  static async start(
    options: ServingOptions,
    onReport: (report: BystanderReport) => void = () => undefined,
  ): Promise<AmqpTarget> {
    const configFolder = await mkdtemp(join(tmpdir(), 'tidemark-fuzz-amqp-'))
    const config = join(configFolder, 'Config.json')
    await writeFile(config, JSON.stringify(CONFIG))
    const args = ['--amqp-port', '0', '--queues', config]
    const server = await ServingProcess.start({ ...options, args })
    return new AmqpTarget({ server, configFolder, onReport })
  }

  send(seed: number, index: number): Promise<FuzzOutcome<string>> {
    return holdConversation(generateConversation(seed, index), this.server.amqpPort)
  }

  async renew(): Promise<void> {
    // What is sent is gone after a second.
  }

  async check(): Promise<void> {
    await this.#bystander?.arrive(ARRIVALS)
  }

  /** Without connections: the other client comes again afterwards. */
  async usage(): Promise<ServerUsage> {
    await this.leave()
    const deadline = performance.now() + LINGER_MS
    let usage = await this.server.usage(USAGE_MS)
    while (sockets(usage) > 0 && performance.now() < deadline) {
      await new Promise((resolve) => setTimeout(resolve, 100))
      usage = await this.server.usage(USAGE_MS)
    }
    this.#bystander = this.#startBystander()
    return usage
  }

  async leave(): Promise<void> {
    const report = await this.#bystander?.stop()
    this.#bystander = undefined
    if (report === undefined) return
    this.#onReport(report)
    if (report.wrong.length > 0) throw new Error(`another client: ${report.wrong.join('; ')}`)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.leave().catch(() => undefined)
    await this.server.kill()
    await rm(this.#configFolder, { recursive: true, force: true })
  }

  #startBystander(): AmqpBystander {
    const connectionString =
      `Endpoint=sb://localhost:${this.server.amqpPort};SharedAccessKeyName=RootManageSharedAccessKey;` +
      `SharedAccessKey=${SERVED_KEY};UseDevelopmentEmulator=true;`
    return new AmqpBystander({ connectionString, queue: GOOD })
  }
}

function sockets({ resources }: ServerUsage): number {
  return resources['TCPSocketWrap'] ?? 0
}
