import type { ScenarioResult } from './scenario.ts'

/** One scenario, on one line, and what is wrong with it on more. */
export function lineOf(result: ScenarioResult): string {
  const { name, tookMs, written, signs, figures, wrong } = result
  const { lost, outOfOrder, duplicates, bound, boundText } = result
  const parts = [
    `${wrong.length === 0 ? 'ok  ' : 'FAIL'} ${name} ${(tookMs / 1000).toFixed(1)} s`,
    Object.entries(signs)
      .map(([what, count]) => `${count} ${what}`)
      .join(', '),
    `${written} changes, ${lost} lost, ${outOfOrder} out of order, ` +
      `${duplicates} duplicates of ${bound} allowed (${boundText})`,
    ...(figures === undefined ? [] : [figures]),
  ]
  return [parts.join(': '), ...wrong.map((sentence) => `     ${sentence}`)].join('\n')
}

/** The last line of a run. */
export function closingLine(results: readonly ScenarioResult[]): string {
  const sum = (count: (result: ScenarioResult) => number): number =>
    results.reduce((total, result) => total + count(result), 0)
  const failed = results.filter(({ wrong }) => wrong.length > 0)
  const beyond = results.filter(({ duplicates, bound }) => duplicates > bound)
  return [
    `${new Set(results.map(({ name }) => name)).size} scenarios`,
    `${sum(({ faults }) => faults)} faults seen`,
    `${sum(({ lost }) => lost)} lost`,
    `${sum(({ outOfOrder }) => outOfOrder)} out of order`,
    `${sum(({ duplicates }) => duplicates)} duplicates ${beyond.length === 0 ? 'within bound' : 'NOT within bound'}`,
    ...(failed.length === 0
      ? []
      : [`${failed.length} failed: ${failed.map(({ name }) => name).join(', ')}`]),
  ].join(', ')
}
