import type { EtagConditions } from '@tidemark/contracts'
import { keyText, sameKey, type DocumentKey } from './document-key.ts'
import { leaveTarget, stopWaiting, takeValues, waitFor } from './plan-target-change.ts'
import {
  asRead,
  entryRemoval,
  entryTombstone,
  entryWrite,
  putCopy,
  type DocumentPlan,
  type Facts,
  type Holding,
  type IncomingDocument,
  type PlannedWrite,
  type Versioned,
} from './planned-write.ts'
import { NO_COUNTS, type SourceEntry } from './state-documents.ts'

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
  const standing = standingOf(incoming, entry, facts)
  if (incoming.gone !== undefined) return planRemoval(incoming, standing, facts)
  const isFirst = entry === undefined || entry.document.deleted === true
  const { held, awaited, left } = standing
  const wanted = incoming.mapped
  const keeps = wanted !== undefined && held !== undefined && sameKey(wanted.key, held)
  const collides = wanted !== undefined && !keeps && facts.occupied.has(keyText(wanted.key))
  const waitsOn = collides && awaited !== undefined && sameKey(wanted.key, awaited)
  const returns = wanted !== undefined && left !== undefined && sameKey(wanted.key, left)

  const copy = {
    target: wanted?.key ?? null,
    waiting: collides,
    expires: wanted?.expiresAtMs !== undefined && !collides,
  }
  const writes: PlannedWrite[] = [entryWrite(incoming, copy, entry)]
  const copied: DocumentKey[] = []
  if (collides) writes.push(...waitFor(incoming.source, wanted.key, facts))
  if (awaited !== undefined && !waitsOn)
    writes.push(...stopWaiting(incoming.source, awaited, facts))
  let resolvedBySuccession = 0
  if (left !== undefined && !returns) {
    const { writes: leaving, successor } = leaveTarget(left, facts, standing.holding)
    writes.push(...leaving)
    if (successor !== undefined) {
      copied.push(successor)
      resolvedBySuccession = 1
    }
  }
  // After what replaces its copy, which may have the same values of unique keys.
  if (wanted !== undefined && !collides) {
    writes.push(putCopy(wanted, keeps ? ownConditions(standing.holding) : asRead(undefined)))
    copied.push(incoming.source)
  }
  writes.push(...takeValues(copied, facts))
  return {
    kind: 'write',
    writes: inOrder(writes),
    counts: {
      ...NO_COUNTS,
      documents: isFirst ? 1 : 0,
      updates: isFirst ? 0 : 1,
      moves: held !== undefined && wanted !== undefined && !keeps ? 1 : 0,
      dropped: wanted === undefined && (isFirst || standing.hadTarget) ? 1 : 0,
      collisions: collides && !waitsOn ? 1 : 0,
      collisionsResolved: (awaited !== undefined && !waitsOn ? 1 : 0) + resolvedBySuccession,
    },
    collision: collides && !waitsOn ? { source: incoming.source, target: wanted.key } : undefined,
  }
}

/** Where a source document stands in the target before this version of it. */
interface Standing {
  readonly entry: Versioned<SourceEntry> | undefined
  readonly hadTarget: boolean
  /** Undefined for copies that do not expire. */
  readonly holding: Holding | undefined
  /** Target key of its copy, which is there. */
  readonly held: DocumentKey | undefined
  /** Target key that it had or has, and that others may wait for. */
  readonly left: DocumentKey | undefined
  /** Target key that it waits for. */
  readonly awaited: DocumentKey | undefined
}

function standingOf(
  { source }: IncomingDocument,
  entry: Versioned<SourceEntry> | undefined,
  facts: Facts,
): Standing {
  const { target = null, waiting = false } = entry?.document ?? {}
  const holding = facts.holdings.get(keyText(source))
  const given = waiting ? undefined : (target ?? undefined)
  const isThere = holding === undefined || holding.kind === 'own'
  return {
    entry,
    hadTarget: target !== null,
    holding,
    held: isThere ? given : undefined,
    left: holding?.kind === 'other' ? undefined : given,
    awaited: waiting ? (target ?? undefined) : undefined,
  }
}

/**
 * The source document is no more: its copy goes. What has expired is forgotten, for its pending delete
 * comes in order with its versions; of what was deleted the LSN is kept, for its versions may be behind.
 */
function planRemoval(
  { source, lsn, gone }: IncomingDocument,
  { entry, left, awaited, holding }: Standing,
  facts: Facts,
): DocumentPlan {
  const writes: PlannedWrite[] = []
  if (gone === 'deleted') writes.push(entryTombstone({ source, lsn }, entry))
  else if (entry !== undefined) writes.push(entryRemoval(source, entry))
  // It was never copied, or is forgotten already.
  else return { kind: 'replay', unseen: true }
  let resolved = 0
  if (awaited !== undefined) {
    writes.push(...stopWaiting(source, awaited, facts))
    resolved += 1
  }
  if (left !== undefined) {
    const { writes: leaving, successor } = leaveTarget(left, facts, holding)
    writes.push(...leaving)
    if (successor !== undefined) {
      writes.push(...takeValues([successor], facts))
      resolved += 1
    }
  }
  const removed = entry === undefined || entry.document.deleted === true ? 0 : 1
  const counts = {
    ...NO_COUNTS,
    expired: gone === 'expired' ? removed : 0,
    deleted: gone === 'deleted' ? removed : 0,
    collisionsResolved: resolved,
  }
  return { kind: 'write', writes: inOrder(writes), counts, collision: undefined }
}

/** Checks of target keys look at them before copies go, and the values of unique keys that these give up are free then. */
function inOrder(writes: readonly PlannedWrite[]): readonly PlannedWrite[] {
  return writes.toSorted((a, b) => placeOf(a) - placeOf(b))
}

function placeOf({ to, operation: { kind } }: PlannedWrite): number {
  return to === 'target' ? { check: 0, delete: 1, put: 2 }[kind] : 2
}

/** A copy that expires may be another document's by the time of the commit. */
function ownConditions(holding: Holding | undefined): EtagConditions {
  return holding?.kind === 'own' ? { ifMatch: holding.etag } : {}
}
