import { rangeContains, rangeContainsEpk, LIVE_ROW } from '@tidemark/contracts'
import { expirySecond } from '../engine/expiry.ts'
import type { Horizons } from '../engine/horizons.ts'
import type { MemoryCollection } from './memory-collection.ts'
import type { MemoryRange } from './memory-range.ts'
import type { SegmentRow } from './memory-segment.ts'
import type { RangeRows } from './range-rows.ts'

/** Contradictions between a collection's documents, their orders, its ranges and their feeds. */
export function checkCollection(collection: MemoryCollection): readonly string[] {
  const problems: string[] = []
  const report = (problem: string): void => {
    problems.push(`collection ${collection.record.id}: ${problem}`)
  }
  checkCover(collection, report)
  checkOrders(collection, report)
  checkEntries(collection, report)
  let inFeeds = 0
  for (const range of collection.ranges) {
    inFeeds += checkFeed(collection, range, report)
    checkRun(range, range.versions, report)
    for (const mode of ['latestVersion', 'allVersions'] as const) {
      checkHorizons(range, range.horizons(mode), report)
    }
  }
  if (inFeeds !== collection.documents.size) {
    report(`${inFeeds} live rows in the feeds, ${collection.documents.size} documents`)
  }
  return problems
}

type Report = (problem: string) => void

function checkCover({ ranges }: MemoryCollection, report: Report): void {
  let end = ''
  for (const range of ranges) {
    if (range.minInclusive !== end) report(`ranges have a gap or overlap at ${end}`)
    end = range.maxExclusive
  }
  if (end !== 'FF') report(`ranges end at ${end}`)
  const numbers = ranges.map(({ record }) => record.number)
  if (new Set(numbers).size !== numbers.length) report('two ranges have one number')
}

/** The order by key and the order of expiry hold each document once, and nothing else. */
function checkOrders({ documents, record }: MemoryCollection, report: Report): void {
  const byKey = [...documents.from()]
  if (byKey.length !== documents.size) report('the key order and the documents differ in number')
  let expiring = 0
  for (const row of byKey) {
    if (documents.read(row) !== row) report(`key order holds another version of ${row.id}`)
    const wanted = expirySecond(row, record.definition.defaultTtl)
    if (row.expirySecond !== wanted) report(`${row.id} is filed under a wrong time of expiry`)
    if (row.expirySecond !== 0) expiring++
  }
  const byExpiry = [...documents.expiringFrom(0)]
  if (byExpiry.length !== expiring) report('the order of expiry and the documents differ in number')
  for (const row of byExpiry) {
    if (documents.read(row) !== row) report(`order of expiry holds another version of ${row.id}`)
  }
}

/** Only expired documents can have lost entries, to documents that were written since then. */
function checkEntries({ documents, record, heldEntries }: MemoryCollection, report: Report): void {
  const { uniqueKeys = [], defaultTtl } = record.definition
  let held = 0
  for (const row of documents.from()) {
    const count = heldEntries.countOf(row)
    held += count
    const mayHaveExpired = defaultTtl !== null || record.ttlEras.length > 0
    if (count !== uniqueKeys.length && !mayHaveExpired) {
      report(`${row.id} has ${count} entries of ${uniqueKeys.length} unique keys`)
    }
  }
  if (held !== heldEntries.size) report('entries of unique keys are kept for no document')
}

/** Returns how many live rows there are. */
function checkFeed(collection: MemoryCollection, range: MemoryRange, report: Report): number {
  checkRun(range, range.rows, report)
  let live = 0
  const pending: unknown[] = []
  for (const row of range.rows.after(0)) {
    if (row.kind !== LIVE_ROW) {
      pending.push(row)
      if (row.expirySecond === 0) report(`the pending delete of ${row.id} has no time`)
      continue
    }
    live++
    if (collection.documents.read(row) !== row) {
      report(`the feed holds a version of ${row.id} that is not live`)
    }
  }
  const listed = range.pending
  if (pending.length !== listed.length || !listed.every((row) => pending.includes(row))) {
    report('the feed and the list of pending deletes differ')
  }
  if (listed.some((row, index) => row.lsn < (listed[index - 1]?.lsn ?? 0))) {
    report('pending deletes are out of order')
  }
  return live
}

function checkRun<Row extends SegmentRow>(
  range: MemoryRange,
  rows: RangeRows<Row>,
  report: Report,
): void {
  for (const segment of rows.segments) {
    let lsn = 0
    for (let slot = 0; slot < segment.slots; slot++) {
      const row = segment.rowAt(slot)
      if (row === undefined) continue
      if (row.lsn < lsn) report(`LSN ${row.lsn} stands after ${lsn}`)
      lsn = row.lsn
      if (row.segment !== segment || row.slot !== slot) report(`LSN ${lsn} is not where it says`)
      const isOurs = rangeContainsEpk(range, row.epk)
      if (isOurs && lsn > range.lsn) report(`LSN ${lsn} is above the counter ${range.lsn}`)
      if (!isOurs && !rows.isInherited) report(`LSN ${lsn} is in the wrong range`)
    }
  }
}

function checkHorizons(range: MemoryRange, horizons: Horizons, report: Report): void {
  for (const { range: part, lsn } of horizons) {
    if (lsn > range.lsn) report(`a horizon of ${lsn} is above the counter ${range.lsn}`)
    if (!rangeContains(range, part)) report('a horizon lies outside its range')
  }
}
