import type { AcknowledgedWrite } from './logs.ts'
import type { SeenPage, SeenRow } from './ordered-feed.ts'

/** What a reader must not do; each is counted, and the first few are told. */
export interface ReaderVerdict {
  /** Rows that are there and that it never got. */
  readonly unseen: number
  /** Versions that it got more than once, or that nobody wrote. */
  readonly twice: number
  /** LSNs that went back: within a range, or for a row. */
  readonly disordered: number
  readonly told: readonly string[]
}

const MAX_TOLD = 5

/** Compares what one reader got, in its order, with what is there at the end. */
export function checkReader(
  pages: readonly SeenPage[],
  present: readonly SeenRow[],
): ReaderVerdict {
  const faults = new Faults()
  const newestOfRange = new Map<string, number>()
  const seen = new Map<string, SeenRow>()
  for (const { range, rows } of pages) {
    // A transaction is one page's: the next page begins above it.
    const before = newestOfRange.get(range) ?? 0
    let last = before
    for (const row of rows) {
      const known = seen.get(row.key)
      if (row.lsn <= before || row.lsn < last) {
        faults.add('disordered', `${row.key} came with LSN ${row.lsn} after ${last}`)
      }
      last = row.lsn
      if (known?.version === row.version) {
        faults.add('twice', `${row.key} came twice with version ${row.version}`)
      } else if (known !== undefined && (known.version > row.version || known.lsn >= row.lsn)) {
        faults.add('disordered', `${row.key}: version ${row.version} came after ${known.version}`)
      }
      seen.set(row.key, row)
    }
    newestOfRange.set(range, last)
  }
  for (const { key, version, lsn } of present) {
    const row = seen.get(key)
    if (row?.version !== version || row.lsn !== lsn) {
      faults.add('unseen', `version ${version} of ${key} at LSN ${lsn} was never seen`)
    }
  }
  return faults.verdict()
}

/** Acknowledged rows that are not there, each as a line. */
export function checkAcknowledged(
  acknowledged: readonly AcknowledgedWrite[],
  present: readonly SeenRow[],
): readonly string[] {
  const byKey = new Map(present.map((row) => [row.key, row]))
  const lost: string[] = []
  for (const { lsn, rows } of acknowledged) {
    for (const { key, version } of rows) {
      const row = byKey.get(key)
      const isThere = row !== undefined && row.version >= version
      // What was written over since has a higher LSN.
      const isRight = isThere && (row.version === version ? row.lsn === lsn : row.lsn > lsn)
      if (!isRight) lost.push(`${key} was acknowledged with version ${version} at LSN ${lsn}`)
    }
  }
  return lost
}

class Faults {
  readonly #counts = { unseen: 0, twice: 0, disordered: 0 }
  readonly #told: string[] = []

  add(kind: 'unseen' | 'twice' | 'disordered', what: string): void {
    if (this.#counts[kind]++ < MAX_TOLD) this.#told.push(what)
  }

  verdict(): ReaderVerdict {
    return { ...this.#counts, told: this.#told }
  }
}
