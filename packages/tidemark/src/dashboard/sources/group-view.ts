import type { GroupRef, GroupView } from '../views.ts'
import type { DashboardContext } from './dashboard-context.ts'
import { groupRows } from './group-rows.ts'
import { timelineRows } from './timeline.ts'

/** Rejects with ERR_NOT_FOUND, and as the lease store does. */
export async function readGroupView(
  { groups, sampler, clock, texts }: DashboardContext,
  ref: GroupRef,
): Promise<GroupView> {
  const read = await groups.read(ref)
  const { latest, samples } = sampler.lagOf(ref)
  const { row, leases, hosts } = groupRows(read, { latest, nowMs: clock.wallMs(), texts })
  const { id: _, ranges: __, hosts: ___, ...head } = row
  const transitions = await read.group.readTransitions?.()
  const durability = await groups.durabilityOf(read)
  return {
    atMs: clock.wallMs(),
    head: {
      ...head,
      durability: durability ?? null,
      hasTimeline: transitions !== undefined,
      sampleMs: sampler.sampleMs,
    },
    tables: { leases, hosts, timeline: timelineRows(transitions ?? []), samples },
  }
}
