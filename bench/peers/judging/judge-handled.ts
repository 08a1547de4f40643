import { customerOf } from '../../data/order-document.ts'
import type { Handled } from './handled-log.ts'

export interface Judgement {
  /** When each document was handled for the first time. */
  readonly first: ReadonlyMap<number, number>
  /** Documents that were handled again, each time counted. */
  readonly repeats: number
  /** Documents that were handled for the first time after a later one of their key. */
  readonly orderBreaks: number
}

/** Joins what workers handled by the machine's clock, and looks at each key. A key's documents were written by index. */
export function judgeHandled(workers: readonly (readonly Handled[])[]): Judgement {
  const first = new Map<number, number>()
  const newest = new Map<string, number>()
  let repeats = 0
  let orderBreaks = 0
  // The sort is stable: what one worker handled in the same moment stays in its order.
  for (const { index, atMs } of workers.flat().toSorted((a, b) => a.atMs - b.atMs)) {
    if (first.has(index)) {
      repeats++
      continue
    }
    first.set(index, atMs)
    const key = customerOf(index)
    const last = newest.get(key) ?? -1
    if (index < last) orderBreaks++
    else newest.set(key, index)
  }
  return { first, repeats, orderBreaks }
}
