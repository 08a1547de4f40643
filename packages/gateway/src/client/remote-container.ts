import {
  ResourceNotFoundError,
  UnsupportedServerError,
  type PartitionKeyDefinition,
} from '@tidemark/contracts'
import {
  option,
  containerKey,
  requiredOption,
  type OptionRules,
} from '@tidemark/contracts/internal'
import { OWN_HEADER } from '../protocol/extension-wire.ts'
import { HEADER } from '../protocol/header-names.ts'
import { INTENDED_CONTAINER } from '../protocol/intended-container.ts'
import type { CosmosConnection, WireRequest } from './cosmos-connection.ts'
import { jsonOf, type WireAnswer } from './wire-answer.ts'

/** Far above what any server has, so that one that never ends its list stops nobody. */
const MAX_RANGES = 1_000_000
const MAX_PAGES = 10_000

/** Which container of an account. */
export interface ContainerName {
  /** Id of the database. */
  readonly database: string
  /** Id of the container. */
  readonly container: string
}

export const containerNameRules: OptionRules<ContainerName> = {
  database: requiredOption(option.text),
  container: requiredOption(option.text),
}

/** What does not change while a container exists. */
export interface ContainerFacts {
  readonly rid: string
  /** As `DocumentCollection.identity`. */
  readonly identity: string
  readonly partitionKey: PartitionKeyDefinition
  /** Seconds; -1 = none by default; undefined = time to live is off. May change; as it was when it was read. */
  readonly defaultTtl: number | undefined
}

/** A request on something below a container. */
export type ContainerRequest = Omit<WireRequest, 'path'> & { readonly path?: readonly string[] }

/** A handle on one container over HTTP. What it is like is read once. */
export class RemoteContainer {
  readonly name: ContainerName
  readonly connection: CosmosConnection
  #known: ContainerFacts | undefined

  constructor(connection: CosmosConnection, name: ContainerName) {
    this.connection = connection
    this.name = name
  }

  /** `database/container`, for people. */
  get description(): string {
    return `${this.name.database}/${this.name.container}`
  }

  get known(): ContainerFacts | undefined {
    return this.#known
  }

  /** Its address until the container is known. */
  get identity(): string {
    const { database, container } = this.name
    return this.#known?.identity ?? `${this.connection.endpoint}dbs/${database}/colls/${container}`
  }

  /** Rejects with ERR_NOT_FOUND while there is none, and with ERR_SERVER_UNSUPPORTED at a server that is no gateway. */
  async facts(signal?: AbortSignal): Promise<ContainerFacts> {
    return (this.#known ??= await this.#read(signal))
  }

  /** @throws ERR_NOT_FOUND before the first call that found it */
  get present(): ContainerFacts {
    if (this.#known === undefined)
      throw new ResourceNotFoundError('collection', this.name.container)
    return this.#known
  }

  send(request: ContainerRequest): Promise<WireAnswer> {
    const { database, container } = this.name
    const path = ['dbs', database, 'colls', container, ...(request.path ?? [])]
    // Of another container made under this name nothing is wanted: continuations and leases are not its.
    const rid = this.#known?.rid
    const headers = { ...request.headers, ...(rid !== undefined && { [INTENDED_CONTAINER]: rid }) }
    return this.connection.send({ ...request, headers, path })
  }

  /** The pkranges as the server lists them. */
  async readPkRanges(signal?: AbortSignal): Promise<readonly unknown[]> {
    const { container: id } = this.name
    const ranges: unknown[] = []
    let continuation: string | undefined
    let pages = 0
    do {
      if (++pages > MAX_PAGES || ranges.length > MAX_RANGES) {
        throw new UnsupportedServerError(`container ${id}: the server lists pkranges without end`)
      }
      const answer = await this.send({
        method: 'GET',
        path: ['pkranges'],
        headers: continuation === undefined ? {} : { [HEADER.continuation]: continuation },
        subject: { resource: 'collection', id, effect: 'none' },
        signal,
      })
      const { PartitionKeyRanges: list } = jsonOf(answer)
      if (!Array.isArray(list)) {
        throw new UnsupportedServerError(`container ${id}: the server lists no pkranges`)
      }
      for (const range of list) ranges.push(range)
      continuation = answer.header(HEADER.continuation)
    } while (continuation !== undefined)
    return ranges
  }

  async #read(signal: AbortSignal | undefined): Promise<ContainerFacts> {
    const { container: id } = this.name
    const subject = { resource: 'collection', id, effect: 'none' } as const
    const answer = await this.send({ method: 'GET', subject, signal })
    const { _rid, partitionKey, defaultTtl } = jsonOf(answer)
    if (typeof _rid !== 'string') throw new UnsupportedServerError(`container ${id} has no _rid`)
    const identity = answer.header(OWN_HEADER.identity)
    if (identity === undefined) {
      throw new UnsupportedServerError(
        `${this.connection.endpoint} is no Tidemark gateway; an Azure Cosmos DB account is reached by @tidemark/cosmos`,
      )
    }
    return {
      rid: _rid,
      identity,
      partitionKey: containerKey(partitionKey, id),
      defaultTtl: typeof defaultTtl === 'number' ? defaultTtl : undefined,
    }
  }
}
