import { existsSync, readFileSync } from 'node:fs'
import { rowKey, type SeenPage, type SeenRow, type WrittenRow } from './ordered-feed.ts'

/** A transaction that a writer was told of. */
export interface AcknowledgedWrite {
  readonly lsn: number
  readonly rows: readonly { readonly key: string; readonly version: number }[]
}

const PAGE_MARK = 'page'

export function acknowledgementLine(lsn: number, rows: readonly WrittenRow[]): string {
  return `${lsn} ${rows.map((row) => `${rowKey(row)} ${row.version}`).join(' ')}\n`
}

/** The whole lines. */
export function readAcknowledged(file: string): readonly AcknowledgedWrite[] {
  return wholeLines(file).map((line) => {
    const [lsn, ...parts] = line.split(' ')
    const rows: { key: string; version: number }[] = []
    for (let index = 0; index + 1 < parts.length; index += 2) {
      rows.push({ key: parts[index] ?? '', version: Number(parts[index + 1]) })
    }
    return { lsn: Number(lsn), rows }
  })
}

export function pageLines({ range, rows }: SeenPage): string {
  const lines = rows.map(({ key, version, lsn }) => `${lsn} ${key} ${version}\n`)
  return `${PAGE_MARK} ${range}\n${lines.join('')}`
}

export function readPages(file: string): readonly SeenPage[] {
  const pages: { range: string; rows: SeenRow[] }[] = []
  for (const line of wholeLines(file)) {
    const [first = '', second = '', third] = line.split(' ')
    if (first === PAGE_MARK) pages.push({ range: second, rows: [] })
    else pages.at(-1)?.rows.push({ lsn: Number(first), key: second, version: Number(third) })
  }
  return pages
}

function wholeLines(file: string): readonly string[] {
  return existsSync(file) ? readFileSync(file, 'utf8').split('\n').slice(0, -1) : []
}
