import { rangeContainsEpk, rangesOverlap, type FeedRange } from '@tidemark/contracts'
import {
  cutHorizons,
  horizonsText,
  parseHorizons,
  type Horizons,
  type RangeRecord,
} from '@tidemark/store/engine'
import type { RangeRow, SegmentRow } from '../connection/catalog-rows.ts'
import { numberColumn, textColumn } from '../connection/column.ts'
import type { Connection } from '../connection/connection.ts'
import { raiseCatalogVersion } from '../connection/head.ts'

/**
 * Changes of pkranges, each inside the writer's transaction, after its counters were stored. Only metadata changes:
 * rows stay in their segments, which the new ranges inherit (ST-9).
 */

/** Where a new range continues: above everything that it inherits. */
interface Inheritance {
  readonly segments: readonly SegmentRow[]
  readonly lsn: number
  readonly epoch: number
  readonly horizons: Horizons
  readonly logHorizons: Horizons
}

/** Splits a range in two. Undefined when `at` is not inside it. */
export function splitRange(
  connection: Connection,
  { collection, parent, at, ranges, ts }: RangeChange & { parent: RangeRow; at: string },
): readonly [RangeRecord, RangeRecord] | undefined {
  const { minInclusive, maxExclusive } = parent
  if (at <= minInclusive || !rangeContainsEpk(parent, at)) return undefined
  const inherited = sealRange(connection, collection, parent)
  const parents = [...parent.parents, parent.number]
  const number = nextRangeNumber(ranges)
  const child = (offset: number, range: FeedRange): RangeRecord =>
    beginRange(
      connection,
      { collection, number: number + offset, range, parents, ts },
      {
        ...inherited,
        segments: inherited.segments.filter((segment) => rangesOverlap(segment, range)),
        horizons: cutHorizons(inherited.horizons, range),
        logHorizons: cutHorizons(inherited.logHorizons, range),
      },
    )
  const children = [
    child(0, { minInclusive, maxExclusive: at }),
    child(1, { minInclusive: at, maxExclusive }),
  ] as const
  raiseCatalogVersion(connection)
  return children
}

/** Merges two neighbours, given in EPK order, into one range. */
export function mergeRanges(
  connection: Connection,
  { collection, left, right, ranges, ts }: RangeChange & { left: RangeRow; right: RangeRow },
): RangeRecord {
  const a = sealRange(connection, collection, left)
  const b = sealRange(connection, collection, right)
  const range = { minInclusive: left.minInclusive, maxExclusive: right.maxExclusive }
  const lineage = [...left.parents, left.number, ...right.parents, right.number]
  const parents = [...new Set(lineage)].toSorted((x, y) => x - y)
  // Both halves of a split range have its earlier segments.
  const segments = new Map([...a.segments, ...b.segments].map((segment) => [segment.id, segment]))
  const merged = beginRange(
    connection,
    { collection, number: nextRangeNumber(ranges), range, parents, ts },
    {
      segments: [...segments.values()],
      lsn: Math.max(a.lsn, b.lsn),
      epoch: Math.max(a.epoch, b.epoch),
      horizons: [...a.horizons, ...b.horizons],
      logHorizons: [...a.logHorizons, ...b.logHorizons],
    },
  )
  raiseCatalogVersion(connection)
  return merged
}

/** Seals a range's segment, long before its slots run out, and gives the range a new one that continues above it. */
export function rollSegment(
  connection: Connection,
  { collection, range }: { readonly collection: number; readonly range: RangeRow },
): void {
  const row =
    connection.get(
      'SELECT lsn, epoch, horizon, loghorizon FROM segment WHERE id = ?',
      range.segment,
    ) ?? []
  const next = insertSegment(connection, {
    collection,
    range,
    base: numberColumn(row, 0),
    epoch: numberColumn(row, 1),
    horizons: parseHorizons(textColumn(row, 2)),
    logHorizons: parseHorizons(textColumn(row, 3)),
  })
  connection.run(`UPDATE segment SET state = 'sealed' WHERE id = ?`, range.segment)
  connection.run(
    'UPDATE pkrange SET segment = ? WHERE coll = ? AND number = ?',
    next,
    collection,
    range.number,
  )
  connection.run('INSERT INTO pkrange_segment VALUES (?, ?, ?)', collection, range.number, next)
  raiseCatalogVersion(connection)
}

interface RangeChange {
  readonly collection: number
  /** All present ranges of the collection. */
  readonly ranges: readonly RangeRow[]
  readonly ts: number
}

/** Removes a range from the catalog, and returns what its successors inherit. */
function sealRange(connection: Connection, collection: number, range: RangeRow): Inheritance {
  const row =
    connection.get(
      'SELECT lsn, epoch, horizon, loghorizon, base FROM segment WHERE id = ?',
      range.segment,
    ) ?? []
  const lsn = numberColumn(row, 0)
  const isEmpty = lsn === numberColumn(row, 4)
  // A segment that never had a row is not needed: a range that is split and merged often would collect them.
  connection.run(
    'UPDATE segment SET state = ? WHERE id = ?',
    isEmpty ? 'dropped' : 'sealed',
    range.segment,
  )
  const { number } = range
  connection.run('DELETE FROM pkrange WHERE coll = ? AND number = ?', collection, number)
  connection.run('DELETE FROM pkrange_segment WHERE coll = ? AND pkrange = ?', collection, number)
  for (const { id, state } of range.segments) {
    // Two ranges may have it now, and then neither may continue to fill it.
    if (state === 'folding') connection.run(`UPDATE segment SET state = 'sealed' WHERE id = ?`, id)
  }
  return {
    segments: isEmpty ? range.segments.filter(({ id }) => id !== range.segment) : range.segments,
    lsn,
    epoch: numberColumn(row, 1),
    horizons: parseHorizons(textColumn(row, 2)),
    logHorizons: parseHorizons(textColumn(row, 3)),
  }
}

interface NewRange {
  readonly collection: number
  readonly number: number
  readonly range: FeedRange
  readonly parents: readonly number[]
  readonly ts: number
}

function beginRange(
  connection: Connection,
  pkRange: NewRange,
  { segments, lsn, epoch, horizons, logHorizons }: Inheritance,
): RangeRecord {
  const { collection, range, number, parents, ts } = pkRange
  const open = { collection, range, base: lsn, epoch, horizons, logHorizons }
  const segment = insertSegment(connection, open)
  insertRange(connection, pkRange, [...segments.map(({ id }) => id), segment])
  return { ...range, number, parents, segment, ts }
}

/** Stores a range. The last of its segments is the open one. */
export function insertRange(
  connection: Connection,
  { collection, number, range, parents, ts }: NewRange,
  segments: readonly number[],
): void {
  connection.run(
    'INSERT INTO pkrange VALUES (?, ?, ?, ?, ?, ?, ?)',
    collection,
    number,
    range.minInclusive,
    range.maxExclusive,
    JSON.stringify(parents),
    segments.at(-1) ?? null,
    ts,
  )
  for (const segment of segments) {
    connection.run('INSERT INTO pkrange_segment VALUES (?, ?, ?)', collection, number, segment)
  }
}

export function insertSegment(
  connection: Connection,
  segment: {
    readonly collection: number
    readonly range: FeedRange
    readonly base: number
    readonly epoch: number
    /** `folding`: a dense one that takes the rows of others. @default 'open' */
    readonly state?: 'open' | 'folding'
    readonly horizons?: Horizons
    readonly logHorizons?: Horizons
  },
): number {
  const { state = 'open', range, horizons = [], logHorizons = [] } = segment
  const id = takeNumber(connection, 'nextSegment')
  connection.run(
    'INSERT INTO segment VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)',
    id,
    segment.collection,
    range.minInclusive,
    range.maxExclusive,
    segment.base,
    segment.base,
    segment.epoch,
    state === 'folding' ? 1 : 0,
    state,
    horizonsText(horizons),
    horizonsText(logHorizons),
  )
  return id
}

export function takeNumber(connection: Connection, name: 'nextCollection' | 'nextSegment'): number {
  const number = numberColumn(
    connection.get('SELECT value FROM meta WHERE name = ?', name) ?? [],
    0,
  )
  connection.run('UPDATE meta SET value = ? WHERE name = ?', number + 1, name)
  return number
}

/** The highest number ever assigned is always present, so none is used twice. */
function nextRangeNumber(ranges: readonly RangeRow[]): number {
  return Math.max(...ranges.map(({ number }) => number)) + 1
}
