import type { Clock, Random, Telemetry } from '@tidemark/contracts'
import type { Database } from '@tidemark/store'
import type {
  CallerTime,
  CommandAnswers,
  CommandOf,
  EntityCounts,
  EntityRecord,
  MessageCommand,
  MessageEngine,
  MessageTime,
} from '@tidemark/store/messages'
import type { AdministrationContext } from '../entities/stored-entities.ts'
import { LinkClosedError } from '../errors/link-closed-error.ts'
import { ParsedRules } from '../rules/parsed-rules.ts'
import { BackgroundWork } from './background-work.ts'
import type { BringContext } from './bring-context.ts'
import { forwardWaiting } from './bring-messages.ts'
import { EntityCommands } from './entity-commands.ts'
import { EntityDirectory } from './entity-directory.ts'
import { SharedRuns } from './shared-runs.ts'
import type { StuckDeadLetters, StuckLetters } from './stuck-letters.ts'

/** Entities whose commands are remembered. */
const MAX_COMMANDS = 10_000

/** What the parts of a broker share: the engine, the clocks, and what is known of the entities. */
export class BrokerContext implements AdministrationContext, BringContext {
  readonly telemetry: Telemetry | undefined
  readonly clock: Clock
  readonly random: Random
  readonly directory: EntityDirectory
  readonly rules: ParsedRules = new ParsedRules()
  readonly runs: SharedRuns = new SharedRuns()
  readonly stuck: Map<number, StuckLetters> = new Map()
  readonly database: Database
  readonly #onStuckDeadLetters: ((event: StuckDeadLetters) => void) | undefined
  /** Told of all entities, each time that they were read. */
  onEntitiesRead: ((records: readonly EntityRecord[]) => void) | undefined
  readonly #calls = new Set<Promise<unknown>>()
  readonly #background = new BackgroundWork()
  readonly #commands = new Map<string, EntityCommands>()
  #status: 'open' | 'closing' | 'closed' = 'open'
  #opening: Promise<MessageEngine> | undefined
  #engine: MessageEngine | undefined
  /** What the store last said of the lock clock, and when by the monotonic clock. */
  #heard: { readonly lockMs: number; readonly atMs: number } | undefined

  constructor(
    database: Database,
    {
      telemetry,
      clock,
      random,
      onStuckDeadLetters,
    }: Pick<BrokerContext, 'telemetry' | 'clock' | 'random'> & {
      readonly onStuckDeadLetters: ((event: StuckDeadLetters) => void) | undefined
    },
  ) {
    this.database = database
    this.telemetry = telemetry
    this.clock = clock
    this.random = random
    this.#onStuckDeadLetters = onStuckDeadLetters
    this.directory = new EntityDirectory(this)
  }

  engine(): Promise<MessageEngine> {
    if (this.#status === 'closed') return Promise.reject(closedError())
    this.#opening ??= this.#open()
    return this.#opening
  }

  /** The commands on the entity of this path, whether it exists or not. */
  commands(path: string): EntityCommands {
    const key = path.toLowerCase()
    const known = this.#commands.get(key)
    if (known !== undefined) return known
    // Names that nobody has are names, too. Whoever uses those that are forgotten goes on with them.
    if (this.#commands.size >= MAX_COMMANDS) this.#commands.clear()
    const commands = new EntityCommands(this, path)
    this.#commands.set(key, commands)
    return commands
  }

  async perform<Kind extends MessageCommand['kind']>(
    command: CommandOf<Kind>,
  ): Promise<{ readonly answer: CommandAnswers[Kind]; readonly time: MessageTime }> {
    const engine = await this.engine()
    const result = await engine.perform<Kind>(command, this.callerTime())
    this.hear(result.time)
    return result
  }

  /** What an answer of the store says of the lock clock. */
  hear({ lockMs }: MessageTime): void {
    const known = this.lockNowMs()
    // Answers may overtake each other.
    if (known !== undefined && known >= lockMs) return
    this.#heard = { lockMs, atMs: this.clock.monotonicMs() }
  }

  callerTime(): CallerTime {
    return { lockMs: this.lockNowMs() }
  }

  /** The lock clock, as far as this broker knows it. Undefined before the first answer. */
  lockNowMs(): number | undefined {
    if (this.#heard === undefined) return undefined
    const { lockMs, atMs } = this.#heard
    return lockMs + this.clock.monotonicMs() - atMs
  }

  /** The store's clock. */
  storeNowMs(): number {
    return this.#engine?.nowMs() ?? this.clock.wallMs()
  }

  async count({ path }: EntityRecord): Promise<EntityCounts> {
    const { answer } = await this.commands(path).perform('count', {})
    return answer.counts
  }

  storedEntities(): Promise<readonly EntityRecord[]> {
    return this.directory.readAll()
  }

  async entitiesChanged(): Promise<void> {
    await this.directory.refresh()
  }

  forwardOnward(record: EntityRecord): void {
    const { directory } = this
    if (!directory.hasSources) return
    const entities = record.kind === 'topic' ? directory.subscriptionsOf(record) : [record]
    for (const entity of entities) {
      if (directory.destinationPathOf(entity) !== undefined) this.#forwardInBackground(entity)
      this.forwardDeadLettersOf(entity)
    }
  }

  entitiesRead(records: readonly EntityRecord[]): void {
    this.onEntitiesRead?.(records)
  }

  reportStuck(event: StuckDeadLetters): void {
    try {
      this.#onStuckDeadLetters?.(event)
    } catch {
      // A log that fails must not end the forwarding that it reports.
    }
  }

  forwardDeadLettersOf(record: EntityRecord): void {
    const queue = this.directory.forwardingDeadLetterQueueOf(record)
    if (queue !== undefined) this.#forwardInBackground(queue)
  }

  /** A call that `close` waits for. @throws ERR_LINK_CLOSED */
  async whileOpen<Result>(call: () => Promise<Result>): Promise<Result> {
    if (this.#status !== 'open') throw closedError()
    const running = call()
    this.#calls.add(running)
    try {
      return await running
    } finally {
      this.#calls.delete(running)
    }
  }

  /** Nothing new begins. Resolves when what was sent is answered, and nothing runs in the background. */
  async close(): Promise<void> {
    this.#status = 'closing'
    await Promise.allSettled(this.#calls)
    // What was aborted may be on its way.
    await Promise.all([...this.#commands.values()].map((commands) => commands.idle()))
    await this.#background.idle()
    this.#status = 'closed'
  }

  #forwardInBackground(source: EntityRecord): void {
    this.#background.start(() => forwardWaiting(this, [source]))
  }

  async #open(): Promise<MessageEngine> {
    try {
      this.#engine = await this.database.openMessages()
      return this.#engine
    } catch (error) {
      this.#opening = undefined
      throw error
    }
  }
}

function closedError(): LinkClosedError {
  return new LinkClosedError('the message broker')
}
