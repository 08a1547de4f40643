import {
  lsn,
  parseFeedRangeId,
  type Clock,
  type DocumentBody,
  type GroupPosition,
  type GroupPositions,
} from '@tidemark/contracts'
import type { ChangeFeedProcessorHost } from '@tidemark/processor'

const RETRY_MS = 1_000

export interface PositionReportOptions {
  readonly group: string
  readonly clock: Clock
  readonly onError: (error: unknown) => void
  /** Ends waiting for another try. */
  readonly signal: AbortSignal
}

/**
 * Reports each position that a host has stored in a lease, so that purges know of it (TTL-14). Only what
 * is stored: a position that a crash would take back must not let anything go. Resolves the returned
 * function's call when what was stored by then is reported, or has failed.
 */
export function reportStoredPositions<S extends DocumentBody>(
  host: ChangeFeedProcessorHost<S>,
  positions: GroupPositions,
  { group, clock, onError, signal }: PositionReportOptions,
): () => Promise<void> {
  let pending = new Map<string, GroupPosition>()
  let reporting: Promise<void> | undefined

  const report = async (): Promise<void> => {
    while (pending.size > 0) {
      const batch = pending
      pending = new Map()
      try {
        await positions.report([...batch.values()])
      } catch (error) {
        onError(error)
        // What has come meanwhile is newer.
        pending = new Map([...batch, ...pending])
        if (!(await slept(clock, signal))) return
      }
    }
  }
  const stored = ({ leaseId, lsn: at }: { leaseId: string; lsn: number }): void => {
    const range = parseFeedRangeId(leaseId)
    if (range === undefined) return
    pending.set(leaseId, { group, range, lsn: lsn(at) })
    reporting ??= report().finally(() => {
      reporting = undefined
    })
  }
  // The position at which a lease is taken up may have been stored by a host that died before its report.
  host.on('leaseAcquired', stored).on('checkpointed', stored)
  return async () => {
    await reporting
  }
}

async function slept(clock: Clock, signal: AbortSignal): Promise<boolean> {
  try {
    await clock.sleep(RETRY_MS, signal)
    return true
  } catch {
    return false
  }
}
