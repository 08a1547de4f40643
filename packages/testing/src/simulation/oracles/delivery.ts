import { MAX_ATTEMPTS, type World } from '../world/world.ts'
import type { MakeOracle } from './oracle.ts'

/**
 * O3: at rest every change was completed by some observer, or is kept as a dead letter, but then it was tried as often as
 * the policy says.
 */
export const deliveryOracle: MakeOracle = (verdict) => {
  const done = new Set<unknown>()
  const tries = new Map<unknown, number>()
  return {
    dispatched({ changes }) {
      for (const change of changes) tries.set(change, (tries.get(change) ?? 0) + 1)
    },
    deadLettered(change) {
      done.add(change)
      const tried = tries.get(change) ?? 0
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
