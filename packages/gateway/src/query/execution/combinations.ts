import { isJsonArray, type Json } from '../json.ts'
import type { FromClause, FromSource } from '../syntax/query.ts'
import { evaluate } from './evaluate.ts'
import type { RowEnvironment } from './row-environment.ts'

/**
 * The rows that the sources of FROM and JOIN make of the present document, in the order of the arrays. It goes from
 * one value of one source to the next, so that a walk over millions of them can be interrupted anywhere.
 */
export class Combinations {
  readonly #sources: readonly FromSource[]
  readonly #row: RowEnvironment
  /** Of each source that was begun: its values, and which of them comes next. */
  readonly #begun: { readonly values: readonly Json[]; readonly chars: number; next: number }[] = []
  #keptChars = 0
  #isNew = true

  constructor({ sources }: FromClause, row: RowEnvironment) {
    this.#sources = sources
    this.#row = row
  }

  /** Characters that the sources that were begun have made. */
  get keptChars(): number {
    return this.#keptChars
  }

  /** `row`: the environment's slots hold the next one; `step`: call again. */
  advance(): 'row' | 'step' | 'end' {
    this.#row.budget.step()
    const depth = this.#begun.length
    if (this.#isNew) {
      this.#isNew = false
      return this.#begin(depth)
    }
    const present = this.#begun[depth - 1]
    const source = this.#sources[depth - 1]
    if (present === undefined || source === undefined) return 'end'
    if (present.next === present.values.length) {
      this.#begun.pop()
      this.#keptChars -= present.chars
      return 'step'
    }
    this.#row.slots[source.slot] = present.values[present.next++]
    return this.#begin(depth)
  }

  #begin(depth: number): 'row' | 'step' {
    const source = this.#sources[depth]
    if (source === undefined) return 'row'
    const { budget } = this.#row
    const before = budget.rowChars
    const values = sourceValues(source, this.#row)
    const chars = budget.rowChars - before
    this.#begun.push({ values, chars, next: 0 })
    this.#keptChars += chars
    return 'step'
  }
}

function sourceValues({ from, each }: FromSource, row: RowEnvironment): readonly Json[] {
  const isSubquery = from.kind === 'rows'
  const values = isSubquery ? row.rowsOf(from.query, Infinity) : [evaluate(from, row)]
  // Rows of a subquery are defined.
  if (each === 'value') return isSubquery ? values : values.filter((value) => value !== undefined)
  const arrays = values.filter(isJsonArray)
  // The usual case: no copy of the array.
  if (arrays.length <= 1) return arrays[0] ?? []
  for (const array of arrays) row.budget.makeItems(array.length)
  return arrays.flat()
}
