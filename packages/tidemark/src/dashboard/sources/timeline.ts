import type { LeaseTransition } from '@tidemark/contracts'
import type { TransitionKind, TransitionRow } from '../views.ts'

/** Of those that the lease store keeps. */
const MOST_ROWS = 1_000

/** Who had which lease, oldest first. Hosts tell only of themselves: whom they followed shows by what came before. */
export function timelineRows(transitions: readonly LeaseTransition[]): readonly TransitionRow[] {
  const owners = new Map<string, string>()
  const handedOver = new Map<string, string>()
  const rows = transitions.map((transition): TransitionRow => {
    const { atMs, host, leaseId, epoch } = transition
    const owner = owners.get(leaseId)
    const giver = handedOver.get(leaseId)
    const id = `${atMs} ${leaseId} ${epoch} ${transition.kind} ${host}`
    const row = { id, atMs, lease: leaseId, epoch }
    if (transition.kind === 'acquired') {
      owners.set(leaseId, host)
      handedOver.delete(leaseId)
      if (owner !== undefined && owner !== host) {
        return { ...row, kind: 'takenOver', from: owner, to: host }
      }
      const kind = giver === undefined ? 'acquired' : 'handedOver'
      return { ...row, kind, from: giver ?? null, to: host }
    }
    const kind = END_KINDS[transition.kind]
    // A host may notice late that another one has it.
    if (owner !== undefined && owner !== host) return { ...row, kind, from: host, to: owner }
    owners.delete(leaseId)
    if (transition.reason === 'leaseHandedOver') handedOver.set(leaseId, host)
    return { ...row, kind, from: host, to: null }
  })
  return rows.slice(-MOST_ROWS)
}

const END_KINDS: Record<Exclude<LeaseTransition['kind'], 'acquired'>, TransitionKind> = {
  released: 'released',
  lost: 'fenced',
  split: 'split',
  cut: 'split',
  joined: 'joined',
}
