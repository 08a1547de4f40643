import type { Clock } from '@tidemark/contracts'
import type { DocumentSource, SourcePage } from './document-source.ts'
import { runQuery } from './execution/run-query.ts'
import type { Json, JsonObject } from './json.ts'
import type { QueryResultPage, RunQueryOptions } from './query-options.ts'
import { parseQuery } from './syntax/parse-query.ts'

/** 2026-01-02T03:04:05.678Z. */
export const NOW_MS = 1_767_323_045_678

export const fixedClock: Clock = {
  wallMs: () => NOW_MS,
  monotonicMs: () => 0,
  sleep: () => Promise.resolve(),
}

/** Documents with `_rid` and `id`, which go by their place. */
export function withRids(documents: readonly JsonObject[]): JsonObject[] {
  return documents.map((document, index) => {
    const id = String(index).padStart(6, '0')
    return { id, ...document, _rid: `rid${id}` }
  })
}

/** Documents in the order of their `_rid`, which is also the position: those may come and go in between. */
export class MemorySource implements DocumentSource {
  documents: readonly JsonObject[]
  readonly #maxPage: number
  reads = 0

  constructor(documents: readonly JsonObject[], options: { maxPage?: number } = {}) {
    this.documents = documents
    this.#maxPage = options.maxPage ?? 3
  }

  read({
    after = '',
    maxDocuments,
  }: {
    after: string | undefined
    maxDocuments: number
  }): Promise<SourcePage> {
    this.reads++
    const following = this.documents.filter((document) => ridOf(document) > after)
    const documents = following.slice(0, Math.min(maxDocuments, this.#maxPage))
    const last = documents.at(-1)
    return Promise.resolve({
      documents,
      position: last && ridOf(last),
      positionAfter: (index) => ridOf(documents[index]!),
      done: documents.length === following.length,
    })
  }
}

function ridOf({ _rid: rid }: JsonObject): string {
  if (typeof rid !== 'string') throw new Error('a stored document has a _rid')
  return rid
}

export type RunRequest = Partial<Omit<RunQueryOptions, 'source' | 'parameters'>> & {
  readonly parameters?: Readonly<Record<string, Json>>
}

/** One page. Parameters go by name, without the `@`. */
export function runPage(
  text: string,
  source: DocumentSource,
  { parameters = {}, ...options }: RunRequest = {},
): Promise<QueryResultPage> {
  return runQuery(parseQuery(text), {
    clock: fixedClock,
    signal: new AbortController().signal,
    ...options,
    source,
    parameters: Object.entries(parameters).map(([name, value]) => ({ name: `@${name}`, value })),
  })
}

/** All pages of a query over these documents. */
export async function allPages(
  text: string,
  source: DocumentSource,
  request: RunRequest = {},
): Promise<unknown[][]> {
  const pages: unknown[][] = []
  let continuation: string | undefined
  do {
    const page = await runPage(text, source, { ...request, continuation })
    pages.push([...page.items])
    continuation = page.continuation
    if (pages.length > 10_000) throw new Error('the query does not come to its end')
  } while (continuation !== undefined)
  return pages
}

/** All rows of a query over these documents. */
export async function rowsOf(
  text: string,
  documents: readonly JsonObject[],
  request: RunRequest = {},
): Promise<unknown[]> {
  return (await allPages(text, new MemorySource(withRids(documents)), request)).flat()
}

/** The value of an expression over one document `c`; undefined when it has none. */
export async function valueOf(
  expression: string,
  document: JsonObject = {},
  parameters: Readonly<Record<string, Json>> = {},
): Promise<unknown> {
  const [row] = await rowsOf(`SELECT VALUE [${expression}] FROM c`, [document], { parameters })
  return Array.isArray(row) ? row[0] : undefined
}
