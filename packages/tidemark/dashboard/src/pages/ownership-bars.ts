import type { LeaseRow, TransitionRow } from '../../../src/dashboard/views.ts'

/** A host had a range from one moment to another. */
export interface OwnershipBar {
  readonly host: string
  /** Undefined: since before the timeline begins. */
  readonly fromMs: number | undefined
  /** Undefined: it has it now. */
  readonly toMs: number | undefined
}

export interface RangeHistory {
  /** Lease token. */
  readonly id: string
  readonly bars: readonly OwnershipBar[]
  readonly transitions: readonly TransitionRow[]
}

/** What happened to each range, in the order of their keys; also of ranges that were split or joined since. */
export function rangeHistories(
  leases: readonly LeaseRow[],
  timeline: readonly TransitionRow[],
): readonly RangeHistory[] {
  const byLease = new Map<string, TransitionRow[]>(leases.map(({ id }) => [id, []]))
  for (const transition of timeline) {
    if (transition.lease === null) continue
    const before = byLease.get(transition.lease)
    if (before === undefined) byLease.set(transition.lease, [transition])
    else before.push(transition)
  }
  const owners = new Map(leases.map((lease) => [lease.id, liveOwner(lease)]))
  return [...byLease]
    .map(([id, transitions]): RangeHistory => {
      return { id, transitions, bars: ownershipBars(transitions, owners.get(id)) }
    })
    .toSorted(inKeyOrder)
}

function liveOwner({ owner, state }: LeaseRow): string | undefined {
  return state === 'orphaned' || state === 'missing' ? undefined : (owner ?? undefined)
}

/** By where they begin; of two that begin together the larger one first. */
function inKeyOrder(a: RangeHistory, b: RangeHistory): number {
  const [fromA = '', toA = ''] = a.id.split('-', 2)
  const [fromB = '', toB = ''] = b.id.split('-', 2)
  if (fromA !== fromB) return fromA < fromB ? -1 : 1
  return toA > toB ? -1 : 1
}

function ownershipBars(
  transitions: readonly TransitionRow[],
  ownerNow: string | undefined,
): readonly OwnershipBar[] {
  const bars: OwnershipBar[] = []
  let open: { readonly host: string; readonly fromMs: number | undefined } | undefined
  for (const [index, { atMs, from, to }] of transitions.entries()) {
    // Whose it was before the first transition is known only from that.
    if (index === 0 && from !== null) open = { host: from, fromMs: undefined }
    if (open?.host === to) continue
    if (open !== undefined) bars.push({ ...open, toMs: atMs })
    open = to === null ? undefined : { host: to, fromMs: atMs }
  }
  if (transitions.length === 0 && ownerNow !== undefined)
    open = { host: ownerNow, fromMs: undefined }
  if (open !== undefined && open.host === ownerNow) bars.push({ ...open, toMs: undefined })
  return bars
}
