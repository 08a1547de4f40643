import { setTimeout as sleep } from 'node:timers/promises'
import { errorCode } from '@tidemark/contracts'
import { HistoryWriter } from '../history.ts'
import { openKeyedStore } from './keyed-store.ts'
import type { RangeProcessTask } from './range-tasks.ts'
import { endWithParent } from '../end-with-parent.ts'

/* Splits and merges pkranges until it is killed; notes what it begins and what was done. */

const PAUSE_MS = 60
const MAX_RANGES = 12
/** A range of one key; and ranges that were changed by nobody else are never gone. */
const EXPECTED = ['ERR_RANGE_INDIVISIBLE']
endWithParent()
// The stage of these tests is the only caller.
const task = JSON.parse(process.argv[2] ?? '') as RangeProcessTask
const history = new HistoryWriter(task.historyFile)
const { events } = await openKeyedStore(task)
history.note({ kind: 'event', name: 'started', detail: '' })
for (;;) {
  const ranges = await events.readFeedRanges()
  const index = Math.floor(Math.random() * ranges.length)
  const [range, next] = [ranges[index], ranges[index + 1]]
  const isSplit = Math.random() * MAX_RANGES > ranges.length
  if (range?.id !== undefined && (isSplit || next?.id !== undefined)) {
    const name = isSplit ? 'split' : 'merge'
    history.note({ kind: 'event', name: `${name} begins`, detail: range.id })
    try {
      if (isSplit) await events.split(range.id)
      else await events.merge(range.id, next?.id ?? '')
      history.note({ kind: 'event', name, detail: range.id })
    } catch (error) {
      if (!EXPECTED.includes(errorCode(error) ?? '')) throw error
    }
  }
  await sleep(Math.random() * PAUSE_MS)
}
