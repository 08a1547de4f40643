import type { EtagConditions } from '@tidemark/contracts'
import { keyText, sameKey, type DocumentKey } from './document-key.ts'
import {
  asRead,
  entryWrite,
  parkedEntry,
  putCopy,
  stateKey,
  type Facts,
  type Holding,
  type PlannedWrite,
  type Versioned,
} from './planned-write.ts'
import { waitersEntryKey, type WaitersEntry } from './state-documents.ts'

/**
 * Joins the queue for a target key that another document has, or stays in it: who wanted another key when its turn
 * came was passed over, and wants it again.
 */
export function waitFor(
  source: DocumentKey,
  target: DocumentKey,
  facts: Facts,
): readonly PlannedWrite[] {
  const queue = facts.waiters.get(keyText(target))
  const sources = queue?.document.sources ?? []
  if (queue !== undefined && sources.some((other) => sameKey(other, source))) {
    // Written, not only looked at: whoever passes it over in this moment has to look again.
    return [queueWrite(target, sources, queue)]
  }
  return [
    // Were the key left in this moment, nobody would find this document in the queue.
    { to: 'target', operation: { kind: 'check' }, key: target, conditions: { ifMatch: '*' } },
    queueWrite(target, [...sources, source], queue),
  ]
}

/** Leaves the queue for a target key. */
export function stopWaiting(
  source: DocumentKey,
  target: DocumentKey,
  facts: Facts,
): readonly PlannedWrite[] {
  const queue = facts.waiters.get(keyText(target))
  if (queue === undefined) return []
  const others = queue.document.sources.filter((other) => !sameKey(other, source))
  return [queueWrite(target, others, queue)]
}

/**
 * Gives a target key up: to the first document that waits for it, else the copy is removed.
 *
 * @param holding of a copy that expires; `gone` leaves nothing to remove, and the key is anybody's
 */
export function leaveTarget(
  target: DocumentKey,
  facts: Facts,
  holding: Holding | undefined,
): { readonly writes: readonly PlannedWrite[]; readonly successor?: DocumentKey } {
  const conditions = leavingConditions(holding)
  const remove: PlannedWrite = {
    to: 'target',
    operation: { kind: holding?.kind === 'gone' ? 'check' : 'delete' },
    key: target,
    conditions,
  }
  const queue = facts.waiters.get(keyText(target))
  if (queue === undefined) {
    // Were someone to join the queue in this moment, it would wait for ever.
    return { writes: [remove, queueCheck(target)] }
  }
  const { successor, remaining = [] } = facts.successions.get(keyText(target)) ?? {}
  const left = queueWrite(target, remaining, queue)
  if (successor === undefined) return { writes: [remove, left] }
  const { source, lsn, entry, document, expiresAtMs } = successor
  const copy = { target, waiting: false, expires: expiresAtMs !== undefined }
  return {
    writes: [
      putCopy({ key: target, document, expiresAtMs }, conditions),
      entryWrite({ source, lsn }, copy, entry),
      left,
    ],
    successor: source,
  }
}

/**
 * Takes values of unique keys from the copies of documents that have given them up in the source. These have no copy
 * until their newer version comes, which is on its way.
 */
export function takeValues(sources: readonly DocumentKey[], facts: Facts): readonly PlannedWrite[] {
  const rivals = sources.flatMap((source) => facts.rivals.get(keyText(source)) ?? [])
  const outdated = rivals.filter(({ isOutdated }) => isOutdated)
  const each = new Map(outdated.map((rival) => [keyText(rival.source), rival])).values()
  return [...each].flatMap(({ source, entry, target, holding }) => [
    parkedEntry({ source, lsn: entry.document.lsn }, target, entry),
    {
      to: 'target',
      operation: { kind: 'delete' },
      key: target,
      conditions: leavingConditions(holding),
    },
  ])
}

function leavingConditions(holding: Holding | undefined): EtagConditions {
  if (holding?.kind === 'own') return { ifMatch: holding.etag }
  // Whoever has taken the key since keeps it.
  return holding === undefined ? {} : { ifNoneMatch: '*' }
}

function queueWrite(
  target: DocumentKey,
  sources: readonly DocumentKey[],
  present: Versioned<WaitersEntry> | undefined,
): PlannedWrite {
  const { partition, id } = waitersEntryKey(target)
  const document: WaitersEntry = { id, partition, sources }
  return {
    to: 'state',
    operation: sources.length === 0 ? { kind: 'delete' } : { kind: 'put', document },
    key: stateKey({ partition, id }),
    conditions: asRead(present),
  }
}

function queueCheck(target: DocumentKey): PlannedWrite {
  return {
    to: 'state',
    operation: { kind: 'check' },
    key: stateKey(waitersEntryKey(target)),
    conditions: asRead(undefined),
  }
}
