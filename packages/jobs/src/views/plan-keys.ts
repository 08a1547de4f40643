import type { DocumentBody, Stored } from '@tidemark/contracts'
import { asRead } from '../effectively-once/effectively-once.ts'
import type { LedgerWrite } from '../effectively-once/ledger.ts'
import type { FoldedProperty, FoldPart, PartChanges } from './folds/folded.ts'
import type { Incoming } from './incoming-changes.ts'
import {
  indexPartition,
  viewDocumentKey,
  type Contribution,
  type IndexedPart,
  type ViewDocument,
} from './state-documents.ts'
import { viewKeyText, type ViewKey } from './view-key.ts'
import type { ViewStorage } from './view-storage.ts'

/** What documents change at one key of the view. */
export interface KeyChange {
  readonly key: ViewKey
  /** Documents that came, less those that left. */
  count: number
  /** One for each fold. */
  readonly folds: readonly { readonly removed: unknown[]; readonly added: FoldPart[] }[]
}

/** By the text of the key. */
export type KeyChanges = Map<string, KeyChange>

/** Notes what becomes of a document's contribution. Nothing, where it counts for the same as before. */
export function noteChange<T extends DocumentBody>(
  changes: KeyChanges,
  folds: readonly FoldedProperty<T>[],
  { before, now }: { readonly before: Contribution['keys']; readonly now: Incoming['keys'] },
): void {
  for (const [key, kept] of before) {
    const after = now.find(([other]) => other === key)?.[1]
    if (after !== undefined && folds.every((fold, at) => isSame(fold, kept[at], after[at])))
      continue
    const change = changeOf(changes, key, folds.length)
    change.count -= 1
    for (const [at, part] of kept.entries()) if (part !== null) change.folds[at]?.removed.push(part)
  }
  for (const [key, parts] of now) {
    const kept = before.find(([other]) => other === key)?.[1]
    if (kept !== undefined && folds.every((fold, at) => isSame(fold, kept[at], parts[at]))) continue
    const change = changeOf(changes, key, folds.length)
    change.count += 1
    for (const [at, part] of parts.entries()) {
      if (part !== undefined) change.folds[at]?.added.push(part)
    }
  }
}

/** What the writes of a key are. The condition on its document guards the index, too: each change of that writes it. */
export async function planKey<T extends DocumentBody>(
  change: KeyChange,
  present: Stored<ViewDocument> | undefined,
  {
    folds,
    storage,
  }: { readonly folds: readonly FoldedProperty<T>[]; readonly storage: ViewStorage },
): Promise<readonly LedgerWrite[]> {
  const { key } = change
  const writes: LedgerWrite[] = []
  const values: Record<string, unknown> = {}
  const states: unknown[] = []
  for (const [at, fold] of folds.entries()) {
    const parts = change.folds[at] ?? NO_PARTS
    const before = present?._fold.states[at] ?? fold.empty
    const partition = indexPartition(fold.name, key)
    const changed = fold.change(before, parts)
    const state = changed.isWhole
      ? changed.state
      : await fold.remake(changed.state, partsAfter(storage, partition, parts))
    states.push(state)
    const value = fold.value(state)
    if (value !== undefined) values[fold.name] = value
    if (fold.isIndexed) writes.push(...indexWrites(partition, parts))
  }
  const count = (present?._fold.count ?? 0) + change.count
  if (count < 0) throw new Error(`the view has lost count of key ${viewKeyText(key)}; rebuild it`)
  const conditions = asRead(present)
  const { id } = viewDocumentKey(key)
  if (count === 0) {
    // Nothing was there, and nothing is now; but others must not have written meanwhile.
    const kind = present === undefined ? 'check' : 'delete'
    writes.push({ to: 'target', kind, partitionKey: key, id, ...conditions })
  } else {
    const document: ViewDocument = { id, key, ...values, _fold: { count, states } }
    writes.push({ to: 'target', kind: 'put', document, ...conditions })
  }
  return writes
}

const NO_PARTS: PartChanges = { removed: [], added: [] }

function changeOf(changes: KeyChanges, key: ViewKey, folds: number): KeyChange {
  const text = viewKeyText(key)
  let change = changes.get(text)
  if (change === undefined) {
    change = {
      key,
      count: 0,
      folds: Array.from({ length: folds }, () => ({ removed: [], added: [] })),
    }
    changes.set(text, change)
  }
  return change
}

function isSame<T extends DocumentBody>(
  fold: FoldedProperty<T>,
  kept: unknown,
  part: FoldPart | undefined,
): boolean {
  if (part === undefined) return kept === null || kept === undefined
  // The index also has what is made of the document.
  if (fold.isIndexed) return false
  return kept === part.kept || JSON.stringify(kept) === JSON.stringify(part.kept)
}

function indexWrites(partition: string, { removed, added }: PartChanges): readonly LedgerWrite[] {
  const kept = new Set(added.map((part) => part.kept))
  return [
    ...removed
      .filter((id) => !kept.has(id))
      .map((id): LedgerWrite => ({
        to: 'state',
        kind: 'delete',
        partitionKey: partition,
        id: String(id),
      })),
    ...added.map((part): LedgerWrite => {
      const document: IndexedPart = { partition, id: String(part.kept), added: part.added }
      return { to: 'state', kind: 'put', document }
    }),
  ]
}

/** All parts of an index as they will be, in the order of their ids. */
async function* partsAfter(
  storage: ViewStorage,
  partition: string,
  { removed, added }: PartChanges,
): AsyncGenerator<FoldPart, void, undefined> {
  const replaced = new Set([...removed, ...added.map(({ kept }) => kept)])
  const coming = added.toSorted((a, b) => (String(a.kept) < String(b.kept) ? -1 : 1))
  let next = 0
  for await (const page of storage.readIndex(partition, INDEX_PAGE)) {
    for (const { id, added: part } of page) {
      if (replaced.has(id)) continue
      for (let first = coming[next]; first && String(first.kept) < id; first = coming[next]) {
        yield first
        next += 1
      }
      yield { kept: id, added: part }
    }
  }
  yield* coming.slice(next)
}

const INDEX_PAGE = 200
