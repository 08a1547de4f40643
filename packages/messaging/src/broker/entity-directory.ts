import {
  idleAtMs,
  type CommandAnswers,
  type CommandOf,
  type EntityRecord,
  type MessageEngine,
} from '@tidemark/store/messages'
import { MessagingEntityNotFoundError } from '../errors/messaging-entity-errors.ts'

/** What the directory needs of its broker. */
export interface DirectoryContext {
  engine(): Promise<MessageEngine>
  perform<Kind extends 'delete' | 'purge'>(
    command: CommandOf<Kind>,
  ): Promise<{ readonly answer: CommandAnswers[Kind] }>
  lockNowMs(): number | undefined
  storeNowMs(): number
}

interface Catalog {
  readonly byPath: ReadonlyMap<string, EntityRecord>
  readonly byNumber: ReadonlyMap<number, EntityRecord>
}

/**
 * What this broker remembers of the entities. It may be old: a command says so, and whoever sent it refreshes. An entity
 * that is idle for its period is deleted when somebody asks for it.
 */
export class EntityDirectory {
  readonly #context: DirectoryContext
  #catalog: Catalog | undefined
  #reading: Promise<Catalog> | undefined

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

  /** Reads the catalog again. Those who ask while it is being read wait for the next reading. */
  async refresh(): Promise<Catalog> {
    const before = this.#reading
    const reading = (async () => {
      await before?.catch(() => undefined)
      const engine = await this.#context.engine()
      const { entities } = await engine.readCatalog()
      return {
        byPath: new Map(entities.map((record) => [record.path.toLowerCase(), record])),
        byNumber: new Map(entities.map((record) => [record.number, record])),
      }
    })()
    this.#reading = reading
    this.#catalog = await reading
    return this.#catalog
  }

  /** The topic of a subscription, the owner of a dead-letter queue. */
  parentOf({ parent }: EntityRecord): EntityRecord | undefined {
    return parent === undefined ? undefined : this.#catalog?.byNumber.get(parent)
  }

  subscriptionsOf(topic: EntityRecord): readonly EntityRecord[] {
    return this.#all().filter(
      ({ kind, parent }) => kind === 'subscription' && parent === topic.number,
    )
  }

  /** Entities and dead-letter queues that forward to this one. */
  sourcesForwardingTo({ path }: EntityRecord): readonly EntityRecord[] {
    const key = path.toLowerCase()
    return this.#all().filter((record) => this.#destinationOf(record)?.toLowerCase() === key)
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

  #destinationOf(record: EntityRecord): string | undefined {
    return record.kind === 'deadLetter'
      ? this.parentOf(record)?.settings.forwardDeadLettersTo
      : record.settings.forwardTo
  }

  #all(): readonly EntityRecord[] {
    return [...(this.#catalog?.byNumber.values() ?? [])]
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

  async #purge(): Promise<void> {
    for (let more = true; more;) {
      const { answer } = await this.#context.perform<'purge'>({ kind: 'purge' })
      more = answer.more
    }
  }
}
