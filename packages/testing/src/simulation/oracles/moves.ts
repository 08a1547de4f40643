import { balancesByLoad } from '../schedule/schedule.ts'
import type { MakeOracle } from './oracle.ts'

/** A fault may set the clock of the lease store so long after its time, and with it the minutes that hosts count. */
const CLOCK_SET_WITHIN_MS = 10_000
/** Of steady load: until then costs are known and leases have moved. */
const KNOWN_AFTER_MS = 120_000
/** From then on no lease moves, if one has since costs are known. */
const MOVED_AFTER_MS = 240_000

const BOUND_MS = 60_000
/** Within `BOUND_MS`: in no simulation are there so many leases that it would be more. */
const MOVES_AT_MOST = 4

interface Move {
  readonly leaseId: string
  readonly host: string
  readonly atMs: number
}

/**
 * O13: where hosts balance by load, and nothing happens but that leases cost what they cost: within any minute at most four
 * leases move, none of them twice, but for those that a host gets which had none; and moves come to an end. Costs are measured, so
 * two loads that differ by just the tolerance may be found to do so at any time: one lease moves late for it, and no other one.
 */
export const movesOracle: MakeOracle = (verdict, { schedule }) => {
  if (!balancesByLoad(schedule)) return {}
  let steadySinceMs = Infinity
  let recent: readonly Move[] = []
  let movesOfKnown = 0
  /** Hosts that had nothing, and when they first got a lease. */
  const newcomers = new Map<string, number>()
  return {
    steady({ nowMs }) {
      steadySinceMs = nowMs
    },
    storeChanged({ before, after, atMs }) {
      const steadyMs = Math.round(atMs - steadySinceMs)
      if (steadyMs < CLOCK_SET_WITHIN_MS || before.leases === after.leases) return
      const isNew = (host: string): boolean => atMs < (newcomers.get(host) ?? -Infinity) + BOUND_MS
      for (const { id, owner, epoch } of after.leases.values()) {
        const old = before.leases.get(id)
        if (owner === undefined || old?.epoch === epoch) continue
        const { host } = owner
        const hadNone = [...before.leases.values()].every((lease) => lease.owner?.host !== host)
        if (hadNone && !isNew(host)) newcomers.set(host, atMs)
        recent = recent.filter((move) => atMs < move.atMs + BOUND_MS)
        const again = recent.find(({ leaseId }) => leaseId === id)
        if (again !== undefined && !isNew(host)) {
          const sinceMs = Math.round(atMs - again.atMs)
          verdict.fail('O13', `${id} moved to ${host} ${sinceMs} ms after it came to ${again.host}`)
        }
        recent = [...recent, { leaseId: id, host, atMs }]
        const forLoad = recent.filter((move) => !isNew(move.host))
        if (forLoad.length > MOVES_AT_MOST) {
          verdict.fail('O13', `${forLoad.length} leases moved within a minute for load`)
        }
        if (steadyMs >= KNOWN_AFTER_MS) movesOfKnown += 1
        if (steadyMs >= MOVED_AFTER_MS && movesOfKnown > 1) {
          verdict.fail('O13', `${id} moved to ${host} after ${steadyMs} ms of the same load`)
        }
      }
    },
  }
}
