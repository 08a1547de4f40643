import {
  HorizonPassedError,
  RangeGoneError,
  type Change,
  type DocumentBody,
} from '@tidemark/contracts'
import type { ChangesPage, ResolvedChangesOptions } from './changes-options.ts'
import type { FeedReader } from './feed-reader.ts'
import { RangeCursors, type RangeCursor } from './range-cursors.ts'
import { RangeWaits } from './range-waits.ts'

/** The pull interface of one reader (CF-13): reads pages of all its ranges in turn, then waits for more. */
export async function* iterateChanges<T extends DocumentBody>(
  openReader: () => Promise<FeedReader<T>>,
  options: ResolvedChangesOptions<T>,
): AsyncGenerator<ChangesPage<T>, void, undefined> {
  const { follow, filter, signal, range: wanted } = options
  signal?.throwIfAborted()
  const reader = await openReader()
  const cursors = await RangeCursors.open(reader, options)
  const over = new AbortController()
  const ended = signal ? AbortSignal.any([signal, over.signal]) : over.signal
  const waits = new RangeWaits(reader, ended)
  let closed = false
  try {
    for (;;) {
      signal?.throwIfAborted()
      const cursor = cursors.next()
      if (cursor === undefined) {
        if (!follow) break
        await waits.anyOf(cursors.all)
        continue
      }
      const read = await readOrRecut(reader, cursors, { cursor, options })
      closed = false
      const { resync } = cursor
      if (read === undefined || (read.length === 0 && resync === undefined)) continue
      closed = cursors.caughtUp
      cursor.resync = undefined
      yield {
        changes: filter ? read.filter(filter) : read,
        continuation: cursors.continuation(),
        range: cursor.position.range,
        caughtUp: closed,
        ...(resync && { resynchronized: resync.told }),
      }
    }
    // The last position is available even when the last read found nothing (CF-13).
    if (!closed) {
      yield { changes: [], continuation: cursors.continuation(), range: wanted, caughtUp: true }
    }
  } finally {
    over.abort()
    await waits.ended()
  }
}

/** Undefined when the range was split or merged and the cursors were cut again, or when the range begins again. */
async function readOrRecut<T extends DocumentBody>(
  reader: FeedReader<T>,
  cursors: RangeCursors<T>,
  {
    cursor,
    options,
  }: { readonly cursor: RangeCursor; readonly options: ResolvedChangesOptions<T> },
): Promise<readonly Change<T>[] | undefined> {
  try {
    const { changes, position, caughtUp } = await reader.read(cursor.position, options)
    cursors.advance(cursor, { position, caughtUp })
    return changes
  } catch (error) {
    if (error instanceof RangeGoneError) await cursors.recut(error)
    else if (error instanceof HorizonPassedError && options.onHorizonPassed === 'resync') {
      await resyncOrRecut(cursors, cursor, error)
    } else throw error
    return undefined
  }
}

async function resyncOrRecut<T extends DocumentBody>(
  cursors: RangeCursors<T>,
  cursor: RangeCursor,
  passed: HorizonPassedError,
): Promise<void> {
  try {
    await cursors.resync(cursor, passed)
  } catch (error) {
    // Split at this moment: the children's next reads report the passed horizon again.
    if (!(error instanceof RangeGoneError)) throw error
    await cursors.recut(error)
  }
}
