import { keyText, sameKey, type DocumentKey } from './document-key.ts'
import {
  entryWrite,
  stateKey,
  type Facts,
  type PlannedWrite,
  type Versioned,
} from './planned-write.ts'
import { waitersEntryKey, type WaitersEntry } from './state-documents.ts'

/** Joins the queue for a target key that another document has. */
export function waitFor(
  source: DocumentKey,
  target: DocumentKey,
  facts: Facts,
): readonly PlannedWrite[] {
  const queue = facts.waiters.get(keyText(target))
  const others = (queue?.document.sources ?? []).filter((other) => !sameKey(other, source))
  return [
    // Were the key left in this moment, nobody would find this document in the queue.
    { to: 'target', operation: { kind: 'check' }, key: target, condition: { kind: 'present' } },
    queueWrite(target, [...others, source], queue),
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

/** Gives a target key up: to the first document that waits for it, else the copy is removed. */
export function leaveTarget(
  target: DocumentKey,
  facts: Facts,
): { readonly writes: readonly PlannedWrite[]; readonly succeeded: boolean } {
  const remove: PlannedWrite = {
    to: 'target',
    operation: { kind: 'delete' },
    key: target,
    condition: { kind: 'none' },
  }
  const queue = facts.waiters.get(keyText(target))
  if (queue === undefined) {
    // Were someone to join the queue in this moment, it would wait for ever.
    return { writes: [remove, queueCheck(target)], succeeded: false }
  }
  const { successor, remaining = [] } = facts.successions.get(keyText(target)) ?? {}
  const left = queueWrite(target, remaining, queue)
  if (successor === undefined) return { writes: [remove, left], succeeded: false }
  const { source, lsn, entry, document } = successor
  return {
    writes: [
      { ...remove, operation: { kind: 'put', document } },
      entryWrite({ source, lsn }, { target, waiting: false }, entry),
      left,
    ],
    succeeded: true,
  }
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
    condition: present === undefined ? { kind: 'absent' } : { kind: 'lsn', lsn: present.lsn },
  }
}

function queueCheck(target: DocumentKey): PlannedWrite {
  return {
    to: 'state',
    operation: { kind: 'check' },
    key: stateKey(waitersEntryKey(target)),
    condition: { kind: 'absent' },
  }
}
