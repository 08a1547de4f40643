import type { Json } from '../json.ts'
import { createAggregate } from './aggregate-state.ts'
import type { QueryProgress } from './continuation.ts'
import { evaluate } from './evaluate.ts'
import type { QueryRun, RunResult } from './query-run.ts'
import { readPages } from './read-pages.ts'
import { enterDocument, projectRow, visitRows } from './rows.ts'

type StreamProgress = Extract<QueryProgress, { kind: 'stream' }>

/** Aggregates over all rows: one row, in one page, for which all documents are read. */
export async function runAggregates(run: QueryRun<StreamProgress>): Promise<RunResult> {
  const { query, row, source, signal } = run
  const states = query.aggregates.map(({ name }) => createAggregate(name))
  let examined = 0
  const reading = readPages(source, { after: undefined, maxDocuments: () => 1000, signal })
  for await (const { page } of reading) {
    for (const document of page.documents) {
      examined++
      enterDocument(row, document)
      visitRows(query, row, () => {
        for (const [index, { operand }] of query.aggregates.entries()) {
          states[index]?.add(evaluate(operand, row))
        }
        return true
      })
    }
  }
  row.aggregateValues = states.map((state) => state.result())
  const value: Json = projectRow(query.selection, row)
  const isShown = value !== undefined && run.progress.offset === 0 && run.progress.limit !== 0
  return { items: isShown ? [value] : [], next: undefined, examined }
}
