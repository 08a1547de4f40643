import {
  ResourceNotFoundError,
  UnsupportedServerError,
  type PartitionKeyDefinition,
} from '@tidemark/contracts'
import {
  checkOptions,
  optionHaving,
  containerKey,
  requiredOption,
  type OptionRule,
} from '@tidemark/contracts/internal'
import { callClient } from './client-error.ts'
import { recordOf, type CosmosContainer } from './cosmos-container.ts'

/** What does not change while a container exists. */
export interface ContainerFacts {
  readonly rid: string
  readonly partitionKey: PartitionKeyDefinition
  /** Seconds; -1 = none by default; undefined = time to live is off. May change; as it was when it was read. */
  readonly defaultTtl: number | undefined
}

export const containerRule: OptionRule = requiredOption(
  optionHaving('a Container of @azure/cosmos', 'read', 'item'),
)

/** A container with what is known of it, which is read once. */
export class KnownContainer {
  readonly container: CosmosContainer
  #known: ContainerFacts | undefined

  /** @throws ERR_INVALID_OPTION when it is none */
  constructor(container: CosmosContainer) {
    checkOptions({ container }, { container: containerRule })
    this.container = container
  }

  /** Its address in its account, known before anything is asked. */
  get identity(): string {
    return this.container.url
  }

  /** What is known so far. */
  get known(): ContainerFacts | undefined {
    return this.#known
  }

  /** Rejects with ERR_NOT_FOUND while there is none, ERR_SERVER_UNSUPPORTED. */
  async facts(signal?: AbortSignal): Promise<ContainerFacts> {
    return (this.#known ??= await this.#read(signal))
  }

  /** All pkranges as the account lists them at this moment. */
  async readPkRanges(signal?: AbortSignal): Promise<readonly unknown[]> {
    const { container } = this
    const subject = { resource: 'collection', id: container.id, effect: 'none' } as const
    const { resources } = await callClient(subject, signal, () =>
      container.readPartitionKeyRanges({ abortSignal: signal }).fetchAll(),
    )
    return resources
  }

  /** Rejects with ERR_NOT_FOUND when another container has its name now, and as `facts`. */
  async assertSame(signal?: AbortSignal): Promise<void> {
    const { rid } = await this.#read(signal)
    if (this.#known === undefined || rid === this.#known.rid) return
    throw new ResourceNotFoundError('collection', this.container.id)
  }

  async #read(signal: AbortSignal | undefined): Promise<ContainerFacts> {
    const { container } = this
    const { id } = container
    const subject = { resource: 'collection', id, effect: 'none' } as const
    const { resource } = await callClient(subject, signal, () =>
      container.read({ abortSignal: signal }),
    )
    const { _rid: rid, partitionKey, defaultTtl } = recordOf(resource)
    if (typeof rid !== 'string') throw new UnsupportedServerError(`container ${id} has no _rid`)
    return {
      rid,
      partitionKey: containerKey(partitionKey, id),
      defaultTtl: typeof defaultTtl === 'number' ? defaultTtl : undefined,
    }
  }
}
