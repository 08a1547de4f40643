import type {
  CommandAnswers,
  CommandOf,
  EntityCounts,
  EntityDefinition,
  EntityRecord,
  MessageCommand,
  MessageEngine,
  NewEntity,
} from '@tidemark/store/messages'
import { MessagingEntityNotFoundError } from '../errors/messaging-entity-errors.ts'
import { isSameName } from './entity-names.ts'

export type GivenKind = NewEntity['kind']

/** What the broker gives to those who change its entities. */
export interface AdministrationContext {
  engine(): Promise<MessageEngine>
  /** Carries out a command as it is. */
  perform<Kind extends MessageCommand['kind']>(
    command: CommandOf<Kind>,
  ): Promise<{ readonly answer: CommandAnswers[Kind] }>
  /** Counts what is in an entity, and what comes to it by itself now. */
  count(record: EntityRecord): Promise<EntityCounts>
  /** Every entity as it is stored now. Those that are idle are deleted first. */
  storedEntities(): Promise<readonly EntityRecord[]>
  /** Entities were created, changed or deleted: what it remembers of them is old. */
  entitiesChanged(): Promise<void>
}

/** The entities of a namespace as they are stored now, whatever this broker remembers of them. */
export class StoredEntities {
  readonly #context: AdministrationContext

  constructor(context: AdministrationContext) {
    this.#context = context
  }

  /** In the order of their paths. */
  async all(): Promise<readonly EntityRecord[]> {
    const entities = await this.#context.storedEntities()
    return entities.toSorted((a, b) => (a.path < b.path ? -1 : 1))
  }

  /** Rejects with ERR_MESSAGING_ENTITY_NOT_FOUND, also when the path is that of another kind. */
  async find(kind: GivenKind, path: string): Promise<EntityRecord> {
    return findIn(await this.all(), kind, path)
  }

  /** All or none. */
  async create(entities: readonly NewEntity[]): Promise<CommandAnswers['create']> {
    const answer = await this.#perform({ kind: 'create', entities })
    await this.#context.entitiesChanged()
    return answer
  }

  /**
   * Stores what `define` makes of the present definition; calls it again when that has changed meanwhile. Each round means
   * that another broker got on.
   */
  async change(
    kind: GivenKind,
    path: string,
    define: (record: EntityRecord, all: readonly EntityRecord[]) => EntityDefinition,
  ): Promise<EntityRecord> {
    for (;;) {
      const all = await this.all()
      const record = findIn(all, kind, path)
      const { number: entity, version } = record
      const definition = define(record, all)
      const answer = await this.#perform({ kind: 'update', entity, version, definition })
      await this.#context.entitiesChanged()
      if (answer.kind === 'updated') return answer.entity
    }
  }

  /** Resolves when nothing of it is left. It is gone for everybody before. */
  async delete(kind: GivenKind, path: string): Promise<void> {
    const { number: entity } = await this.find(kind, path)
    await this.#perform({ kind: 'delete', entity, when: 'always' })
    await this.#context.entitiesChanged()
    let hasMore = true
    while (hasMore) hasMore = (await this.#perform({ kind: 'purge' })).more
  }

  count(record: EntityRecord): Promise<EntityCounts> {
    return this.#context.count(record)
  }

  async #perform<Kind extends MessageCommand['kind']>(
    command: CommandOf<Kind>,
  ): Promise<CommandAnswers[Kind]> {
    return (await this.#context.perform<Kind>(command)).answer
  }
}

export function findIn(
  all: readonly EntityRecord[],
  kind: EntityRecord['kind'],
  path: string,
): EntityRecord {
  const found = all.find((one) => one.kind === kind && isSameName(one.path, path))
  if (found === undefined) throw new MessagingEntityNotFoundError(path)
  return found
}
