import { StoreDamagedError } from '@tidemark/contracts'
import {
  parseDefinition,
  type EntityDefinition,
  type EntityPlace,
  type EntityRecord,
  type RowRequests,
} from '@tidemark/store/messages'
import { numberColumn, numberIfAny, textColumn, type Row } from '../connection/column.ts'
import type { Connection } from '../connection/connection.ts'
import {
  ALL_ENTITIES,
  CHANGE_ENTITY,
  CHILDREN,
  ENTITY_BY_NUMBER,
  ENTITY_BY_PATH,
  FORWARDED_TO,
  INSERT_ENTITY,
  READ_PLACE,
  STORE_DEFINITION,
} from './message-statements.ts'

/** Entities without regard to case. */
export function pathKey(path: string): string {
  return path.toLowerCase()
}

/**
 * The entities of a database. Keeps what it has parsed; after a transaction that was rolled back, it must not be used
 * any more.
 */
export class EntityRows {
  readonly #connection: Connection
  readonly #records = new Map<number, EntityRecord>()

  constructor(connection: Connection) {
    this.#connection = connection
  }

  place(entity: number): EntityPlace | undefined {
    const row = this.#connection.get(READ_PLACE, entity)
    if (row === undefined) return undefined
    const due = [11, 12, 13, 14, 15].map((index) => numberIfAny(row, index) ?? Infinity)
    const dueMs = Math.min(...due)
    return {
      record: this.#record(row),
      next: numberColumn(row, 8),
      clock: { storeMs: numberColumn(row, 9), lockMs: numberColumn(row, 10) },
      dueMs: dueMs === Infinity ? undefined : dueMs,
      expiresMs: numberIfAny(row, 16),
    }
  }

  all(): readonly EntityRecord[] {
    return this.#connection.all(ALL_ENTITIES).map((row) => this.#record(row))
  }

  find(path: string): EntityRecord | undefined {
    const row = this.#connection.get(ENTITY_BY_PATH, pathKey(path))
    return row && this.#record(row)
  }

  childrenOf(entity: number): readonly EntityRecord[] {
    return this.#connection.all(CHILDREN, entity).map((row) => this.#record(row))
  }

  isForwardedTo(path: string): boolean {
    const key = pathKey(path)
    return numberColumn(this.#connection.get(FORWARDED_TO, key, key) ?? [], 0) === 1
  }

  create(
    entities: Parameters<RowRequests['createEntities']>[0],
    time: Parameters<RowRequests['createEntities']>[1],
  ): ReturnType<RowRequests['createEntities']> {
    const keys = new Set<string>()
    for (const { path } of entities) {
      const key = pathKey(path)
      if (keys.has(key) || this.find(path) !== undefined) return { exists: path }
      keys.add(key)
    }
    const sql = 'UPDATE broker SET entity = entity + ? RETURNING entity'
    const end = numberColumn(this.#connection.get(sql, entities.length) ?? [], 0)
    const first = end - entities.length
    for (const [index, { path, kind, parent, settings, rules }] of entities.entries()) {
      const number = first + index
      const above = typeof parent === 'object' ? first + parent.at : parent
      this.#connection.run(
        INSERT_ENTITY,
        number,
        pathKey(path),
        path,
        kind,
        above ?? null,
        ...forwardKeys({ settings, rules }),
        time.storeMs,
        time.storeMs,
        time.lockMs,
      )
      this.#storeDefinition(number, { settings, rules })
    }
    return entities.map((_, index) => this.#byNumber(first + index))
  }

  change(entity: number, definition: EntityDefinition, storeMs: number): EntityRecord {
    this.#connection.run(CHANGE_ENTITY, ...forwardKeys(definition), storeMs, entity)
    this.#storeDefinition(entity, definition)
    return this.#byNumber(entity)
  }

  raiseVersion(entity: number): void {
    this.#connection.run('UPDATE entity SET version = version + 1 WHERE number = ?', entity)
  }

  /** With all of their children. */
  drop(entity: number): void {
    for (const { number } of this.childrenOf(entity)) this.drop(number)
    this.#connection.run('UPDATE entity SET key = NULL WHERE number = ?', entity)
    this.#records.delete(entity)
  }

  #byNumber(entity: number): EntityRecord {
    return this.#record(this.#connection.get(ENTITY_BY_NUMBER, entity) ?? [])
  }

  #storeDefinition(entity: number, { settings, rules }: EntityDefinition): void {
    this.#connection.run(STORE_DEFINITION, entity, JSON.stringify({ settings, rules }))
    this.#records.delete(entity)
  }

  /** Of a row that begins with the columns of a record. */
  #record(row: Row): EntityRecord {
    const number = numberColumn(row, 0)
    const version = numberColumn(row, 1)
    const accessedMs = numberColumn(row, 2)
    const known = this.#records.get(number)
    if (known?.version === version && known.accessedMs === accessedMs) return known
    const record: EntityRecord = {
      ...(known?.version === version ? known : this.#readDefinition(number)),
      number,
      kind: kindOf(textColumn(row, 4)),
      path: textColumn(row, 3),
      parent: numberIfAny(row, 5),
      version,
      createdMs: numberColumn(row, 6),
      updatedMs: numberColumn(row, 7),
      accessedMs,
    }
    this.#records.set(number, record)
    return record
  }

  #readDefinition(entity: number): EntityDefinition {
    const sql = 'SELECT definition FROM entity_definition WHERE entity = ?'
    const row = this.#connection.get(sql, entity)
    if (row === undefined) throw new StoreDamagedError(`entity ${entity} has no definition`)
    const { settings, rules } = parseDefinition(entity, textColumn(row, 0))
    return { settings: { ...NO_SETTINGS, ...settings }, rules }
  }
}

/** JSON leaves out what is undefined. */
const NO_SETTINGS = {
  defaultTtlMs: undefined,
  duplicateWindowMs: undefined,
  autoDeleteOnIdleMs: undefined,
  forwardTo: undefined,
  forwardDeadLettersTo: undefined,
} as const

function forwardKeys({ settings }: EntityDefinition): [string | null, string | null] {
  const { forwardTo, forwardDeadLettersTo } = settings
  return [
    forwardTo === undefined ? null : pathKey(forwardTo),
    forwardDeadLettersTo === undefined ? null : pathKey(forwardDeadLettersTo),
  ]
}

function kindOf(text: string): EntityRecord['kind'] {
  switch (text) {
    case 'topic':
    case 'subscription':
    case 'deadLetter':
      return text
    default:
      return 'queue'
  }
}
