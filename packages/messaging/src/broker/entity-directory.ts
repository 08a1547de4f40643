import assert from 'node:assert/strict'
import {
  idleAtMs,
  type CommandAnswers,
  type CommandOf,
  type EntityRecord,
  type MessageEngine,
} from '@tidemark/store/messages'
import { MessagingEntityNotFoundError } from '../errors/messaging-entity-errors.ts'
import { SharedRuns } from './shared-runs.ts'

/** What the directory needs of its broker. */
export interface DirectoryContext {
  engine(): Promise<MessageEngine>
  perform<Kind extends 'delete' | 'purge'>(
    command: CommandOf<Kind>,
  ): Promise<{ readonly answer: CommandAnswers[Kind] }>
  lockNowMs(): number | undefined
  storeNowMs(): number
  /** All entities, each time that they were read. */
  entitiesRead(records: readonly EntityRecord[]): void
}

interface Catalog {
  readonly byPath: ReadonlyMap<string, EntityRecord>
  readonly byNumber: ReadonlyMap<number, EntityRecord>
  readonly childrenOf: ReadonlyMap<number, readonly EntityRecord[]>
  /** By the path of the destination, in lower case: entities and dead-letter queues that forward. */
  readonly sourcesOf: ReadonlyMap<string, readonly EntityRecord[]>
}

/**
 * What this broker remembers of the entities. It may be old: a command says so, and whoever sent it refreshes. An entity
 * that is idle for its period is deleted when somebody asks for it.
 */
export class EntityDirectory {
  readonly #context: DirectoryContext
  readonly #readings = new SharedRuns()
  #catalog: Catalog | undefined

  constructor(context: DirectoryContext) {
    this.#context = context
  }

  /** Without regard to case. Rejects with ERR_MESSAGING_ENTITY_NOT_FOUND. */
  async find(path: string): Promise<EntityRecord> {
    const key = path.toLowerCase()
    let record = (this.#catalog ?? (await this.refresh())).byPath.get(key)
    if (record === undefined || this.#mayBeIdle(record)) {
      await this.readAll()
      record = this.#catalog?.byPath.get(key)
    }
    if (record === undefined) throw new MessagingEntityNotFoundError(path)
    return record
  }

  /** All as they are stored now, without those that are idle, which are deleted first. */
  async readAll(): Promise<readonly EntityRecord[]> {
    let catalog = await this.refresh()
    const idle = [...catalog.byNumber.values()].filter((record) => this.#isIdle(record))
    for (const { number } of idle) {
      await this.#context.perform<'delete'>({ kind: 'delete', entity: number, when: 'idle' })
    }
    if (idle.length > 0) {
      catalog = await this.refresh()
      await this.#purge()
    }
    return [...catalog.byNumber.values()]
  }

  /** Reads the catalog again. Those who ask while it is being read share the next reading. */
  async refresh(): Promise<Catalog> {
    await this.#readings.run(0, () => this.#read())
    assert(this.#catalog !== undefined)
    return this.#catalog
  }

  /** The topic of a subscription, the owner of a dead-letter queue. */
  parentOf({ parent }: EntityRecord): EntityRecord | undefined {
    return parent === undefined ? undefined : this.#catalog?.byNumber.get(parent)
  }

  subscriptionsOf(topic: EntityRecord): readonly EntityRecord[] {
    const children = this.#catalog?.childrenOf.get(topic.number) ?? []
    return children.filter(({ kind }) => kind === 'subscription')
  }

  /** Entities and dead-letter queues that forward to this one. */
  sourcesForwardingTo({ path }: EntityRecord): readonly EntityRecord[] {
    return this.#catalog?.sourcesOf.get(path.toLowerCase()) ?? []
  }

  /** Where an entity or dead-letter queue forwards to. */
  destinationPathOf(record: EntityRecord): string | undefined {
    return destinationPathOf(record, this.parentOf(record))
  }

  /** Of an entity's dead-letter queue, if it forwards. */
  forwardingDeadLetterQueueOf(owner: EntityRecord): EntityRecord | undefined {
    if (owner.settings.forwardDeadLettersTo === undefined) return undefined
    const children = this.#catalog?.childrenOf.get(owner.number) ?? []
    return children.find(({ kind }) => kind === 'deadLetter')
  }

  /** Whether any entity forwards, as far as this broker knows. */
  get hasSources(): boolean {
    return (this.#catalog?.sourcesOf.size ?? 0) > 0
  }

  /** A queue or topic to which one may forward. Undefined: there is none. */
  destination(path: string): EntityRecord | undefined {
    const record = this.#catalog?.byPath.get(path.toLowerCase())
    return record?.kind === 'queue' || record?.kind === 'topic' ? record : undefined
  }

  /** Of the entity and of those whose activity each of its operations is, too: the shortest idle period. */
  idlePeriodOf(record: EntityRecord): number | undefined {
    const parent = this.parentOf(record)
    const above = parent === undefined ? undefined : this.idlePeriodOf(parent)
    const own = record.kind === 'deadLetter' ? undefined : record.settings.autoDeleteOnIdleMs
    return own === undefined || above === undefined ? (own ?? above) : Math.min(own, above)
  }

  /** By a stamp that may be old. */
  #mayBeIdle(record: EntityRecord): boolean {
    const parent = this.parentOf(record)
    return (
      this.#isIdle(record) ||
      (parent !== undefined && this.#mayBeIdle(parent)) ||
      (record.kind === 'topic' && this.subscriptionsOf(record).some((one) => this.#isIdle(one)))
    )
  }

  #isIdle(record: EntityRecord): boolean {
    const atMs = idleAtMs(record)
    return atMs !== undefined && atMs <= (this.#context.lockNowMs() ?? this.#context.storeNowMs())
  }

  async #read(): Promise<void> {
    const engine = await this.#context.engine()
    const { entities } = await engine.readCatalog()
    this.#catalog = catalogOf(entities)
    this.#context.entitiesRead(entities)
  }

  async #purge(): Promise<void> {
    for (let more = true; more;) {
      const { answer } = await this.#context.perform<'purge'>({ kind: 'purge' })
      more = answer.more
    }
  }
}

function catalogOf(entities: readonly EntityRecord[]): Catalog {
  const byNumber = new Map(entities.map((record) => [record.number, record]))
  const parentOf = ({ parent }: EntityRecord): EntityRecord | undefined =>
    parent === undefined ? undefined : byNumber.get(parent)
  return {
    byPath: new Map(entities.map((record) => [record.path.toLowerCase(), record])),
    byNumber,
    childrenOf: grouped(entities, ({ parent }) => parent),
    sourcesOf: grouped(entities, (record) =>
      destinationPathOf(record, parentOf(record))?.toLowerCase(),
    ),
  }
}

function destinationPathOf(
  { kind, settings }: EntityRecord,
  parent: EntityRecord | undefined,
): string | undefined {
  return kind === 'deadLetter' ? parent?.settings.forwardDeadLettersTo : settings.forwardTo
}

function grouped<Key>(
  entities: readonly EntityRecord[],
  keyOf: (record: EntityRecord) => Key | undefined,
): ReadonlyMap<Key, readonly EntityRecord[]> {
  const groups = new Map<Key, EntityRecord[]>()
  for (const record of entities) {
    const key = keyOf(record)
    if (key === undefined) continue
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [record])
    else group.push(record)
  }
  return groups
}
