import { feedRangeId, parseFeedRangeId, rangesOverlap, type FeedRange } from '@tidemark/contracts'
import type { LeaseGroupState } from '@tidemark/processor/lease-model'
import { GROUP, type StoreChange } from '../world/lease-server.ts'
import type { MakeOracle, Verdict } from './oracle.ts'

/**
 * O2, for a store whose machine dies: nothing but positions is lost, and no tries with them; and what the feed was told of was
 * on disk before, because a purge may have followed from it (TTL-14).
 */
export const crashOracle: MakeOracle = (verdict) => {
  /** The highest that was ever on disk, by lease. */
  const synced = new Map<string, number>()
  // What a store has lost by other means goes on where its hosts say.
  let hasLostData = false
  const syncedOf = (range: FeedRange): number => {
    const lsns = [...synced].flatMap(([id, lsn]) => {
      const other = parseFeedRangeId(id)
      return other !== undefined && rangesOverlap(other, range) ? [lsn] : []
    })
    return Math.max(0, ...lsns)
  }
  return {
    synced({ leases }) {
      for (const { id, checkpoint } of leases.values()) {
        synced.set(id, Math.max(checkpoint.lsn, synced.get(id) ?? 0))
      }
    },
    storeChanged(change) {
      if (change.cause === 'crash') checkLoss(verdict, change)
      else if (change.cause !== 'request') hasLostData = true
    },
    told(positions) {
      if (hasLostData || synced.size === 0) return
      for (const { group, range, lsn } of positions) {
        const syncedLsn = syncedOf(range)
        if (group !== GROUP || lsn <= syncedLsn) continue
        verdict.fail(
          'O2',
          `the feed was told ${lsn} of ${feedRangeId(range)}, of which ${syncedLsn} is on disk`,
        )
      }
    },
  }
}

function checkLoss(verdict: Verdict, { before, after }: StoreChange): void {
  const was = withoutPositions(before)
  const is = withoutPositions(after)
  if (was !== is) verdict.fail('O2', `a crash took more than positions: ${was} became ${is}`)
}

function withoutPositions({ head, leases, targets }: LeaseGroupState): string {
  const { sessions } = head
  const records = [...leases.values()].map(({ id, owner, epoch, checkpoint: { attempts } }) => ({
    id,
    owner,
    epoch,
    attempts,
  }))
  return JSON.stringify([{ ...head, sessions: [...sessions] }, records, [...targets]])
}
