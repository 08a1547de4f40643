import { visible } from './visible.ts'

/** Columns as wide as their widest cell; numbers aligned to the right. */
export function textTable(
  headings: readonly string[],
  rows: readonly (readonly (string | number)[])[],
): string {
  const cells = [
    headings,
    ...rows.map((row) => row.map((cell) => visible(String(cell)).replaceAll('\n', '\\n'))),
  ]
  const widths = headings.map((_, column) =>
    Math.max(...cells.map((row) => row[column]?.length ?? 0)),
  )
  const numeric = headings.map((_, column) =>
    rows.every((row) => typeof row[column] === 'number' || row[column] === '-'),
  )
  const lines = cells.map((row) =>
    row
      .map((cell, column) => {
        const width = widths[column] ?? 0
        return numeric[column] === true ? cell.padStart(width) : cell.padEnd(width)
      })
      .join('  ')
      .trimEnd(),
  )
  return `${lines.join('\n')}\n`
}
