import { visible } from './visible.ts'

type Row = readonly (string | number)[]

/** Columns as wide as their widest cell; numbers aligned to the right. */
export function textTable(headings: readonly string[], rows: readonly Row[]): string {
  return new PagedTable(headings).page(rows)
}

/** A table that is written page by page: a column is never narrower than on the pages before. */
export class PagedTable {
  #headings: readonly string[] | undefined
  #widths: readonly number[]

  constructor(headings: readonly string[]) {
    this.#headings = headings
    this.#widths = headings.map(() => 0)
  }

  /** The first page begins with the headings. */
  page(rows: readonly Row[]): string {
    const cells = rows.map((row) =>
      row.map((cell) => visible(String(cell)).replaceAll('\n', '\\n')),
    )
    if (this.#headings !== undefined) cells.unshift([...this.#headings])
    this.#headings = undefined
    this.#widths = this.#widths.map((before, column) =>
      cells.reduce((widest, row) => Math.max(widest, row[column]?.length ?? 0), before),
    )
    const numeric = this.#widths.map((_, column) =>
      rows.every((row) => typeof row[column] === 'number' || row[column] === '-'),
    )
    const lines = cells.map((row) =>
      row
        .map((cell, column) => {
          const width = this.#widths[column] ?? 0
          return numeric[column] === true ? cell.padStart(width) : cell.padEnd(width)
        })
        .join('  ')
        .trimEnd(),
    )
    return lines.map((line) => `${line}\n`).join('')
  }
}
