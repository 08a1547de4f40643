import {
  checkedNewLeases,
  InvalidOptionError,
  lsn,
  parseFeedRangeId,
  type Continuation,
  type FeedPosition,
  type FeedRange,
} from '@tidemark/contracts'

const FORMAT = 'tidemark-positions-1'

/** Where a group stands, as plain JSON. */
export interface PositionsSnapshot {
  readonly format: typeof FORMAT
  readonly group: string
  /** `ChangeFeedSource.identity`, where the feed was known. For people. */
  readonly feed?: string | undefined
  /** Epoch ms, by the clock of the process that took it. For people. */
  readonly takenAtMs: number
  /** In EPK order. */
  readonly positions: readonly SnapshotPosition[]
}

export interface SnapshotPosition {
  /** `min-max`. */
  readonly range: string
  readonly continuation: string
  readonly lsn: number
}

/** A position of a snapshot, read. */
export interface HeldSnapshotPosition extends FeedPosition {
  readonly range: FeedRange
}

export function positionsSnapshot(
  about: Pick<PositionsSnapshot, 'group' | 'feed' | 'takenAtMs'>,
  positions: readonly SnapshotPosition[],
): PositionsSnapshot {
  const sorted = [...positions].sort((a, b) => (minOf(a) < minOf(b) ? -1 : 1))
  return { format: FORMAT, ...about, positions: sorted }
}

/**
 * The positions of a snapshot, which may come from a file, in EPK order.
 *
 * @throws ERR_INVALID_OPTION when it is none, of a newer format, or two of its ranges overlap
 */
export function snapshotPositions(snapshot: unknown): readonly HeldSnapshotPosition[] {
  const format = property(snapshot, 'format')
  if (format !== FORMAT) {
    throw invalid(`its format is ${JSON.stringify(format)}, this release reads ${FORMAT}`)
  }
  const positions = property(snapshot, 'positions')
  if (!Array.isArray(positions) || positions.length === 0) throw invalid('it has no positions')
  const held = positions.map((position: unknown) => heldPosition(position))
  checkedNewLeases(held.map(({ range, ...checkpoint }) => ({ range, checkpoint })))
  return held.sort((a, b) => (a.range.minInclusive < b.range.minInclusive ? -1 : 1))
}

function heldPosition(position: unknown): HeldSnapshotPosition {
  const id = property(position, 'range')
  const range = typeof id === 'string' ? parseFeedRangeId(id) : undefined
  const continuation = property(position, 'continuation')
  const at = property(position, 'lsn')
  const isPosition =
    isContinuation(continuation) && typeof at === 'number' && Number.isSafeInteger(at) && at >= 0
  if (range === undefined || !isPosition) {
    throw invalid(`${JSON.stringify(position)} is no position`)
  }
  return { range, continuation, lsn: lsn(at) }
}

/** Whether it fits the feed is for the feed to say. */
function isContinuation(value: unknown): value is Continuation {
  return typeof value === 'string' && value !== ''
}

function minOf({ range }: SnapshotPosition): string {
  return parseFeedRangeId(range)?.minInclusive ?? ''
}

function property(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined
}

function invalid(why: string): InvalidOptionError {
  return new InvalidOptionError(`the snapshot of positions cannot be used: ${why}`)
}
