import {
  FULL_RANGE,
  HorizonPassedError,
  decodeContinuation,
  rangeContains,
  rangesEqual,
} from '@tidemark/contracts'
import type { ChangesPage, ChangesStart } from '@tidemark/store'
import { checkPage } from './check-page.ts'
import { expectSame, expectThat } from './difference.ts'
import type { ModelDocument } from './environment.ts'
import type { Follower } from './follower.ts'
import {
  cutPosition,
  mayBeTold,
  mustBeTold,
  positionAfter,
  positionAtStart,
  type ReaderPosition,
} from './reader-position.ts'
import { outcomeOf, type Session } from './session.ts'

/** Reads on with one continuation for the whole collection. True when it caught up. */
export async function followCollection(
  session: Session,
  follower: Follower,
  { pages, maxItems }: { readonly pages: number; readonly maxItems: number },
): Promise<boolean> {
  const { model, collection } = session
  const { mode, pendingDeletes, onHorizonPassed, from } = follower.kind
  const [first] = follower.positions
  const iteration = collection.changes({
    // One that was passed by the horizon begins anew, whatever it began with.
    from: first === undefined ? from : resumption(first),
    follow: false,
    maxItemCount: maxItems,
    mode,
    pendingDeletes,
    onHorizonPassed,
  })
  let read = 0
  for (;;) {
    const next = await outcomeOf(iteration.next())
    if (next.kind === 'failed') {
      expectHorizonError(session, follower, next.error)
      return false
    }
    if (next.value.done === true) break
    takePage(session, follower, { page: next.value.value, maxItems })
    if (++read === pages) {
      await iteration.return()
      follower.positions = follower.positions.map(maybeStarted)
      return false
    }
  }
  for (const position of follower.positions) checkTold(session, follower, position)
  follower.positions = follower.positions.map((position) =>
    positionAfter(model, position, { ...position, mode, hasChanges: false }),
  )
  return true
}

function resumption({ continuation }: ReaderPosition): ChangesStart {
  return continuation === '' ? 'beginning' : { continuation }
}

/** In all-versions mode an empty page, which nobody sees, counts as read. */
function maybeStarted(position: ReaderPosition): ReaderPosition {
  const watches = position.watches.map((watch) =>
    watch.started === 'no' ? ({ ...watch, started: 'maybe' } as const) : watch,
  )
  return { ...position, watches }
}

function takePage(
  session: Session,
  follower: Follower,
  { page, maxItems }: { readonly page: ChangesPage<ModelDocument>; readonly maxItems: number },
): void {
  const { model } = session
  const { mode, pendingDeletes } = follower.kind
  const { range, changes, continuation, resynchronized, caughtUp } = page
  const after = decodeContinuation(continuation).positions
  const before = follower.positions.length > 0 ? follower.positions : initialPositions(follower)
  const here = after.find((each) => rangesEqual(each.range, range))
  if (here !== undefined) {
    let position = before.map((each) => cutPosition(each, range)).find((each) => each !== undefined)
    if (resynchronized !== undefined) {
      expectThat(
        position !== undefined && mayBeTold(model, mode, position),
        () => `a follower was told to begin anew at ${range.minInclusive} without need`,
      )
      follower.forget(resynchronized.range)
      const start = { readAt: 0, started: 'no', lsn: 0, continuation } as const
      position = positionAtStart(range, start)
    }
    if (position !== undefined) {
      checkTold(session, follower, position)
      const [afterLsn, throughLsn] = [position.lsn, here.lsn]
      const read = { mode, pendingDeletes, range, afterLsn, throughLsn, changes }
      checkPage(session, { ...read, maxItems, caughtUp })
    }
    follower.apply(session, changes)
  }
  follower.positions = after.map((each): ReaderPosition => {
    const old = before.map((one) => cutPosition(one, each.range)).find((one) => one !== undefined)
    const { lsn } = each
    const start = { readAt: model.losses.length, started: 'yes', lsn, continuation } as const
    const base = old ?? positionAtStart(each.range, start)
    if (!rangesEqual(each.range, range)) return { ...base, lsn, continuation }
    const hasChanges = changes.length > 0
    const fresh =
      resynchronized === undefined ? base : positionAtStart(each.range, { ...start, started: 'no' })
    return positionAfter(model, fresh, { lsn, continuation, mode, hasChanges })
  })
}

/** From the beginning everything is to come; from now nothing that was there is. */
function initialPositions({ kind }: Follower): readonly ReaderPosition[] {
  if (kind.from === 'now') return []
  const start = { readAt: 0, started: 'no', lsn: 0, continuation: '' } as const
  return [positionAtStart(FULL_RANGE, start)]
}

function checkTold({ model }: Session, { kind }: Follower, position: ReaderPosition): void {
  const { mode, pendingDeletes } = kind
  const asks = mode === 'allVersions' || pendingDeletes
  expectThat(
    !asks || !mustBeTold(model, mode, position),
    () => `a follower was not told that it is too late for ${position.range.minInclusive}`,
  )
}

/** The error is right only where something may be missing, and names where the reader stands (TTL-15). */
function expectHorizonError(session: Session, follower: Follower, error: unknown): void {
  const { model } = session
  const { mode, pendingDeletes, onHorizonPassed } = follower.kind
  if (!(error instanceof HorizonPassedError)) throw error
  expectSame('what a follower asked for, that was passed by the horizon', onHorizonPassed, 'fail')
  expectThat(
    mode === 'allVersions' || pendingDeletes,
    () => 'a follower without pending deletes was passed by the horizon',
  )
  const { range, lsn } = error
  const position = follower.positions.find((each) => rangeContains(each.range, range))
  const part = position && cutPosition(position, range)
  expectThat(
    part !== undefined && mayBeTold(model, mode, part),
    () =>
      `a follower at LSN ${lsn} of ${range.minInclusive} was told that it is too late: ${error.message}`,
  )
  expectSame('where the error says the reader stands', lsn, part?.lsn)
  for (const each of follower.positions) follower.forget(each.range)
  const start = { readAt: 0, started: 'no', lsn: 0, continuation: '' } as const
  follower.positions = [positionAtStart(FULL_RANGE, start)]
}
