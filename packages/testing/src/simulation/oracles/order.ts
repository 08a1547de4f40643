import type { Delivery } from '../world/world-events.ts'
import type { MakeOracle } from './oracle.ts'

/**
 * O4: nothing is skipped: whatever is handed to an observer, all before it of the same key was completed by some
 * observer. O5: of each key, whichever leases it was in, changes are first completed in order.
 */
export const orderOracle: MakeOracle = (verdict) => {
  const completed = new Map<string, number>()
  return {
    dispatched({ changes, leaseId, member }: Delivery) {
      if (changes.length === 0) verdict.fail('O4', `${leaseId}: an empty batch was dispatched`)
      let previousLsn = -1
      const expected = new Map<string, number>()
      for (const { key, n, change } of changes) {
        const next = (expected.get(key) ?? completed.get(key) ?? 0) + 1
        if (n > next) {
          verdict.fail(
            'O4',
            `${member.process.name} ${leaseId}: ${key} ${n} was dispatched, and ${next} was not completed`,
          )
        }
        if (change.lsn < previousLsn) verdict.fail('O5', `${leaseId}: LSNs fall within a batch`)
        previousLsn = change.lsn
        expected.set(key, Math.max(n, next - 1))
      }
    },
    // Out of the way: what comes after it goes on.
    deadLettered({ key, n }) {
      const newest = completed.get(key) ?? 0
      if (n > newest + 1) verdict.fail('O5', `${key} ${n} was taken out before ${newest + 1}`)
      completed.set(key, Math.max(newest, n))
    },
    settled({ outcome, changes, leaseId }: Delivery) {
      if (outcome !== 'done') return
      for (const { key, n } of changes) {
        const newest = completed.get(key) ?? 0
        if (n > newest + 1) {
          verdict.fail('O5', `${leaseId}: ${key} ${n} was completed before ${newest + 1}`)
        }
        completed.set(key, Math.max(newest, n))
      }
    },
  }
}
