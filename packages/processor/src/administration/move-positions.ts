import {
  commonKeys,
  feedRangeId,
  InvalidOptionError,
  LeasesChangedError,
  REPLACE_LIMIT,
  type ChangeFeedSource,
  type Clock,
  type FeedMode,
  type FeedPosition,
  type FeedRange,
  type Lease,
  type LeaseGroup,
  type Lsn,
  type NewLease,
} from '@tidemark/contracts'
import { whileRangesChange } from '../bootstrapping/while-ranges-change.ts'
import {
  cutLease,
  firstParts,
  steps,
  withoutDone,
  type LeasePart,
  type WantedPosition,
} from './cut-lease.ts'
import { feedModeOf } from './feed-mode-of.ts'

/** What was done to the keys of one lease, or of a part of one. */
export interface MovedLease {
  /** Of the lease that has these keys now. */
  readonly leaseId: string
  readonly range: FeedRange
  /** Where the group stood there. Undefined when it had no lease of it. */
  readonly fromLsn: Lsn | undefined
  /** Where it goes on. Lower: what is between is delivered again. Higher: it is skipped. */
  readonly toLsn: Lsn
}

export interface MovePositionsOptions {
  readonly group: LeaseGroup
  readonly feed: ChangeFeedSource
  readonly clock: Clock
  /** What the group reads. @default what the positions of its leases are of */
  readonly mode: FeedMode | undefined
  /** `preview`: what would be done is told, and nothing is done. */
  readonly purpose: 'move' | 'preview'
}

/** Rounds in which others changed every lease first. With the pauses: about 10 s. */
const ATTEMPT_LIMIT = 12
const PAUSE_MS = { first: 10, highest: 2_000 }

/** A lease as it was read, and what comes in its place. */
interface CutLease {
  readonly lease: Lease
  readonly parts: readonly (LeasePart & { readonly next: NewLease })[]
}

/**
 * Gives leases other positions, whether hosts work on them or not: those who do are refused from then on. Leases are
 * cut where a wanted range begins or ends in them. Up to `REPLACE_LIMIT` leases, old and new, change in one step,
 * all of them or none. Those that others changed first are read again, and get theirs in the next round.
 *
 * Rejects with ERR_LEASES_CHANGED when others are always first, with ERR_INVALID_CONTINUATION when a position does
 * not fit the feed.
 */
export async function movePositions(
  wanted: readonly WantedPosition[],
  options: MovePositionsOptions,
  signal: AbortSignal,
): Promise<readonly MovedLease[]> {
  const { group, clock, purpose } = options
  const resolved = new Map<string, FeedPosition>()
  const moved: MovedLease[] = []
  let left = wanted
  let pauseMs = PAUSE_MS.first
  for (let attempts = 0; attempts < ATTEMPT_LIMIT;) {
    const { leases } = await group.read(signal)
    const cut = await whileRangesChange(() =>
      cutAll(leases, { ...options, left, resolved }, signal),
    )
    if (purpose === 'preview') return cut.flatMap(movesOf)
    if (cut.length === 0) return inOrder(moved)
    const done: MovedLease[] = []
    for (const step of steps(cut.map(limited), REPLACE_LIMIT)) {
      done.push(...(await applyStep(step, options, signal)))
    }
    moved.push(...done)
    left = withoutDone(
      left,
      done.map(({ range }) => range),
    )
    if (done.length > 0) continue
    attempts += 1
    await clock.sleep(pauseMs, signal)
    pauseMs = Math.min(pauseMs * 2, PAUSE_MS.highest)
  }
  const ids = inOrder(moved).map(({ leaseId }) => leaseId)
  throw new LeasesChangedError(
    `group ${JSON.stringify(group.group)}: others changed the leases ${ATTEMPT_LIMIT} times first; ` +
      `moved until then: ${ids.join(', ') || 'none'}`,
  )
}

interface CutOptions extends MovePositionsOptions {
  readonly left: readonly WantedPosition[]
  /** By range: what "now" is does not change from round to round. */
  readonly resolved: Map<string, FeedPosition>
}

/** The leases that have wanted keys, cut, with all positions. Rejects with ERR_RANGE_GONE when ranges change meanwhile. */
async function cutAll(
  leases: readonly Lease[],
  options: CutOptions,
  signal: AbortSignal,
): Promise<readonly CutLease[]> {
  const { feed, left } = options
  const concerned = leases.filter(({ range }) =>
    left.some((position) => commonKeys(position.range, range) !== undefined),
  )
  if (concerned.length === 0) return []
  const present = await feed.readFeedRanges({ signal })
  const mode =
    options.mode ?? feedModeOf(concerned.map(({ checkpoint }) => checkpoint.continuation))
  const cut: CutLease[] = []
  for (const lease of concerned) {
    const parts = cutLease(lease.range, left, present) ?? []
    refuseToCutParents(lease, parts, options)
    cut.push({
      lease,
      parts: await Promise.all(
        parts.map(async (part) => ({
          ...part,
          next: {
            range: part.range,
            checkpoint: await positionOf(part, lease, { ...options, mode }, signal),
          },
        })),
      ),
    })
  }
  return cut
}

async function positionOf(
  { range, wanted }: LeasePart,
  lease: Lease,
  { feed, mode, resolved }: CutOptions,
  signal: AbortSignal,
): Promise<FeedPosition> {
  if (wanted === undefined) {
    // A parent's position is valid on its parts. What was tried there is not: it is another batch.
    const { continuation, lsn } = lease.checkpoint
    return { continuation, lsn }
  }
  const id = feedRangeId(range)
  const known = resolved.get(id)
  if (known !== undefined) return known
  const position = await feed.resolveStart({ range, start: wanted.start, mode, signal })
  resolved.set(id, position)
  return position
}

/** @throws ERR_INVALID_OPTION when a part would not get what the lease has not delivered yet */
function refuseToCutParents(
  { id, range }: Lease,
  parts: readonly LeasePart[],
  { feed }: CutOptions,
): void {
  if (feed.supports.childrenCarryParentChanges || parts.length === 1) return
  throw new InvalidOptionError(
    `lease ${id} (${feedRangeId(range)}) covers several ranges of ${feed.description}, whose children do not carry ` +
      'their parents’ changes: the group has to come past the split first',
  )
}

/** One step of the store. Nothing of it is done when others changed one of its leases first. */
async function applyStep(
  step: readonly CutLease[],
  { group, feed }: MovePositionsOptions,
  signal: AbortSignal,
): Promise<readonly MovedLease[]> {
  const moves = step.flatMap(movesOf)
  const told = (which: readonly MovedLease[]): Promise<void> | undefined =>
    which.length === 0
      ? undefined
      : feed.positions?.report(
          which.map(({ range, toLsn }) => ({ group: group.group, range, lsn: toLsn })),
        )
  // Those that go back are told first: from then on nothing is purged that they need again, and what is told
  // is never above what is stored.
  await told(moves.filter(({ fromLsn = 0, toLsn }) => toLsn < fromLsn))
  const old = step.map(({ lease }) => ({ leaseId: lease.id, epoch: lease.epoch }))
  const next = step.flatMap(({ parts }) => parts.map((part) => part.next))
  if ((await group.override({ old, next }, signal)) === 'changed') return []
  // All of them: an owner may have told its own position meanwhile.
  await told(moves)
  return moves
}

/** A lease that is cut into more parts than one step takes keeps the rest together until the next one. */
function limited({ lease, parts }: CutLease): CutLease {
  const { continuation, lsn } = lease.checkpoint
  const next = new Map(parts.map((part) => [feedRangeId(part.range), part.next]))
  const first = firstParts(parts, REPLACE_LIMIT - 1)
  return {
    lease,
    parts: first.map((part) => {
      const { range } = part
      const own = next.get(feedRangeId(range)) ?? { range, checkpoint: { continuation, lsn } }
      return { ...part, next: own }
    }),
  }
}

function movesOf({ lease, parts }: CutLease): readonly MovedLease[] {
  return parts.flatMap(({ range, wanted, next }) => {
    if (wanted === undefined) return []
    const { lsn: toLsn } = next.checkpoint
    return [{ leaseId: feedRangeId(range), range, fromLsn: lease.checkpoint.lsn, toLsn }]
  })
}

function inOrder(moved: readonly MovedLease[]): readonly MovedLease[] {
  return [...moved].sort((a, b) => (a.range.minInclusive < b.range.minInclusive ? -1 : 1))
}
