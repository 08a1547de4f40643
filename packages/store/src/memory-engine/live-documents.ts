import type { ScanPosition } from '../engine/document-query.ts'
import { expirySecond } from '../engine/expiry.ts'
import {
  compareExpiry,
  compareKeys,
  rowKey,
  type ExpiryPosition,
  type MemoryRow,
} from './memory-row.ts'
import { SortedRows } from './sorted-rows.ts'

const BEFORE_ALL: ScanPosition = { epk: '', partitionKey: '', id: '' }

/** Documents by key, in key order and in order of expiry. Does not judge what has expired. */
export class LiveDocuments {
  readonly #byKey = new Map<string, MemoryRow>()
  readonly #sorted = new SortedRows<ScanPosition, MemoryRow>(compareKeys)
  #expiring = new SortedRows<ExpiryPosition, MemoryRow>(compareExpiry)

  get size(): number {
    return this.#byKey.size
  }

  read(key: { readonly partitionKey: string; readonly id: string }): MemoryRow | undefined {
    return this.#byKey.get(rowKey(key))
  }

  /** Adds a row, and replaces the one with the same key. */
  put(row: MemoryRow): void {
    const present = this.read(row)
    if (present !== undefined && present.expirySecond !== 0) this.#expiring.delete(present)
    this.#byKey.set(rowKey(row), row)
    this.#sorted.put(row)
    if (row.expirySecond !== 0) this.#expiring.put(row)
  }

  delete(row: MemoryRow): void {
    this.#byKey.delete(rowKey(row))
    this.#sorted.delete(row)
    if (row.expirySecond !== 0) this.#expiring.delete(row)
  }

  /** In key order, from the first at or after a key. */
  from(key: ScanPosition = BEFORE_ALL): Iterable<MemoryRow> {
    return this.#sorted.from(key)
  }

  /** In order of expiry, from the first that expires at or after `second`. Leaves out those that never expire. */
  expiringFrom(second: number): Iterable<MemoryRow> {
    return this.#expiring.from({ ...BEFORE_ALL, expirySecond: second })
  }

  /** Whether any expires at or before `second`. */
  anyDueBy(second: number): boolean {
    for (const row of this.expiringFrom(0)) return row.expirySecond <= second
    return false
  }

  /** Refiles all, after a change of `defaultTtl`. */
  refile(defaultTtl: number | null): void {
    this.#expiring = new SortedRows<ExpiryPosition, MemoryRow>(compareExpiry)
    for (const row of this.#byKey.values()) {
      row.expirySecond = expirySecond(row, defaultTtl)
      if (row.expirySecond !== 0) this.#expiring.put(row)
    }
  }
}
