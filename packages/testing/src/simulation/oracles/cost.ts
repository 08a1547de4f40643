import { balancesByLoad } from '../schedule/schedule.ts'
import { HOST_TIMES } from '../world/world.ts'
import type { MakeOracle } from './oracle.ts'

/** Of each host, for a host that comes or goes or a lease that gets an owner: to read, plan, acquire, release. */
const CALLS_PER_CHANGE = 3
/** Of each host, for a fault: to try again, beat early, reconcile. */
const CALLS_PER_FAULT = 5
/** Between two looks at what leases cost. */
const ROUND_MS = 15_000

/**
 * O11: what keeping leases costs. One heartbeat a host and interval, a checkpoint for what was done, a flush for each report
 * to the feed, and a bounded number of calls for each host that comes or goes, each lease that changes hands, and each fault.
 */
export const costOracle: MakeOracle = (verdict, { schedule }) => {
  let calls = 0
  let flushes = 0
  let hosts = 0
  let done = 0
  let changes = 0
  return {
    sent({ operation }) {
      if (operation === 'flush') flushes += 1
      else calls += 1
    },
    started() {
      hosts += 1
      changes += 1
    },
    stopped() {
      changes += 1
    },
    opened() {
      changes += 1
    },
    settled() {
      done += 1
    },
    atRest({ nowMs, feed }) {
      const beats = (hosts * nowMs) / HOST_TIMES.heartbeatMs
      // Ends of empty pages are stored every 5 s at most.
      const positions = done + (feed.ranges.length * nowMs) / 5_000
      const events = changes * CALLS_PER_CHANGE + (1 + schedule.faults.length) * CALLS_PER_FAULT
      // The first host looks whether loads differ.
      const rounds = balancesByLoad(schedule) ? nowMs / ROUND_MS : 0
      const limit = beats + rounds + positions + hosts * events
      if (calls > limit) {
        verdict.fail('O11', `${calls} calls to the lease store; ${Math.round(limit)} would do`)
      }
      // Before each report to the feed: one a second, and one when a lease comes or is given back.
      const reports = (hosts * nowMs) / 1_000 + events
      if (flushes > reports) {
        verdict.fail('O11', `${flushes} flushes; ${Math.round(reports)} would do`)
      }
    },
  }
}
