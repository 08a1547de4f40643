import { setTimeout as sleep } from 'node:timers/promises'
import { errorCode } from '@tidemark/contracts'
import { generator } from '../lane.ts'
import { outageCodes } from '../store-place.ts'
import { changeRanges } from './change-ranges.ts'
import { FeatureLane, type PlannedOperation } from './feature-lane.ts'
import { BUSY_MAINTENANCE, openFeatureStore, type FeatureDocument } from './feature-store.ts'
import type { FeatureWriterMessage, FeatureWriterTask } from './feature-tasks.ts'
import { Journal, type JournalEntry } from './journal.ts'
import { noteEvents } from './note-events.ts'
import { untilDone } from './until-done.ts'

/* Writes, splits, merges, changes the time to live and maintains the store until it is killed. */

const DEFAULT_TTLS = [-1, 2, 5, null] as const
const TTL_PAUSE_MS = 600

// Only the crash command starts this file, with a task.
const task = JSON.parse(process.argv[2] ?? '') as FeatureWriterTask
const journal = new Journal<JournalEntry>(task.journal)
const { store, documents } = await openFeatureStore({
  place: task.place,
  maintenance: BUSY_MAINTENANCE,
})
const outages = outageCodes(task.place)
noteEvents(store, { journal, outages })
const chance = generator(task.seed * 31 + task.round * 7 + (task.lanes[0] ?? 0))
const lanes = task.lanes.map((lane) => new FeatureLane({ ...task, lane }))
process.send?.({ kind: 'writing' } satisfies FeatureWriterMessage)
await Promise.all([
  ...lanes.map((lane) => write(lane)),
  changeRanges(documents, { journal, chance, maxPauseMs: task.maxRangePauseMs, outages }),
  task.changesTtl ? changeTtl() : undefined,
])

async function write(lane: FeatureLane): Promise<never> {
  for (;;) {
    const { index, operations } = lane.next()
    journal.note({ kind: 'begin', lane: lane.name, index, atMs: Date.now(), operations })
    try {
      const { lsn, timeMs } = await carryOut(lane.name, operations)
      journal.note({ kind: 'done', lane: lane.name, index, lsn, timeMs })
    } catch (error) {
      const code = errorCode(error) ?? String(error)
      // Without an answer in the journal: it may have happened, and the log of all versions says so.
      if (outages.includes(code)) journal.note({ kind: 'event', name: 'noAnswer', items: 1 })
      else journal.note({ kind: 'refused', lane: lane.name, index, atMs: Date.now(), code })
    }
  }
}

async function carryOut(
  lane: string,
  operations: readonly PlannedOperation[],
): Promise<{ readonly lsn: number; readonly timeMs: number }> {
  const [first, ...others] = operations
  if (first === undefined) throw new Error('a lane always does something')
  if (others.length > 0) {
    const batch = operations.map((operation) =>
      operation.kind === 'delete'
        ? operation
        : { kind: operation.kind, document: documentOf(lane, operation) },
    )
    const { lsn, serverTimeMs } = await documents.batch(lane, batch)
    return { lsn: lsn ?? -1, timeMs: serverTimeMs }
  }
  const { lsn, serverTimeMs } =
    first.kind === 'delete'
      ? await documents.delete(first.id, lane)
      : await documents[first.kind](documentOf(lane, first))
  return { lsn, timeMs: serverTimeMs }
}

function documentOf(
  lane: string,
  { id, version, ttl }: Exclude<PlannedOperation, { kind: 'delete' }>,
): FeatureDocument {
  const filler = 'x'.repeat((version.length * 97) % 500)
  return { id, lane, version, filler, ...(ttl !== 0 && { ttl }) }
}

async function changeTtl(): Promise<never> {
  for (;;) {
    await sleep(chance() * TTL_PAUSE_MS)
    const defaultTtl = DEFAULT_TTLS[Math.floor(chance() * DEFAULT_TTLS.length)] ?? null
    journal.note({ kind: 'ttlBegin', atMs: Date.now(), defaultTtl })
    await untilDone(outages, () => documents.updateSettings({ defaultTtl }))
    journal.note({ kind: 'ttlDone', atMs: Date.now() })
  }
}
