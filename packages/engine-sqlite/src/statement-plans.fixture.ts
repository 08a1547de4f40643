import { DatabaseSync, type StatementSync } from 'node:sqlite'

/** A frame of what prepares a statement: not of this file, nor of the connection. */
const FRAME = /\/engine-sqlite\/src\/((?!statement-plans\.|connection\/connection\.)[\w./-]+\.ts):/
/** These read everything: of a larger file in a thread of its own. */
const CHECKS = /\/check-(?:database|messages)\.ts$/
/** Tables of one row, and what comes out of an inner query, whose own steps are looked at. */
const FEW_ROWS = /^SCAN (?:head|broker|CONSTANT ROW|sqlite_schema|\(subquery-\d+\))$/
/** Tables that grow with collections, ranges and queues, and not with what is in them. */
const OF_DEFINITIONS: ReadonlySet<string> = new Set([
  // The catalog, read again after each change of it.
  'connection/catalog-rows.ts: SCAN collection',
  'connection/catalog-rows.ts: USE TEMP B-TREE FOR ORDER BY',
  'connection/catalog-rows.ts: USE TEMP B-TREE FOR LAST 3 TERMS OF ORDER BY',
  // A deleted collection, a folded range.
  'writer/collection-writes.ts: SCAN segment',
  'writer/maintenance/fold-segments.ts: SCAN p',
  'messages/entity-rows.ts: SCAN entity',
  'messages/purge-dropped.ts: SCAN entity USING INDEX entity_dropped',
  // The row of `broker`.
  'messages/entity-rows.ts: SCAN b',
])
const GROWING = /^SEARCH (?:doc|log|entry|message|message_body|seen|session|[dems]) /
/** The rows of one document, message or session. */
const ONE_KEY =
  /\b(?:rowid|id|ukey|value)=\?\)|(?:session_name|message_number) \(entity=\? AND \w+=\?\)/

/**
 * Has SQLite explain each statement that is prepared on this thread from now on, so that a test can say of all of them
 * that they go by an index, without a list that somebody has to keep.
 */
export class StatementPlans implements Disposable {
  readonly #costly = new Map<string, readonly string[]>()
  readonly #restore: () => void

  constructor() {
    const original = Object.getOwnPropertyDescriptor(DatabaseSync.prototype, 'prepare')
    const prepare: unknown = original?.value
    if (original === undefined || typeof prepare !== 'function') throw new Error('no prepare')
    const call = (database: DatabaseSync, sql: string): StatementSync =>
      Reflect.apply(prepare, database, [sql]) as StatementSync
    const look = (database: DatabaseSync, sql: string): void => {
      if (this.#costly.has(sql)) return
      const explained = call(database, `EXPLAIN QUERY PLAN ${sql}`).all()
      const steps = explained.map(({ detail }) => String(detail))
      this.#costly.set(sql, costlySteps(sql, steps))
    }
    Object.defineProperty(DatabaseSync.prototype, 'prepare', {
      ...original,
      value(this: DatabaseSync, sql: string): StatementSync {
        look(this, sql)
        return call(this, sql)
      },
    })
    this.#restore = () => Object.defineProperty(DatabaseSync.prototype, 'prepare', original)
  }

  /** How many statements were prepared. */
  get size(): number {
    return this.#costly.size
  }

  /**
   * What sorts although an index may have the order, looks at every row of what is stored, or reads any number of rows
   * of one key without a limit.
   */
  get costly(): readonly string[] {
    return [...this.#costly.values()].flat()
  }

  [Symbol.dispose](): void {
    this.#restore()
  }
}

function costlySteps(sql: string, steps: readonly string[]): readonly string[] {
  const file = FRAME.exec(new Error('who prepares it').stack ?? '')?.[1] ?? ''
  if (CHECKS.test(file)) return []
  const isLimited = /\bLIMIT\b|\b(?:min|max)\(/.test(sql)
  return steps
    .filter((step) =>
      /\bSCAN\b|TEMP B-TREE|AUTOMATIC/.test(step)
        ? !FEW_ROWS.test(step) && !OF_DEFINITIONS.has(`${file}: ${step}`)
        : !isLimited && GROWING.test(step) && !ONE_KEY.test(step),
    )
    .map((step) => `${file}: ${step} of ${sql}`)
}
