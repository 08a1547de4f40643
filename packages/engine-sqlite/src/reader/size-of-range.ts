import type { Connection } from '../connection/connection.ts'
import { findMiddle } from './find-middle.ts'
import {
  WALK_START,
  countRange,
  epkAfter,
  walkRange,
  type KeyWalk,
  type WalkedRange,
} from './range-size.ts'

/** Runs one step on a present range, or on all keys, in a snapshot of its own. Rejects with ERR_RANGE_GONE. */
export type RangeSteps = <Result>(
  step: (connection: Connection, range: WalkedRange) => Result,
) => Promise<Result>

/** Live documents of a collection that have not expired. */
export async function countLive(inSteps: RangeSteps): Promise<number> {
  const { documents } = await walk(inSteps, countRange)
  return documents
}

/** Live documents of a range that have not expired, and the bytes of their text. */
export async function sizeOfRange(
  inSteps: RangeSteps,
): Promise<{ readonly documents: number; readonly bytes: number }> {
  const { documents, bytes } = await walk(inSteps, walkRange)
  return { documents, bytes }
}

/** See `DatabaseEngine.middleEpk`. */
export async function middleOfRange(inSteps: RangeSteps): Promise<string | undefined> {
  const { documents } = await walk(inSteps, countRange)
  return findMiddle(documents, (place) =>
    inSteps((connection, range) => epkAfter(connection, range, place)),
  )
}

async function walk(inSteps: RangeSteps, step: typeof walkRange): Promise<KeyWalk> {
  let reached = WALK_START
  while (!reached.isAtEnd) {
    const before = reached
    reached = await inSteps((connection, range) => step(connection, range, before))
  }
  return reached
}
