import type { Json } from '../json.ts'
import { MAX_VALUE_CHARS } from '../limits.ts'
import { rowTooLarge, valueChars } from '../values/value-size.ts'
import { createAggregate } from './create-aggregate.ts'
import type { QueryProgress } from './continuation.ts'
import type { QueryRun, RunResult } from './query-run.ts'
import { readPages } from './read-pages.ts'
import { addToAggregates, projectRow, visitRows } from './rows.ts'

type StreamProgress = Extract<QueryProgress, { kind: 'stream' }>

/** Aggregates over all rows: one row, in one page, for which all documents are read. */
export async function runAggregates(run: QueryRun<StreamProgress>): Promise<RunResult> {
  const { query, row } = run
  const states = query.aggregates.map(({ name }) => createAggregate(name, row.budget))
  let examined = 0
  let kept = 0
  const visit = (): boolean => {
    kept += addToAggregates(query.aggregates, states, row)
    if (kept > MAX_VALUE_CHARS) throw rowTooLarge()
    row.budget.keepPage(kept)
    return true
  }
  for await (const { page } of readPages(run, { after: undefined, maxDocuments: () => 1000 })) {
    for (const document of page.documents) {
      examined++
      const visited = visitRows(document, { source: query, row, visit })
      if (typeof visited !== 'boolean') await visited
    }
  }
  row.budget.beginRow()
  row.aggregateValues = states.map((state) => state.result())
  const value: Json = projectRow(query.selection, row)
  const isShown = value !== undefined && run.progress.offset === 0 && run.progress.limit !== 0
  // Also where it is nested too deeply to be written as JSON.
  valueChars(value, row.budget)
  return { items: isShown ? [value] : [], next: undefined, examined }
}
