import type { Change, DocumentBody, Stored } from '@tidemark/contracts'
import {
  EffectivelyOnce,
  asRead,
  type Effort,
  type OnceJob,
  type Plan,
} from '../effectively-once/effectively-once.ts'
import type { LedgerWrite, RangeOwner } from '../effectively-once/ledger.ts'
import type { Remembered } from '../effectively-once/reconcile.ts'
import { partitionKeyValue } from '../migration/document-key.ts'
import { incomingChanges, type Incoming, type ViewDefinition } from './incoming-changes.ts'
import { noteChange, planKey, type KeyChanges } from './plan-keys.ts'
import {
  NO_COUNTS,
  addCounts,
  isDigest,
  sourceOfContribution,
  type Contribution,
  type ViewCounts,
} from './state-documents.ts'
import type { ViewStorage } from './view-storage.ts'

/** Bounds one commit, so that other writers of the database get their turn. */
const MAX_WRITES = 4_000
/**
 * How long a delete of the log is remembered after it was applied, in seconds. An older version of the document that was
 * read before must be applied within this time.
 */
const DELETE_MEMORY_SECONDS = 30 * 86_400

type Known = ReadonlyMap<string, Stored<Contribution>>

export type ViewWriter<T extends DocumentBody> = EffectivelyOnce<
  Change<T>,
  Incoming,
  Known,
  ViewCounts
>

/** Writes what one range's changes make of a view. */
export function viewWriter<T extends DocumentBody>(
  storage: ViewStorage,
  view: ViewDefinition<T>,
): ViewWriter<T> {
  return new EffectivelyOnce(storage, new ViewPlans(storage, view))
}

class ViewPlans<T extends DocumentBody> implements OnceJob<Change<T>, Incoming, Known, ViewCounts> {
  readonly counters = { none: NO_COUNTS, add: addCounts }
  readonly #storage: ViewStorage
  readonly #view: ViewDefinition<T>

  constructor(storage: ViewStorage, view: ViewDefinition<T>) {
    this.#storage = storage
    this.#view = view
  }

  incoming(changes: readonly Change<T>[]): readonly Incoming[] {
    return incomingChanges(changes, this.#view)
  }

  /** How many of the first documents make about as many writes as one commit should have. */
  fitting(pending: readonly Incoming[]): number {
    const indexed = this.#view.folds.filter(({ isIndexed }) => isIndexed).length
    let writes = 0
    for (const [index, { keys }] of pending.entries()) {
      writes += 1 + (keys.length + 1) * (1 + 2 * indexed)
      if (writes > MAX_WRITES && index > 0) return index
    }
    return pending.length
  }

  async *remembered(): AsyncGenerator<readonly Remembered[]> {
    for await (const contributions of this.#storage.readContributions()) {
      yield contributions.flatMap((contribution) => {
        const source = sourceOfContribution(contribution)
        return source === undefined || contribution.keys.length === 0
          ? []
          : { id: source.id, partitionKey: partitionKeyValue(source) }
      })
    }
  }

  isGone({ keys }: Incoming): boolean {
    return keys.length === 0
  }

  /** Only this range changes these contributions, its late owners aside. */
  async facts(candidates: readonly Incoming[], effort: Effort): Promise<Known> {
    if (effort === 'none') return new Map()
    const found = await Promise.all(
      candidates.map(async ({ at }) => {
        return [at.id, await this.#storage.readContribution(at)] as const
      }),
    )
    return new Map(found.flatMap(([key, present]) => (present ? [[key, present] as const] : [])))
  }

  /** What documents make of their contributions, and these of keys, which other ranges change all the time. */
  plan(candidates: readonly Incoming[], known: Known, owner: RangeOwner): Plan<ViewCounts, never> {
    const { folds } = this.#view
    const writes: LedgerWrite[] = []
    const keys: KeyChanges = new Map()
    const counts = { ...NO_COUNTS }
    let replays = 0
    let lsn = 0
    for (const incoming of candidates) {
      const present = known.get(incoming.at.id)
      if (present !== undefined && present.lsn >= incoming.lsn) {
        replays += 1
        continue
      }
      lsn = Math.max(lsn, incoming.lsn)
      writes.push(contributionWrite(incoming, present, owner.group))
      const [before, now] = [present?.keys ?? [], incoming.keys]
      noteChange(keys, folds, { before, now })
      if (now.length > 0 && before.length === 0) counts.added += 1
      else if (now.length > 0) counts.updated += 1
      else if (before.length > 0) counts.removed += 1
      if (now.length > 0 && before.length > 0 && isMoved(before, now)) counts.moved += 1
    }
    const areNew = counts.added === candidates.length
    const shared = { keys: keys.keys(), writes: () => this.#keyWrites(keys) }
    const taken = candidates.length
    return { writes, shared, counts, replays, lsn, taken, areNew, leavesUnseen: false, notes: [] }
  }

  async #keyWrites(keys: KeyChanges): Promise<readonly LedgerWrite[]> {
    const storage = this.#storage
    const { folds } = this.#view
    const writes = await Promise.all(
      Array.from(keys.values(), async (change) =>
        planKey(change, await storage.readView(change.key), { folds, storage }),
      ),
    )
    return writes.flat()
  }
}

function isMoved(before: Contribution['keys'], now: Incoming['keys']): boolean {
  return (
    before.length !== now.length || before.some(([key]) => !now.some(([other]) => other === key))
  )
}

function contributionWrite(
  { at, source, lsn, keys }: Incoming,
  present: Stored<Contribution> | undefined,
  group: RangeOwner['group'],
): LedgerWrite {
  const { partition, id } = at
  const isInOrder = group === 'documents'
  if (keys.length === 0 && isInOrder) {
    const kind = present === undefined ? 'check' : 'delete'
    return { to: 'state', kind, partitionKey: partition, id, ...asRead(present) }
  }
  const document: Contribution = {
    partition,
    id,
    lsn,
    keys: keys.map(([key, parts]) => [key, parts.map((part) => part?.kept ?? null)]),
    ...(isDigest(id) ? { source } : {}),
    ...(isInOrder ? {} : { ttl: DELETE_MEMORY_SECONDS }),
  }
  return { to: 'state', kind: 'put', document, ...asRead(present) }
}
