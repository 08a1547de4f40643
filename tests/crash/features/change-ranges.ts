import { setTimeout as sleep } from 'node:timers/promises'
import { errorCode } from '@tidemark/contracts'
import type { Collection } from '@tidemark/store'
import type { FeatureDocument } from './feature-store.ts'
import type { Journal, JournalEntry } from './journal.ts'

const MAX_RANGES = 9
/** What another process that changes ranges leads to, and a range of one key. */
const EXPECTED = ['ERR_RANGE_GONE', 'ERR_NOT_FOUND', 'ERR_INVALID_OPTION', 'ERR_RANGE_INDIVISIBLE']

/** Splits and merges pkranges without end. */
export async function changeRanges(
  documents: Collection<FeatureDocument>,
  {
    journal,
    chance,
    maxPauseMs,
    outages,
  }: {
    readonly journal: Journal<JournalEntry>
    readonly chance: () => number
    readonly maxPauseMs: number
    /** Codes that say that the server went away meanwhile. */
    readonly outages: readonly string[]
  },
): Promise<never> {
  const expected = [...EXPECTED, ...outages]
  for (;;) {
    await sleep(chance() * maxPauseMs)
    const ranges = await documents.readFeedRanges()
    const share = ranges.length / (MAX_RANGES + 1)
    const index = Math.floor(chance() * (ranges.length - 1))
    const [range, next] = [ranges[index], ranges[index + 1]]
    journal.note({ kind: 'rangesBegin' })
    try {
      if (next === undefined || chance() > share) await documents.split(range?.id ?? '')
      else await documents.merge(range?.id ?? '', next.id ?? '')
    } catch (error) {
      if (!expected.includes(errorCode(error) ?? '')) throw error
    }
    journal.note({ kind: 'rangesDone' })
  }
}
