import type {
  CommandAnswers,
  CommandOf,
  EntityCounts,
  EntityRecord,
  MessageCommand,
  MessageEngine,
  NewEntity,
} from '@tidemark/store/messages'
import { deadLetterPath, isSameName } from './entity-names.ts'
import type { AdministrationContext } from './stored-entities.ts'

const NO_COUNTS: EntityCounts = {
  active: 0,
  locked: 0,
  deferred: 0,
  scheduled: 0,
  expired: 0,
  bytes: 0,
  oldestEnqueuedMs: undefined,
}

/** Entities in memory, without messages. Commands answer as those of an engine do. */
export class FakeEntities implements AdministrationContext {
  records: readonly EntityRecord[] = []
  /** By path. */
  readonly counts: Map<string, EntityCounts> = new Map()
  readonly commands: MessageCommand[] = []
  changes = 0
  /** Rounds of `purge` until nothing is left. */
  purges = 0
  /** Called before each command, and then forgotten: what another broker does meanwhile. */
  meanwhile: (() => void) | undefined
  nowMs = 1_000_000
  #next = 1

  engine(): Promise<MessageEngine> {
    const engine: MessageEngine = {
      readCatalog: () => Promise.resolve({ entities: this.records }),
      perform: (command) => {
        this.meanwhile?.()
        this.meanwhile = undefined
        this.commands.push(command)
        const time = { storeMs: this.nowMs, lockMs: this.nowMs }
        return Promise.resolve({ answer: this.#answer(command) as never, time })
      },
      look: () => Promise.resolve([]),
      lookSessions: () => Promise.resolve([]),
      watch: () => () => undefined,
      nowMs: () => this.nowMs,
    }
    return Promise.resolve(engine)
  }

  async perform<Kind extends MessageCommand['kind']>(
    command: CommandOf<Kind>,
  ): Promise<{ readonly answer: CommandAnswers[Kind] }> {
    return (await this.engine()).perform<Kind>(command, { lockMs: this.nowMs })
  }

  count({ path }: EntityRecord): Promise<EntityCounts> {
    return Promise.resolve(this.counts.get(path) ?? NO_COUNTS)
  }

  storedEntities(): Promise<readonly EntityRecord[]> {
    return Promise.resolve(this.records)
  }

  entitiesChanged(): Promise<void> {
    this.changes++
    return Promise.resolve()
  }

  find(path: string): EntityRecord | undefined {
    return this.records.find((record) => isSameName(record.path, path))
  }

  /** As if another broker had done it. */
  change(path: string, change: (record: EntityRecord) => Partial<EntityRecord>): void {
    this.records = this.records.map((record) =>
      isSameName(record.path, path)
        ? { ...record, version: record.version + 1, ...change(record) }
        : record,
    )
  }

  remove(path: string): void {
    const gone = this.find(path)?.number
    const children = this.records.filter(({ parent }) => parent === gone && gone !== undefined)
    for (const child of children) this.remove(child.path)
    this.records = this.records.filter(({ number }) => number !== gone)
  }

  create({ entities }: { readonly entities: readonly NewEntity[] }): CommandAnswers['create'] {
    const before = this.records
    const created = entities.flatMap(({ topic, ...entity }) => {
      if (this.find(entity.path) !== undefined) return []
      const parent = topic === undefined ? undefined : this.find(topic)
      const made = { ...this.#times(), ...entity, parent: parent?.number, version: 1 }
      const dead = { ...made, path: deadLetterPath(entity.path), kind: 'deadLetter' as const }
      const owner = { ...made, number: this.#next++ }
      const records = [owner, { ...dead, number: this.#next++, parent: owner.number, rules: [] }]
      this.records = [...this.records, ...(entity.kind === 'topic' ? [owner] : records)]
      return records
    })
    const taken = entities.find(({ path }) =>
      before.some((record) => isSameName(record.path, path)),
    )
    const orphan = entities.find(
      ({ topic }) => topic !== undefined && this.find(topic) === undefined,
    )
    if (taken === undefined && orphan === undefined) return { kind: 'created', entities: created }
    this.records = before
    if (taken !== undefined) return { kind: 'exists', path: taken.path }
    return { kind: 'missing', path: orphan?.topic ?? '' }
  }

  #times(): Pick<EntityRecord, 'createdMs' | 'updatedMs' | 'accessedMs'> {
    return { createdMs: this.nowMs, updatedMs: this.nowMs, accessedMs: this.nowMs }
  }

  #answer(command: MessageCommand): CommandAnswers[MessageCommand['kind']] {
    switch (command.kind) {
      case 'create':
        return this.create(command)
      case 'update':
        return this.#update(command)
      case 'delete': {
        const record = this.records.find(({ number }) => number === command.entity)
        if (record === undefined) return { kind: 'refused', reason: 'gone' }
        this.remove(record.path)
        return { kind: 'deleted' }
      }
      case 'purge':
        return { kind: 'purged', more: this.purges-- > 1 }
      default:
        throw new Error(`not in the fake: ${command.kind}`)
    }
  }

  #update({ entity, version, definition }: CommandOf<'update'>): CommandAnswers['update'] {
    const record = this.records.find(({ number }) => number === entity)
    if (record === undefined) return { kind: 'refused', reason: 'gone' }
    if (record.version !== version) return { kind: 'refused', reason: 'stale' }
    const updated = { ...record, ...definition, version: version + 1, updatedMs: this.nowMs }
    this.records = this.records.map((one) => (one === record ? updated : one))
    return { kind: 'updated', entity: updated }
  }
}
