import { parseFeedRangeId, rangeContains } from '@tidemark/contracts'
import type { LeaseGroupState, LeaseRecord } from '@tidemark/processor/lease-model'
import type { SimulatedProcess } from '../time/simulated-process.ts'
import type { StoreChange } from '../world/lease-server.ts'
import type { MakeOracle, Verdict } from './oracle.ts'

/**
 * O2: stored positions never go back, unless an operator or a loss of data makes them; and every write was the present
 * owner's, of this life of it and at the present epoch (I2, I3).
 */
export const positionsOracle: MakeOracle = (verdict) => {
  const processOf = new Map<string, SimulatedProcess>()
  return {
    sent({ caller, member }) {
      if (caller !== undefined) processOf.set(caller.incarnation, member.process)
    },
    storeChanged(change) {
      const { before, after, by, cause } = change
      if (cause !== 'request' || by === undefined || by.name === 'operator') return
      if (before.leases === after.leases) return
      for (const [id, record] of after.leases) {
        const old = before.leases.get(id)
        if (old === record) continue
        if (old === undefined) checkInherited(verdict, record, before)
        else checkWrite(verdict, { old, record, by, change, processOf })
      }
      for (const old of before.leases.values()) {
        if (!after.leases.has(old.id)) checkRemoval(verdict, old, { by, processOf })
      }
    },
  }
}

function checkWrite(
  verdict: Verdict,
  {
    old,
    record,
    by,
    change,
    processOf,
  }: {
    readonly old: LeaseRecord
    readonly record: LeaseRecord
    readonly by: SimulatedProcess
    readonly change: StoreChange
    readonly processOf: ReadonlyMap<string, SimulatedProcess>
  },
): void {
  const { id, checkpoint } = record
  if (checkpoint.lsn < old.checkpoint.lsn) {
    verdict.fail('O2', `${id} went back from ${old.checkpoint.lsn} to ${checkpoint.lsn}`)
  }
  const isAcquired = record.epoch !== old.epoch
  if (isAcquired) return
  const owner = old.owner && processOf.get(old.owner.incarnation)
  if (owner !== by) {
    verdict.fail('O2', `${by.name} wrote ${id}, which is ${owner?.name ?? 'nobody'}'s`)
  }
  const claim = change.claims.find(({ leaseId }) => leaseId === id)
  if (claim !== undefined && claim.epoch !== old.epoch) {
    verdict.fail('O2', `${by.name} wrote ${id} at epoch ${claim.epoch}; it is at ${old.epoch}`)
  }
}

/** Only its owner replaces a lease. */
function checkRemoval(
  verdict: Verdict,
  old: LeaseRecord,
  {
    by,
    processOf,
  }: {
    readonly by: SimulatedProcess
    readonly processOf: ReadonlyMap<string, SimulatedProcess>
  },
): void {
  const owner = old.owner && processOf.get(old.owner.incarnation)
  if (owner === by) return
  verdict.fail('O2', `${by.name} replaced ${old.id}, which is ${owner?.name ?? 'nobody'}'s`)
}

/** A lease that lies within one old one begins at or above its position. */
function checkInherited(verdict: Verdict, record: LeaseRecord, before: LeaseGroupState): void {
  const range = parseFeedRangeId(record.id)
  if (range === undefined) return
  for (const old of before.leases.values()) {
    const oldRange = parseFeedRangeId(old.id)
    if (oldRange === undefined || !rangeContains(oldRange, range)) continue
    if (record.checkpoint.lsn >= old.checkpoint.lsn) continue
    verdict.fail(
      'O2',
      `${record.id} began at ${record.checkpoint.lsn}, ${old.id} was at ${old.checkpoint.lsn}`,
    )
  }
}
