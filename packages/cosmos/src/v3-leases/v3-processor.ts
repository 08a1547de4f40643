import { InvalidOptionError, type RequestOptions } from '@tidemark/contracts'
import {
  option,
  optionOf,
  optionRule,
  requiredOption,
  type OptionRule,
  type OptionRules,
} from '@tidemark/contracts/internal'
import { containerRule } from '../container-facts.ts'
import type { CosmosContainer } from '../cosmos-container.ts'
import { readMonitored, type MonitoredContainer } from './monitored-container.ts'
import { V3LeaseContainer, type V3Leases } from './v3-lease-container.ts'
import { v3Prefix, type V3Reader } from './v3-prefix.ts'

/** The change feed processor of the .NET SDK (V3) or the Java SDK (V4) whose leases are meant. */
export interface V3ProcessorOptions {
  /** The container that the processor monitors. */
  readonly monitored: CosmosContainer
  /** The container of its leases, partitioned by `/id` or `/partitionKey`. */
  readonly leaseContainer: CosmosContainer
  /** `processorName` of .NET, `leasePrefix` of Java; an empty text if Java has none. */
  readonly processorName: string
  /** URL of the account of the monitored container, as *the processor's* client has it: its host name is in the ids of leases. */
  readonly endpoint: string
  /**
   * A lease with an owner that was renewed within this time is in use. As the processor has it, or longer.
   * @range any number above 0 @default 60_000 (both SDKs)
   */
  readonly expirationIntervalMs?: number | undefined
}

export const v3ProcessorRules: OptionRules<V3ProcessorOptions> = {
  monitored: containerRule,
  leaseContainer: containerRule,
  processorName: requiredOption(option.text),
  endpoint: requiredOption(option.text),
  expirationIntervalMs: optionRule(
    'a number of ms above 0',
    (value) => typeof value === 'number' && value > 0,
  ),
}

export const v3ReaderRule: OptionRule = optionOf('dotnet', 'java', 'javaHandleChanges')

const EXPIRATION_INTERVAL_MS = 60_000

/** A processor's lease container and what it monitors, looked up. */
export class V3Processor {
  readonly monitored: MonitoredContainer
  readonly container: V3LeaseContainer
  readonly #options: V3ProcessorOptions

  private constructor(
    monitored: MonitoredContainer,
    container: V3LeaseContainer,
    options: V3ProcessorOptions,
  ) {
    this.monitored = monitored
    this.container = container
    this.#options = options
  }

  static async open(options: V3ProcessorOptions, request: RequestOptions): Promise<V3Processor> {
    const [monitored, container] = await Promise.all([
      readMonitored(options.monitored, request),
      V3LeaseContainer.open(options.leaseContainer, request),
    ])
    return new V3Processor(monitored, container, options)
  }

  prefix(reader: V3Reader): string {
    return v3Prefix({ ...this.#options, ...this.monitored }, reader)
  }

  /**
   * What the processor has there.
   *
   * Rejects with ERR_LEASES_IN_USE when hosts of it are alive.
   */
  async readStopped(reader: V3Reader, request: RequestOptions): Promise<V3Leases> {
    const found = await this.container.read(this.prefix(reader), request)
    const { expirationIntervalMs = EXPIRATION_INTERVAL_MS } = this.#options
    this.container.refuseLive(found.leases, expirationIntervalMs)
    return found
  }

  /** The error of a processor that has no leases there. */
  async nothingFound(
    readers: readonly V3Reader[],
    request: RequestOptions,
  ): Promise<InvalidOptionError> {
    const wanted = [...new Set(readers.map((reader) => this.prefix(reader)))]
    const others = await this.container.prefixes(request)
    return new InvalidOptionError(
      `container ${this.#options.leaseContainer.id} has no leases whose ids begin with ${wanted.join(' or ')}; there are ` +
        `${others.slice(0, 10).join(', ') || 'none at all'}. processorName and the host of endpoint must be those of the processor`,
    )
  }
}
