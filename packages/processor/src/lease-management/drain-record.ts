import { closeReasonOf, type HeldRecord } from './held-record.ts'
import type { EffectSink, ReleaseReason } from './lease-protocol.ts'

/** A held lease is to be given up, its batch in flight until `deadlineMs` at the latest. */
export function drainRecord(
  record: HeldRecord,
  { reason, deadlineMs }: { readonly reason: ReleaseReason; readonly deadlineMs: number },
  effects: EffectSink,
): void {
  switch (record.state) {
    case 'waiting':
    case 'rangeGone':
    case 'fenced':
      record.state = 'releasing'
      record.releaseReason = reason
      return
    case 'running':
      record.state = 'draining'
      record.releaseReason = reason
      record.dueMs = deadlineMs
      effects.push({
        kind: 'drainPump',
        held: record.held,
        reason: closeReasonOf(reason),
      })
      return
    case 'draining':
      if (record.cut === undefined) {
        record.dueMs = Math.min(record.dueMs, deadlineMs)
        return
      }
      // It goes as it is.
      record.cut = undefined
      record.dueMs = deadlineMs
      record.releaseReason = reason
      effects.push({ kind: 'drainPump', held: record.held, reason: closeReasonOf(reason) })
      return
    case 'aborting':
      if (record.cut === undefined) return
      record.cut = undefined
      record.releaseReason = reason
      return
    case 'releasing':
    // What comes in its place goes the way that it was to go.
    case 'replacing':
      return
  }
}
