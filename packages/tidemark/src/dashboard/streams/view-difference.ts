import type { Row, View } from '../views.ts'

/** A view of any kind. */
export type AnyView = View<object, Readonly<Record<string, readonly Row[]>>>

/** What has changed, for whoever has the view before. */
export interface Difference {
  readonly atMs: number
  readonly head?: Readonly<Record<string, unknown>>
  readonly rows?: Readonly<Record<string, readonly Row[]>>
  readonly removed?: Readonly<Record<string, readonly string[]>>
}

/** The last view as JSON texts, to find out what the next one changes. */
export class ViewDifference {
  #head = new Map<string, string>()
  readonly #tables = new Map<string, ReadonlyMap<string, string>>()

  /** Keeps the view, and returns how it differs from the one before. Undefined: only in its time. */
  next(view: AnyView): Difference | undefined {
    const head = this.#nextHead(view.head)
    const rows: Record<string, readonly Row[]> = {}
    const removed: Record<string, readonly string[]> = {}
    for (const [name, table] of Object.entries(view.tables)) {
      const before = this.#tables.get(name) ?? new Map<string, string>()
      const now = new Map(table.map((row) => [row.id, JSON.stringify(row)]))
      this.#tables.set(name, now)
      const changed = table.filter(({ id }) => before.get(id) !== now.get(id))
      const gone = [...before.keys()].filter((id) => !now.has(id))
      if (changed.length > 0) rows[name] = changed
      if (gone.length > 0) removed[name] = gone
    }
    const parts = {
      ...(isEmpty(head) ? {} : { head }),
      ...(isEmpty(rows) ? {} : { rows }),
      ...(isEmpty(removed) ? {} : { removed }),
    }
    return isEmpty(parts) ? undefined : { atMs: view.atMs, ...parts }
  }

  #nextHead(head: object): Readonly<Record<string, unknown>> {
    const now = new Map<string, string>()
    const changed: Record<string, unknown> = {}
    for (const [name, value] of Object.entries(head)) {
      const text = JSON.stringify(value)
      now.set(name, text)
      if (this.#head.get(name) !== text) changed[name] = value
    }
    this.#head = now
    return changed
  }
}

function isEmpty(value: object): boolean {
  return Object.keys(value).length === 0
}
