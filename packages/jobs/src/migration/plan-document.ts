import { keyText, sameKey } from './document-key.ts'
import { leaveTarget, stopWaiting, waitFor } from './plan-target-change.ts'
import {
  entryWrite,
  type DocumentPlan,
  type Facts,
  type IncomingDocument,
  type PlannedWrite,
} from './planned-write.ts'
import { NO_COUNTS } from './state-documents.ts'

/**
 * What to write for one version of a source document. Decides only; every assumption that it makes is a
 * condition of a write, so that a wrong one refuses the commit and is looked up again.
 *
 * A target key belongs to the document that had it first. Others wait for it in a queue and get it when
 * it is left, so that keys that are swapped in the source end swapped in the target too.
 */
export function planDocument(incoming: IncomingDocument, facts: Facts): DocumentPlan {
  const entry = facts.entries.get(keyText(incoming.source))
  if (entry !== undefined && entry.document.lsn >= incoming.lsn) return { kind: 'replay' }
  const { target = null, waiting = false } = entry?.document ?? {}
  const held = waiting ? undefined : (target ?? undefined)
  const awaited = waiting ? (target ?? undefined) : undefined
  const wanted = incoming.mapped
  const keeps = wanted !== undefined && held !== undefined && sameKey(wanted.key, held)
  const collides = wanted !== undefined && !keeps && facts.occupied.has(keyText(wanted.key))
  const waitsOn = collides && awaited !== undefined && sameKey(wanted.key, awaited)

  const writes: PlannedWrite[] = [
    entryWrite(incoming, { target: wanted?.key ?? null, waiting: collides }, entry),
  ]
  let resolvedBySuccession = 0
  if (wanted !== undefined && !collides) {
    writes.push({
      to: 'target',
      operation: { kind: 'put', document: wanted.document },
      key: wanted.key,
      condition: { kind: keeps ? 'none' : 'absent' },
    })
  }
  if (collides && !waitsOn) writes.push(...waitFor(incoming.source, wanted.key, facts))
  if (awaited !== undefined && !waitsOn)
    writes.push(...stopWaiting(incoming.source, awaited, facts))
  if (held !== undefined && !keeps) {
    const { writes: leaving, succeeded } = leaveTarget(held, facts)
    writes.push(...leaving)
    if (succeeded) resolvedBySuccession = 1
  }
  return {
    kind: 'write',
    writes,
    counts: {
      ...NO_COUNTS,
      documents: entry === undefined ? 1 : 0,
      updates: entry === undefined ? 0 : 1,
      moves: held !== undefined && wanted !== undefined && !keeps ? 1 : 0,
      dropped: wanted === undefined && (entry === undefined || target !== null) ? 1 : 0,
      collisions: collides && !waitsOn ? 1 : 0,
      collisionsResolved: (awaited !== undefined && !waitsOn ? 1 : 0) + resolvedBySuccession,
    },
    collision: collides && !waitsOn ? { source: incoming.source, target: wanted.key } : undefined,
  }
}
