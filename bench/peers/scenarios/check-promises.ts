import type { PeerEntry } from '../contract/peer.ts'
import { judgeHandled, type Judgement } from '../judging/judge-handled.ts'
import type { WorkerGroup } from '../worker-group.ts'

/** Looks at what a group without faults handled. Throws if a document is missing, and if we broke a promise of ours. */
export function judgeCalmGroup(
  group: WorkerGroup,
  { entry, count }: { readonly entry: PeerEntry; readonly count: number },
): Judgement {
  const judged = judgeHandled(group.handled())
  if (judged.first.size !== count) {
    throw new Error(`${entry.name}: ${judged.first.size} of ${count} documents were handled`)
  }
  checkOurs(entry, judged, { repeats: 0 })
  return judged
}

/** Ours keep each key's order whatever happens, and repeat at most so much. */
export function checkOurs(
  entry: PeerEntry,
  judged: Judgement,
  { repeats }: { readonly repeats: number },
): void {
  if (!entry.isOurs) return
  if (judged.orderBreaks > 0 || judged.repeats > repeats) {
    throw new Error(
      `${entry.name}: ${judged.orderBreaks} documents out of order, ${judged.repeats} repeats`,
    )
  }
}
