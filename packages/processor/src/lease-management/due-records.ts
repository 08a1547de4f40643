import { closeReasonOf, type HeldRecord } from './held-record.ts'
import type { EffectSink } from './lease-protocol.ts'

/** Aborts the pumps whose time to drain is over, and gives back what a sink refused a while ago. */
export function endDue(records: Iterable<HeldRecord>, nowMs: number, effects: EffectSink): void {
  for (const record of records) {
    if (nowMs < record.dueMs) continue
    if (record.state === 'fenced') record.state = 'releasing'
    if (record.state !== 'draining') continue
    record.state = 'aborting'
    record.dirty = false
    // Whoever asked for a later position is told that it was not stored.
    record.wanted = record.stored
    const { held, releaseReason, cut } = record
    const reason = cut === undefined ? closeReasonOf(releaseReason) : 'rangeGone'
    effects.push({ kind: 'abortPump', held, reason })
  }
}

/** When `endDue` has something to do next. */
export function nextDueMs(records: Iterable<HeldRecord>): number {
  let next = Infinity
  for (const { state, dueMs } of records) {
    if (state === 'draining' || state === 'fenced') next = Math.min(next, dueMs)
  }
  return next
}
