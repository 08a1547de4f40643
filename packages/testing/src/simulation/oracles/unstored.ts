import type { HeldLease } from '@tidemark/contracts'
import type { ObserverLife } from '../world/world-events.ts'
import { MAX_BATCH } from '../world/world.ts'
import type { MakeOracle } from './oracle.ts'

/** Batches of a lease that the death of its process may repeat, as hosts have it by default. */
const MAX_UNSTORED_BATCHES = 2

/**
 * O9, for hosts that store each batch: at most so many batches of a lease are in hand or done and not stored, or as many
 * small ones as have no more changes. Judged of observers that have never failed: who tries a batch in parts makes more calls than it has batches.
 */
export const unstoredOracle: MakeOracle = (verdict, { schedule }) => {
  const { checkpointFrequency, maxConcurrentKeys } = schedule.settings
  if (checkpointFrequency !== 'everyBatch' || maxConcurrentKeys > 1) return {}
  const stored = new Map<string, number>()
  /** Calls that are done, by observer. */
  const done = new Map<string, { readonly lsn: number; readonly changes: number }[]>()
  const failed = new Set<string>()
  return {
    storeChanged({ before, after }) {
      if (before.leases === after.leases) return
      for (const { id, epoch, checkpoint } of after.leases.values()) {
        const lease = leaseKey({ leaseId: id, epoch })
        stored.set(lease, Math.max(checkpoint.lsn, stored.get(lease) ?? 0))
      }
    },
    dispatched(life) {
      if (life.isOne) return
      const storedLsn = stored.get(leaseKey(life)) ?? 0
      const unstored = (done.get(lifeKey(life)) ?? []).filter(({ lsn }) => lsn > storedLsn)
      done.set(lifeKey(life), unstored)
      const changes = unstored.reduce((sum, one) => sum + one.changes, 0)
      const isSmall = changes <= (MAX_UNSTORED_BATCHES - 1) * MAX_BATCH
      if (unstored.length < MAX_UNSTORED_BATCHES || isSmall || failed.has(lifeKey(life))) return
      verdict.fail(
        'O9',
        `${life.member.process.name} ${life.leaseId}: called while ${unstored.length} batches were not stored`,
      )
    },
    settled({ outcome, changes, ...life }) {
      const last = changes.at(-1)
      if (outcome !== 'done') failed.add(lifeKey(life))
      else if (last !== undefined)
        done.get(lifeKey(life))?.push({ lsn: last.change.lsn, changes: changes.length })
    },
  }
}

function leaseKey({ leaseId, epoch }: HeldLease): string {
  return `${leaseId}@${epoch}`
}

function lifeKey(life: ObserverLife): string {
  return `${life.member.id} ${leaseKey(life)}`
}
