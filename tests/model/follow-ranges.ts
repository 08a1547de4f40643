import {
  HorizonPassedError,
  RangeGoneError,
  rangeContains,
  type FeedLag,
  type FeedPage,
} from '@tidemark/contracts'
import { checkPage } from './check-page.ts'
import { expectSame, expectThat } from './difference.ts'
import type { ModelDocument } from './environment.ts'
import type { Follower } from './follower.ts'
import type { FollowerKind } from './program.ts'
import { cutPosition, expectPassed, positionAfter, type ReaderPosition } from './reader-position.ts'
import { outcomeCode, outcomeOf, type Outcome, type Session } from './session.ts'

/** Reads on range by range, each with a continuation of its own, as processors do. True when it caught up. */
export async function followRanges(
  session: Session,
  follower: Follower,
  { pages, maxItems }: { readonly pages: number; readonly maxItems: number },
): Promise<boolean> {
  if (follower.positions.length === 0) await begin(session, follower)
  await join(session, follower)
  const waiting = [...follower.positions]
  for (let read = 0; waiting.length > 0 && (pages === 0 || read < pages); read++) {
    const position = waiting.shift()
    if (position === undefined) break
    const { next, caughtUp } = await readPage(session, follower, { position, maxItems })
    follower.positions = follower.positions.flatMap((each) => (each === position ? next : [each]))
    if (!caughtUp) waiting.push(...next)
  }
  return waiting.length === 0
}

async function begin({ collection, model }: Session, follower: Follower): Promise<void> {
  const { mode, from } = follower.kind
  const positions: ReaderPosition[] = []
  for (const { minInclusive, maxExclusive } of await collection.readFeedRanges()) {
    const range = { minInclusive, maxExclusive }
    const start = await collection.resolveStart({ range, start: from, mode })
    const isStarted = from === 'now'
    positions.push({ ...start, range, readAt: model.losses.length, isStarted })
  }
  follower.positions = positions
}

async function readPage(
  session: Session,
  follower: Follower,
  { position, maxItems }: { readonly position: ReaderPosition; readonly maxItems: number },
): Promise<{ readonly next: readonly ReaderPosition[]; readonly caughtUp: boolean }> {
  const { model, collection } = session
  const { mode, pendingDeletes } = follower.kind
  const { range, continuation } = position
  const request = { range, continuation, maxItemCount: maxItems, mode, pendingDeletes }
  const lag = await outcomeOf(
    collection.measureLag({ range, continuation, limit: maxItems, mode, pendingDeletes }),
  )
  const outcome = await outcomeOf(collection.readPage(request))
  expectLag(lag, outcome, follower.kind)
  if (outcome.kind === 'failed') {
    const { error } = outcome
    if (error instanceof RangeGoneError) {
      return { next: successors(session, position, error), caughtUp: false }
    }
    if (!(error instanceof HorizonPassedError)) throw error
    return { next: await restart(session, follower, { position, error }), caughtUp: false }
  }
  expectPassed(model, follower.kind, { position, horizon: undefined })
  const { changes, lsn, caughtUp } = outcome.value
  const afterLsn = position.lsn
  const page = {
    mode,
    pendingDeletes,
    range,
    afterLsn,
    throughLsn: lsn,
    changes,
    maxItems,
    caughtUp,
  }
  checkPage(session, page)
  follower.apply(session, changes)
  const hasChanges = changes.length > 0
  const read = { lsn, continuation: outcome.value.continuation, mode, hasChanges }
  return { next: [positionAfter(model, position, read)], caughtUp }
}

/** PH-9: a measured lag is of what the same reader's next page has, with the same limit. */
function expectLag(
  lag: Outcome<FeedLag>,
  page: Outcome<FeedPage<ModelDocument>>,
  { mode, pendingDeletes }: FollowerKind,
): void {
  expectSame('outcome of the lag', outcomeCode(lag), outcomeCode(page))
  if (lag.kind === 'failed' || page.kind === 'failed') return
  const { newestLsn, remainingChanges, isExact } = lag.value
  const { lsn, changes, caughtUp } = page.value
  const isWhole = mode === 'allVersions' || pendingDeletes
  // A page reads as many rows, and then leaves out the pending deletes.
  if (isWhole) expectSame('changes of the lag', remainingChanges, changes.length)
  expectSame('whether the page reaches the newest LSN of the lag', lsn === newestLsn, caughtUp)
  if (isWhole && isExact && remainingChanges === 0) {
    expectThat(caughtUp, () => 'no change remains, and the page has not caught up')
  }
}

/** After a split the position is valid in each part; the successors that are named cover it. */
function successors(
  { model }: Session,
  position: ReaderPosition,
  error: RangeGoneError,
): readonly ReaderPosition[] {
  const isWhole = model.ranges.some((range) => rangeContains(range, position.range))
  expectThat(!isWhole, () => `${position.range.minInclusive} is said to be gone, and is there`)
  const parts = error.successors.flatMap((range) => cutPosition(position, range) ?? [])
  const ends = [position.range.minInclusive, ...parts.map(({ range }) => range.maxExclusive)]
  const begins = [...parts.map(({ range }) => range.minInclusive), position.range.maxExclusive]
  expectSame('successors of a range that is gone', ends, begins)
  return parts
}

async function restart(
  { model, collection }: Session,
  follower: Follower,
  { position, error }: { readonly position: ReaderPosition; readonly error: HorizonPassedError },
): Promise<readonly ReaderPosition[]> {
  const { mode } = follower.kind
  const { range, lsn } = position
  expectPassed(model, follower.kind, { position, horizon: error.horizon })
  expectSame('where the error says the reader stands', [error.lsn, error.range], [lsn, range])
  follower.forget(range)
  const start = await collection.resolveStart({ range, start: 'beginning', mode })
  return [{ ...start, range, readAt: model.losses.length, isStarted: false }]
}

/** Neighbours that were merged become one position, once the store says that they may. */
async function join({ model, collection }: Session, follower: Follower): Promise<void> {
  const { mode } = follower.kind
  for (let index = 0; index + 1 < follower.positions.length;) {
    const [low, high] = follower.positions.slice(index, index + 2)
    if (low === undefined || high === undefined) return
    const { minInclusive } = low.range
    const { maxExclusive } = high.range
    const range = { minInclusive, maxExclusive }
    const isMerged = model.ranges.some((each) => rangeContains(each, range))
    const joined = isMerged && (await collection.joinPositions({ positions: [low, high], mode }))
    if (!joined) {
      index++
      continue
    }
    expectSame('LSN of a joined position', [joined.lsn, joined.lsn], [low.lsn, high.lsn])
    const { lsn, continuation } = joined
    // Allowed only if neither side has missed anything.
    const readAt = model.losses.length
    const isStarted = low.isStarted || high.isStarted
    const position = { range, lsn, continuation, readAt, isStarted }
    follower.positions = follower.positions.flatMap((each) => {
      if (each === low) return [position]
      return each === high ? [] : [each]
    })
  }
}
