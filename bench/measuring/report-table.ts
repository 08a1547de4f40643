import type { MeasuredResult } from './run-scenario.ts'
import type { Goal } from './scenario.ts'

const HEADINGS = ['name', 'value', 'unit', 'raw', 'ratio', 'goal', 'raw is'] as const

/** The results as lines of a table. */
export function reportTable(results: readonly MeasuredResult[]): string {
  const rows = [
    [...HEADINGS],
    ...results.map((result) => [
      result.name,
      readable(result.value),
      result.unit,
      readable(result.raw),
      result.ratio.toFixed(2),
      goalText(result),
      result.measure.rawIs,
    ]),
  ]
  const widths = HEADINGS.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)))
  return rows
    .map((row) =>
      row
        .map((cell, column) => pad(cell, column, widths))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

/** True when the result has no goal or reaches it. */
export function reachesGoal({ value, ratio, measure: { goal } }: MeasuredResult): boolean {
  if (goal === undefined) return true
  const figure = goal.of === 'ratio' ? ratio : value
  return goal.is === 'atLeast' ? figure >= goal.limit : figure <= goal.limit
}

function goalText(result: MeasuredResult): string {
  const { goal } = result.measure
  if (goal === undefined) return ''
  return `${goalLimit(goal)} ${reachesGoal(result) ? 'ok' : 'MISSED'}`
}

function goalLimit({ of, is, limit }: Goal): string {
  return `${of} ${is === 'atLeast' ? '>=' : '<='} ${limit}`
}

function readable(value: number): string {
  return value >= 1_000 ? Math.round(value).toLocaleString('en-US') : String(value)
}

/** Numbers to the right, text to the left. */
function pad(cell: string, column: number, widths: readonly number[]): string {
  const width = widths[column] ?? 0
  const numeric = column === 1 || column === 3 || column === 4
  return numeric ? cell.padStart(width) : cell.padEnd(width)
}
