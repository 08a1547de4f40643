import type { MakeOracle } from './oracle.ts'

/**
 * O10: a sink outside that refuses stale owners has at rest what the feed has, for every key, but for changes that are
 * dead letters.
 */
export const sinkOracle: MakeOracle = (verdict) => {
  const letters = new Set<unknown>()
  return {
    deadLettered(change) {
      letters.add(change)
    },
    atRest({ sink, feed }) {
      const newest = new Map<string, number>()
      for (const change of feed.changes) {
        if (!letters.has(change)) newest.set(change.key, change.n)
      }
      for (const [key, n] of newest) {
        const held = sink.values.get(key) ?? 0
        if (held < n) verdict.fail('O10', `the sink has ${key} ${held}, the feed ${n}`)
      }
    },
  }
}
