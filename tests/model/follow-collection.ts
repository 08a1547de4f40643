import {
  FULL_RANGE,
  HorizonPassedError,
  decodeContinuation,
  rangesEqual,
  type FeedRange,
} from '@tidemark/contracts'
import type { StartPosition } from '@tidemark/contracts'
import type { ChangesPage } from '@tidemark/store'
import { checkPage } from './check-page.ts'
import { expectSame, expectThat } from './difference.ts'
import type { ModelDocument } from './environment.ts'
import type { Follower } from './follower.ts'
import {
  cutPosition,
  expectPassed,
  missedUpTo,
  positionAfter,
  type ReaderPosition,
} from './reader-position.ts'
import { outcomeOf, type Session } from './session.ts'

const AT_BEGINNING: ReaderPosition = {
  range: FULL_RANGE,
  lsn: 0,
  continuation: '',
  readAt: 0,
  isStarted: false,
}

/** Reads on with one continuation for the whole collection. True when it caught up. */
export async function followCollection(
  session: Session,
  follower: Follower,
  { pages, maxItems }: { readonly pages: number; readonly maxItems: number },
): Promise<boolean> {
  const { collection } = session
  const { mode, pendingDeletes, onHorizonPassed, from } = follower.kind
  const [first] = follower.positions
  const iteration = collection.changes({
    // One that was passed by the horizon starts over, whatever it began with.
    from: first === undefined ? from : resumption(first),
    follow: false,
    maxItemCount: maxItems,
    mode,
    pendingDeletes,
    onHorizonPassed,
  })
  let read = 0
  let last: FeedRange | undefined
  for (;;) {
    const next = await outcomeOf(iteration.next())
    if (next.kind === 'failed') {
      expectHorizonError(session, follower, { error: next.error, last })
      return false
    }
    if (next.value.done === true) break
    const page = next.value.value
    takePage(session, follower, { page, last, maxItems })
    last = page.range
    if (++read === pages) {
      await iteration.return()
      return false
    }
  }
  follower.positions = follower.positions.map((position) => readInVain(session, follower, position))
  return true
}

function resumption({ continuation }: ReaderPosition): StartPosition {
  return continuation === '' ? 'beginning' : { continuation }
}

/** Where it stands after it found nothing new there, and was told nothing. */
function readInVain(
  { model }: Session,
  { kind }: Follower,
  position: ReaderPosition,
): ReaderPosition {
  expectPassed(model, kind, { position, horizon: undefined })
  return positionAfter(model, position, { ...position, mode: kind.mode, hasChanges: false })
}

/**
 * The ranges that were read between two pages, and had nothing: all have their turns, in their order. `before` is the
 * range of the page before, `next` of the next one.
 */
function passedOver(
  ranges: readonly FeedRange[],
  before: FeedRange | undefined,
  next: FeedRange,
): readonly FeedRange[] {
  const indexOf = (range: FeedRange): number => ranges.findIndex((each) => rangesEqual(each, range))
  const to = indexOf(next)
  // The last page is of the whole: all were read once more.
  if (to < 0) return ranges
  const from = before === undefined ? -1 : indexOf(before)
  return from < to
    ? ranges.slice(from + 1, to)
    : [...ranges.slice(from + 1), ...ranges.slice(0, to)]
}

function takePage(
  session: Session,
  follower: Follower,
  {
    page,
    last,
    maxItems,
  }: {
    readonly page: ChangesPage<ModelDocument>
    /** Of the page before it. */
    readonly last: FeedRange | undefined
    readonly maxItems: number
  },
): void {
  const { model } = session
  const { mode, pendingDeletes } = follower.kind
  const { range, changes, continuation, resynchronized, caughtUp } = page
  const after = decodeContinuation(continuation).positions
  const before = follower.positions.length > 0 ? follower.positions : initialPositions(follower)
  const here = after.find((each) => rangesEqual(each.range, range))
  if (here !== undefined) {
    let position = partOf(before, range)
    if (position !== undefined) {
      expectPassed(model, follower.kind, { position, horizon: resynchronized?.horizon })
    } else expectSame('what a follower that begins is told', resynchronized, undefined)
    if (resynchronized !== undefined) {
      follower.forget(resynchronized.range)
      position = { range, lsn: 0, continuation, readAt: 0, isStarted: false }
    }
    if (position !== undefined) {
      const [afterLsn, throughLsn] = [position.lsn, here.lsn]
      const read = { mode, pendingDeletes, range, afterLsn, throughLsn, changes }
      checkPage(session, { ...read, maxItems, caughtUp })
    }
    follower.apply(session, changes)
  }
  const passed = passedOver(
    after.map((each) => each.range),
    last,
    range,
  )
  const readAt = model.losses.length
  follower.positions = after.map((each): ReaderPosition => {
    const { lsn } = each
    const old = partOf(before, each.range) ?? { ...each, continuation, readAt, isStarted: true }
    const here = { ...old, lsn, continuation }
    if (rangesEqual(each.range, range)) {
      const isStarted = resynchronized === undefined && old.isStarted
      const hasChanges = changes.length > 0
      return positionAfter(model, { ...here, isStarted }, { lsn, continuation, mode, hasChanges })
    }
    if (!passed.some((one) => rangesEqual(one, each.range))) return here
    // One that is told starts over at its next turn, and says so then.
    const isTold =
      follower.kind.onHorizonPassed === 'resync' &&
      missedUpTo(model, follower.kind, old) !== undefined
    if (isTold) return here
    expectPassed(model, follower.kind, { position: old, horizon: undefined })
    return positionAfter(model, here, { lsn, continuation, mode, hasChanges: false })
  })
}

function partOf(
  positions: readonly ReaderPosition[],
  range: FeedRange,
): ReaderPosition | undefined {
  return positions.map((one) => cutPosition(one, range)).find((one) => one !== undefined)
}

/** From the beginning everything is to come; from now nothing that was there is. */
function initialPositions({ kind }: Follower): readonly ReaderPosition[] {
  if (kind.from === 'now') return []
  return [AT_BEGINNING]
}

/** The error comes just when something is missing, and names where the reader stands (TTL-15). */
function expectHorizonError(
  { model }: Session,
  follower: Follower,
  { error, last }: { readonly error: unknown; readonly last: FeedRange | undefined },
): void {
  const { kind } = follower
  if (!(error instanceof HorizonPassedError)) throw error
  expectSame('what a follower asked for that came too late', kind.onHorizonPassed, 'fail')
  const { range, lsn, horizon } = error
  const parts = follower.positions.flatMap((position) =>
    model.ranges.flatMap((each) => cutPosition(position, each) ?? []),
  )
  const part = parts.find((each) => rangesEqual(each.range, range))
  expectThat(part !== undefined, () => `no follower reads what came too late: ${error.message}`)
  if (part === undefined) return
  expectPassed(model, kind, { position: part, horizon })
  expectSame('where the error says the reader stands', lsn, part.lsn)
  const ranges = parts.map((each) => each.range)
  for (const each of passedOver(ranges, last, range)) {
    const position = partOf(parts, each)
    if (position !== undefined) expectPassed(model, kind, { position, horizon: undefined })
  }
  for (const each of follower.positions) follower.forget(each.range)
  follower.positions = [AT_BEGINNING]
}
