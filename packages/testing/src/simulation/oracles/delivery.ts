import { MAX_ATTEMPTS, type World } from '../world/world.ts'
import type { MakeOracle } from './oracle.ts'

/**
 * O3: at rest every change was completed by some observer, or is kept as a dead letter, but then it was tried as often as
 * the policy says. A try that was stored counts, whether or not its owner lived to make it.
 */
export const deliveryOracle: MakeOracle = (verdict) => {
  const done = new Set<unknown>()
  const tries = new Map<unknown, number>()
  /** By the id of the letter. */
  const storedTries = new Map<string, number>()
  return {
    dispatched({ changes }) {
      for (const change of changes) tries.set(change, (tries.get(change) ?? 0) + 1)
    },
    storeChanged({ before, after }) {
      if (before.leases === after.leases) return
      for (const { checkpoint } of after.leases.values()) {
        const { first, count = 0 } = checkpoint.attempts ?? {}
        if (first === undefined) continue
        storedTries.set(first, Math.max(count, storedTries.get(first) ?? 0))
      }
    },
    deadLettered(change, { id }) {
      done.add(change)
      const tried = Math.max(tries.get(change) ?? 0, storedTries.get(id) ?? 0)
      if (tried >= MAX_ATTEMPTS) return
      verdict.fail('O3', `${change.key} ${change.n} became a dead letter after ${tried} tries`)
    },
    settled({ outcome, changes }) {
      if (outcome === 'done') for (const change of changes) done.add(change)
    },
    atRest({ feed }: World) {
      const missing = feed.changes.filter((change) => !done.has(change))
      const [first] = missing
      if (first === undefined) return
      verdict.fail(
        'O3',
        `${missing.length} changes were never completed, first ${first.key} ${first.n}`,
      )
    },
  }
}
