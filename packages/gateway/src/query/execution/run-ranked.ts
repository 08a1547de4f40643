import { BadQueryError } from '../bad-query-error.ts'
import type { Json, JsonObject } from '../json.ts'
import { MAX_PAGE_CHARS, MAX_PAGE_ROWS } from '../limits.ts'
import { QueryTooCostlyError } from '../query-too-costly-error.ts'
import { sortValue, type SortValue } from '../values/sort-value.ts'
import { valueHash } from '../values/value-hash.ts'
import { valueChars } from '../values/value-size.ts'
import type { AggregateState } from './aggregate-state.ts'
import { createAggregate } from './create-aggregate.ts'
import type { QueryProgress } from './continuation.ts'
import { evaluate } from './evaluate.ts'
import { boundaryAfter, rowsToDrop } from './page-boundary.ts'
import type { QueryRun, RunResult } from './query-run.ts'
import { compareRanks, placeOf, type Rank } from './rank.ts'
import { readPages } from './read-pages.ts'
import { addToAggregates, projectRow, visitRows } from './rows.ts'
import { TopRows, type RankedRow } from './top-rows.ts'

export type RankedProgress = Extract<QueryProgress, { kind: 'ranked' }>

/** A row that is ready, or a group whose aggregates are still counting. */
type Held =
  | { readonly kind: 'row'; readonly value: Json }
  | { readonly kind: 'group'; readonly keys: readonly Json[]; readonly states: AggregateState[] }

/** Characters of the rows of one page of groups. */
const MAX_GROUPS_CHARS = 2 * MAX_PAGE_CHARS

/** What a group costs beside its keys. */
const GROUP_CHARS = 200

/**
 * A query with ORDER BY, DISTINCT or GROUP BY: each page reads all documents and keeps the first rows
 * after the last row of the page before. Memory is that of one page, whatever is stored.
 *
 * A document that does not change between pages is given exactly once, whatever others do. One that
 * changes its place in the order meanwhile is missed or repeated only if it passes the boundary.
 */
export async function runRanked(run: QueryRun<RankedProgress>): Promise<RunResult> {
  const collector = new RankedCollector(run)
  let examined = 0
  if (run.progress.limit === 0) return { items: [], next: undefined, examined }
  for await (const { page } of readPages(run, { after: undefined, maxDocuments: () => 1000 })) {
    for (const document of page.documents) {
      examined++
      const taken = collector.take(document)
      if (typeof taken !== 'boolean') await taken
    }
    if (collector.hasEnough) break
  }
  return { ...(await collector.finish()), examined }
}

class RankedCollector {
  readonly #run: QueryRun<RankedProgress>
  readonly #rows: TopRows<Held>
  readonly #descending: readonly boolean[]
  /** Where equal rows are one row, the hash of a row is its tie. */
  readonly #merges: boolean

  constructor(run: QueryRun<RankedProgress>) {
    const { query } = run
    this.#run = run
    this.#descending = query.orderBy.map(({ descending }) => descending)
    this.#merges = query.distinct || query.groupBy.length > 0
    this.#rows = new TopRows({
      maxRows: this.#resolveCapacity(),
      maxChars: MAX_PAGE_CHARS,
      compare: (left, right) => compareRanks(left, right, this.#descending),
    })
  }

  /** True when further documents can change nothing: DISTINCT has all rows that it will ever give. */
  get hasEnough(): boolean {
    const { distinct, orderBy } = this.#run.query
    const { limit = Infinity, offset } = this.#run.progress
    const wanted = offset + limit
    return distinct && orderBy.length === 0 && this.#fitsOnePage && this.#rows.size >= wanted
  }

  /** True when a limit says that this first page is the only one. */
  get #fitsOnePage(): boolean {
    const { progress, maxRows } = this.#run
    return this.#isFirstPage && progress.limit !== undefined && progress.limit <= maxRows
  }

  #resolveCapacity(): number {
    const { query, progress, maxRows } = this.#run
    // Keeping all, so that pages cut by OFFSET and LIMIT come from one order, whatever their numbers.
    if (this.#merges && query.orderBy.length === 0 && this.#fitsOnePage) return MAX_PAGE_ROWS
    const pageRows = Math.min(maxRows, progress.limit ?? Infinity)
    const wanted = rowsToDrop(progress.boundary) + progress.offset + pageRows
    return Math.min(wanted, MAX_PAGE_ROWS)
  }

  get #isFirstPage(): boolean {
    return this.#run.progress.boundary === undefined
  }

  take(document: JsonObject): boolean | Promise<boolean> {
    const { query, row } = this.#run
    let ordinal = 0
    const visit = (): boolean => {
      if (query.groupBy.length > 0) this.#takeIntoGroup()
      else this.#takeRow(document, ordinal++)
      row.budget.keepPage(this.#rows.chars)
      return !this.hasEnough
    }
    return visitRows(document, { source: query, row, visit })
  }

  #takeRow(document: JsonObject, ordinal: number): void {
    const { query, row, leaveOutUndefined } = this.#run
    const keys = query.orderBy.map(({ value }) => sortValue(evaluate(value, row), row.budget))
    if (leaveOutUndefined && keys.length === 1 && keys[0] === undefined) return
    if (query.distinct) {
      const value = projectRow(query.selection, row)
      if (value !== undefined)
        this.#offer({ keys, tie: valueHash(value, row.budget), ordinal: 0 }, value)
      return
    }
    const rank = { keys, tie: ridOrder(document['_rid']), ordinal }
    if (!this.#isWanted(rank)) return
    const value = projectRow(query.selection, row)
    if (value !== undefined) this.#add(rank, value)
  }

  #takeIntoGroup(): void {
    const { query, row } = this.#run
    const keys = query.groupBy.map((value) => evaluate(value, row))
    const rank: Rank = { keys: [], tie: valueHash(keys, row.budget), ordinal: 0 }
    let group = this.#rows.withTie(rank.tie)
    if (group === undefined) {
      if (!this.#isWanted(rank)) return
      const states = query.aggregates.map(({ name }) => createAggregate(name, row.budget))
      group = { kind: 'group', keys, states }
      const chars = keys.reduce<number>((sum, key) => sum + valueChars(key, row.budget), 0)
      this.#rows.add(rank, group, { chars: chars + GROUP_CHARS * (states.length + 1) })
    }
    if (group.kind !== 'group') return
    this.#rows.grow(rank.tie, addToAggregates(query.aggregates, group.states, row))
  }

  #offer(rank: Rank, value: Json): void {
    if (this.#rows.withTie(rank.tie) === undefined && this.#isWanted(rank)) this.#add(rank, value)
  }

  #add(rank: Rank, value: Json): void {
    const keyChars = rank.keys.reduce<number>((sum, key) => sum + keyLength(key), 0)
    this.#rows.add(
      rank,
      { kind: 'row', value },
      { chars: valueChars(value, this.#run.row.budget) + keyChars },
    )
  }

  #isWanted(rank: Rank): boolean {
    const { boundary } = this.#run.progress
    const isBefore = boundary && placeOf(rank, boundary, this.#descending) === 'before'
    return isBefore !== true && this.#rows.admits(rank)
  }

  async finish(): Promise<Omit<RunResult, 'examined'>> {
    const { progress, maxRows } = this.#run
    const all = this.#comesAsMet ? this.#rows.asTheyCame() : this.#rows.inOrder()
    const dropped = this.#countGiven(all)
    const passedOver = Math.min(progress.offset, all.length - dropped)
    const first = dropped + passedOver
    const taken = all.slice(first, first + Math.min(maxRows, progress.limit ?? Infinity))
    const limit = progress.limit === undefined ? undefined : progress.limit - taken.length
    const items = await this.#valuesOf(taken)
    const end = all[first + taken.length - 1]
    const isAtEnd = limit === 0 || (first + taken.length === all.length && !this.#rows.overflowed)
    if (isAtEnd || this.hasEnough || end === undefined) return { items, next: undefined }
    if (taken.length + passedOver === 0) {
      throw new BadQueryError(
        'too many rows begin with the same long value of ORDER BY to be paged',
      )
    }
    const given = all.slice(0, first + taken.length).map(({ rank }) => rank)
    const offset = progress.offset - passedOver
    const boundary = boundaryAfter(given, this.#descending)
    return { items, next: { kind: 'ranked', boundary, offset, limit } }
  }

  /**
   * Rows without an order come as they were met, where all of them are at hand. Only what needs several
   * pages has to have an order that a later page can go on in.
   */
  get #comesAsMet(): boolean {
    const { query } = this.#run
    const isWhole = this.#isFirstPage && (!this.#rows.overflowed || this.hasEnough)
    const isUnordered = this.#merges && query.orderBy.length === 0
    return isWhole && isUnordered && (query.offset === undefined || this.#fitsOnePage)
  }

  /** How many of the first rows the pages before have given, where the boundary is a beginning only. */
  #countGiven(rows: readonly RankedRow<Held>[]): number {
    const { boundary } = this.#run.progress
    if (boundary?.kind !== 'prefix') return 0
    const within = rows.filter(
      ({ rank }) => placeOf(rank, boundary, this.#descending) === 'within',
    ).length
    return Math.min(boundary.given, within)
  }

  async #valuesOf(rows: readonly RankedRow<Held>[]): Promise<Json[]> {
    const { budget } = this.#run.row
    const values: Json[] = []
    let chars = 0
    for (const { item } of rows) {
      budget.beginRow()
      if (budget.turnDue) await budget.turn()
      const value = item.kind === 'row' ? item.value : this.#groupValue(item)
      if (value === undefined) continue
      // What SELECT makes of a group can be far larger than the group.
      if (item.kind === 'group') chars += valueChars(value, budget)
      budget.keepPage(this.#rows.chars + chars)
      if (chars > MAX_GROUPS_CHARS) {
        throw new QueryTooCostlyError(
          `the rows of one page of GROUP BY are larger than ${MAX_GROUPS_CHARS} characters: ` +
            'ask for fewer rows a page (x-ms-max-item-count)',
        )
      }
      values.push(value)
    }
    return values
  }

  #groupValue(held: Extract<Held, { kind: 'group' }>): Json {
    const { query, row } = this.#run
    row.groupValues = held.keys
    row.aggregateValues = held.states.map((state) => state.result())
    return projectRow(query.selection, row)
  }
}

/**
 * The order of equal rows: that of the last 8 bytes of their `_rid` as a little-endian number. By it clients that merge
 * ranges find out which of such rows they had already (`FilterNextAsync` of the .NET client).
 */
function ridOrder(rid: Json): string {
  if (typeof rid !== 'string') return ''
  const bytes = Buffer.from(rid.replaceAll('-', '/'), 'base64')
  return bytes.length === RID_BYTES ? bytes.subarray(8).reverse().toString('hex') : rid
}

const RID_BYTES = 16

function keyLength(key: SortValue): number {
  return typeof key === 'string' ? key.length : 10
}
