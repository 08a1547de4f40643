import type { JsonObject, Json } from '../json.ts'
import { MAX_PAGE_CHARS } from '../limits.ts'
import { valueChars } from '../values/value-size.ts'
import type { QueryProgress } from './continuation.ts'
import type { QueryRun, RunResult } from './query-run.ts'
import { readPages } from './read-pages.ts'
import { projectRow, visitRows } from './rows.ts'

type StreamProgress = Extract<QueryProgress, { kind: 'stream' }>

/** Documents asked for at once where a condition lets only some of them through. */
const FILTERED_PAGE = 200
const LARGEST_PAGE = 1000

/**
 * A query without an order: rows as the source has the documents, from where the page before ended.
 * No row is lost or repeated when documents come, go or change behind or before that place; a JOIN's
 * page that ends inside a document goes by the number of that document's rows.
 */
export async function runStream(run: QueryRun<StreamProgress>): Promise<RunResult> {
  const page = new StreamPage(run)
  const { query, progress } = run
  const isPlain = query.where === undefined && query.from.sources.length === 0
  const maxDocuments = (): number => {
    const wanted = page.rowsWanted
    return Math.min(isPlain ? wanted : Math.max(wanted, FILTERED_PAGE), LARGEST_PAGE)
  }
  if (page.rowsWanted === 0) return page.result(undefined)
  for await (const read of readPages(run, { after: progress.after, maxDocuments })) {
    const { documents, done, position } = read.page
    for (const [index, document] of documents.entries()) {
      const taken = page.take(document)
      // Most are at hand; waiting for each of them would take longer than they took.
      const state = typeof taken === 'string' ? taken : await taken
      if (state === 'more' && !run.row.budget.isPageLong) continue
      const isLast = done && index === documents.length - 1
      if (state === 'inside') {
        const after = index === 0 ? read.before : read.page.positionAfter(index - 1)
        return page.result({ after, rowsGiven: page.rowsOfDocument })
      }
      if (isLast) return page.result(undefined)
      return page.result({ after: read.page.positionAfter(index), rowsGiven: 0 })
    }
    if (!done && page.examined >= run.maxExamined) {
      return page.result({ after: position, rowsGiven: 0 })
    }
  }
  return page.result(undefined)
}

/** `more`: go on; `full`: the page ends after this document; `inside`: it ends among its rows. */
type DocumentState = 'more' | 'full' | 'inside'

/** The rows of one page while documents go by. */
class StreamPage {
  readonly #run: QueryRun<StreamProgress>
  readonly #items: Json[] = []
  readonly #hasOneRowPerDocument: boolean
  #chars = 0
  #offset: number
  #limit: number | undefined
  #rowsToSkip: number
  /** Rows of the present document that were used, given or passed over. */
  rowsOfDocument = 0
  examined = 0

  constructor(run: QueryRun<StreamProgress>) {
    this.#run = run
    this.#offset = run.progress.offset
    this.#limit = run.progress.limit
    this.#rowsToSkip = run.progress.rowsGiven
    this.#hasOneRowPerDocument = run.query.from.sources.length === 0
  }

  /** Rows that this page may still need, those passed over included. */
  get rowsWanted(): number {
    const limit = this.#limit ?? Infinity
    if (limit === 0) return 0
    return this.#offset + Math.min(this.#run.maxRows - this.#items.length, limit)
  }

  take(document: JsonObject): DocumentState | Promise<DocumentState> {
    const { query, row } = this.#run
    this.examined++
    this.rowsOfDocument = 0
    const visit = (): boolean => this.#takeRow()
    const wentThrough = visitRows(document, { source: query, row, visit })
    return typeof wentThrough === 'boolean'
      ? this.#stateAfter(wentThrough)
      : wentThrough.then((went) => this.#stateAfter(went))
  }

  #stateAfter(wentThrough: boolean): DocumentState {
    this.#rowsToSkip = 0
    if (!wentThrough && !this.#hasOneRowPerDocument && this.#limit !== 0) return 'inside'
    return this.#isFull() ? 'full' : 'more'
  }

  /** False when the page is full. */
  #takeRow(): boolean {
    const { query, row } = this.#run
    this.rowsOfDocument++
    if (this.rowsOfDocument <= this.#rowsToSkip) return true
    const value = projectRow(query.selection, row)
    if (value === undefined) return true
    if (this.#offset > 0) {
      this.#offset--
      return true
    }
    this.#chars += valueChars(value, row.budget)
    row.budget.keepPage(this.#chars)
    this.#items.push(value)
    if (this.#limit !== undefined) this.#limit--
    return !this.#isFull()
  }

  #isFull(): boolean {
    const { maxRows } = this.#run
    return this.#items.length >= maxRows || this.#limit === 0 || this.#chars >= MAX_PAGE_CHARS
  }

  result(next: Pick<StreamProgress, 'after' | 'rowsGiven'> | undefined): RunResult {
    const isAtEnd = next === undefined || this.#limit === 0
    return {
      items: this.#items,
      next: isAtEnd
        ? undefined
        : { kind: 'stream', ...next, offset: this.#offset, limit: this.#limit },
      examined: this.examined,
    }
  }
}
