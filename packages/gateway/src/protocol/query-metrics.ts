/** What a page of a query did. */
export interface QueryWork {
  /** Documents looked at. */
  readonly examined: number
  readonly rows: number
  readonly rowChars: number
  readonly elapsedMs: number
}

/**
 * The text of the metrics header, in the names that clients read. There is no index, so that all time is spent on
 * looking at documents; what is not measured is 0.
 */
export function queryMetricsText({ examined, rows, rowChars, elapsedMs }: QueryWork): string {
  const time = elapsedMs.toFixed(2)
  return Object.entries({
    totalExecutionTimeInMs: time,
    queryCompileTimeInMs: '0.00',
    queryLogicalPlanBuildTimeInMs: '0.00',
    queryPhysicalPlanBuildTimeInMs: '0.00',
    queryOptimizationTimeInMs: '0.00',
    VMExecutionTimeInMs: time,
    indexLookupTimeInMs: '0.00',
    documentLoadTimeInMs: '0.00',
    systemFunctionExecuteTimeInMs: '0.00',
    userFunctionExecuteTimeInMs: '0.00',
    retrievedDocumentCount: String(examined),
    retrievedDocumentSize: '0',
    outputDocumentCount: String(rows),
    outputDocumentSize: String(rowChars),
    writeOutputTimeInMs: '0.00',
    indexUtilizationRatio: '0.00',
  })
    .map(([name, value]) => `${name}=${value}`)
    .join(';')
}
