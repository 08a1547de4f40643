import {
  errorCode,
  feedRangeId,
  type Change,
  type DocumentBody,
  type Stored,
} from '@tidemark/contracts'
import { incomingChanges, type Incoming, type ViewDefinition } from './incoming-changes.ts'
import { noteChange, planKey, type KeyChanges } from './plan-keys.ts'
import {
  NO_COUNTS,
  addCounts,
  progressKey,
  type Contribution,
  type RangeProgress,
  type ViewCounts,
} from './state-documents.ts'
import type { ViewOwner, ViewStorage, ViewWrite } from './view-storage.ts'

/** Bounds one commit, so that other writers of the database get their turn. */
const MAX_WRITES = 4_000
/** Each refusal means that another worker got on, so that more than a few of them are a defect. */
const MAX_ATTEMPTS = 50
/**
 * How long a delete of the log is remembered after it was applied, in seconds. An older version of the document that was
 * read before must be applied within this time.
 */
const DELETE_MEMORY_SECONDS = 30 * 86_400

export interface AppliedChanges {
  readonly counts: ViewCounts
  /** Changes that had been applied before. */
  readonly replays: number
}

/** Writes what one range's changes make of a view, exactly once however often they come. */
export class ViewWriter<T extends DocumentBody> {
  readonly #storage: ViewStorage
  readonly #view: ViewDefinition<T>
  /** Ranges whose last documents were all new, as the next ones will probably be. */
  readonly #rangesOfNew = new Set<string>()
  /** The last turn of each key: ranges of this process change it one after the other, instead of refusing each other's commits. */
  readonly #lastTurns = new Map<string, Promise<unknown>>()

  constructor(storage: ViewStorage, view: ViewDefinition<T>) {
    this.#storage = storage
    this.#view = view
  }

  /** Rejects with ERR_FENCED_WRITE when another owner has taken over; nothing of the rest is written then. */
  async apply(
    changes: readonly Change<T>[],
    owner: ViewOwner,
    signal: AbortSignal,
  ): Promise<AppliedChanges> {
    let pending = incomingChanges(changes, this.#view)
    let counts = NO_COUNTS
    let replays = 0
    while (pending.length > 0) {
      const chunk = await this.#applySome(pending, owner, signal)
      counts = addCounts(counts, chunk.counts)
      replays += chunk.replays
      pending = pending.slice(chunk.taken)
    }
    return { counts, replays }
  }

  /** Applies as many of the first documents as fit into one commit. */
  async #applySome(
    pending: readonly Incoming[],
    owner: ViewOwner,
    signal: AbortSignal,
  ): Promise<AppliedChanges & { readonly taken: number }> {
    const rangeId = `${owner.group} ${feedRangeId(owner.range)}`
    let most = this.#fitting(pending)
    // That they are new is no guess for those that leave: nothing would be written then.
    const isGuess =
      this.#rangesOfNew.has(rangeId) && pending.slice(0, most).every(({ keys }) => keys.length > 0)
    let known: ReadonlyMap<string, Stored<Contribution>> | undefined = isGuess
      ? new Map()
      : undefined
    for (let attempt = 1; ; attempt += 1) {
      signal.throwIfAborted()
      const candidates = pending.slice(0, most)
      // Only this range changes these contributions, its late owners aside; others change the same keys all the time.
      if (known === undefined || attempt > 1) known = await this.#contributions(candidates)
      const chunk = planContributions(candidates, known, { owner, view: this.#view })
      const outcome = await this.#inTurn(chunk.keys, () => this.#commit(chunk, owner, signal))
      if (outcome === 'committed') {
        const isNew = chunk.counts.added === candidates.length
        if (isNew) this.#rangesOfNew.add(rangeId)
        else this.#rangesOfNew.delete(rangeId)
        return { counts: chunk.counts, replays: chunk.replays, taken: candidates.length }
      }
      if (outcome === 'tooLarge') {
        if (candidates.length === 1)
          throw new Error('one document changes more than a commit holds')
        most = Math.ceil(candidates.length / 2)
      }
      if (attempt >= MAX_ATTEMPTS) {
        throw new Error(`commit was refused ${attempt} times; others keep changing the same keys`)
      }
    }
  }

  /** How many of the first documents make about as many writes as one commit should have. */
  #fitting(pending: readonly Incoming[]): number {
    const indexed = this.#view.folds.filter(({ isIndexed }) => isIndexed).length
    let writes = 0
    for (const [index, { keys }] of pending.entries()) {
      writes += 1 + (keys.length + 1) * (1 + 2 * indexed)
      if (writes > MAX_WRITES && index > 0) return index
    }
    return pending.length
  }

  async #contributions(
    candidates: readonly Incoming[],
  ): Promise<ReadonlyMap<string, Stored<Contribution>>> {
    const found = await Promise.all(
      candidates.map(async ({ at }) => {
        return [at.id, await this.#storage.readContribution(at)] as const
      }),
    )
    return new Map(found.flatMap(([key, present]) => (present ? [[key, present] as const] : [])))
  }

  async #commit(
    chunk: PlannedChunk,
    owner: ViewOwner,
    signal: AbortSignal,
  ): Promise<'committed' | 'refused' | 'tooLarge'> {
    const storage = this.#storage
    const { folds } = this.#view
    const [progress, ...keyWrites] = await Promise.all([
      storage.readProgress(owner),
      ...Array.from(chunk.keys.values(), async (change) =>
        planKey(change, await storage.readView(change.key), { folds, storage }),
      ),
    ])
    // Always with the counters, so that the fence is told of this owner even if nothing else changes.
    const writes = [...chunk.writes, ...keyWrites.flat(), progressWrite(owner, chunk, progress)]
    try {
      return await storage.commit(writes, owner, signal)
    } catch (error) {
      if (errorCode(error) === 'ERR_COMMIT_TOO_LARGE') return 'tooLarge'
      throw error
    }
  }

  async #inTurn<Result>(keys: KeyChanges, work: () => Promise<Result>): Promise<Result> {
    const turns = this.#lastTurns
    const before = Array.from(keys.keys()).flatMap((key) => turns.get(key) ?? [])
    const result = Promise.all(before).then(work)
    const turn = result.catch(() => {})
    for (const key of keys.keys()) turns.set(key, turn)
    try {
      return await result
    } finally {
      for (const key of keys.keys()) if (turns.get(key) === turn) turns.delete(key)
    }
  }
}

interface PlannedChunk extends AppliedChanges {
  readonly lsn: number
  readonly writes: readonly ViewWrite[]
  readonly keys: KeyChanges
}

/** What documents make of their contributions, and these of keys. */
function planContributions<T extends DocumentBody>(
  candidates: readonly Incoming[],
  known: ReadonlyMap<string, Stored<Contribution>>,
  { owner, view: { folds } }: { readonly owner: ViewOwner; readonly view: ViewDefinition<T> },
): PlannedChunk {
  const writes: ViewWrite[] = []
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
  return { writes, keys, counts, replays, lsn }
}

function isMoved(before: Contribution['keys'], now: Incoming['keys']): boolean {
  return (
    before.length !== now.length || before.some(([key]) => !now.some(([other]) => other === key))
  )
}

function contributionWrite(
  { at, lsn, keys }: Incoming,
  present: Stored<Contribution> | undefined,
  group: ViewOwner['group'],
): ViewWrite {
  const { partition, id } = at
  const conditions = present === undefined ? { ifNoneMatch: '*' } : { ifMatch: present._etag }
  if (keys.length === 0 && group === 'documents') {
    const kind = present === undefined ? 'check' : 'delete'
    return { to: 'state', kind, partition, id, ...conditions }
  }
  const document: Contribution = {
    partition,
    id,
    lsn,
    keys: keys.map(([key, parts]) => [key, parts.map((part) => part?.kept ?? null)]),
    ...(group === 'deletes' ? { ttl: DELETE_MEMORY_SECONDS } : {}),
  }
  return { to: 'state', kind: 'put', document, ...conditions }
}

function progressWrite(
  owner: ViewOwner,
  { counts, lsn }: Pick<PlannedChunk, 'counts' | 'lsn'>,
  present: Stored<RangeProgress> | undefined,
): ViewWrite {
  const { range, epoch, hostName } = owner
  const document: RangeProgress = {
    ...progressKey(owner),
    range,
    lsn: Math.max(lsn, present?.lsn ?? 0),
    epoch,
    hostName,
    ...addCounts(present ?? NO_COUNTS, counts),
  }
  const conditions = present === undefined ? { ifNoneMatch: '*' } : { ifMatch: present._etag }
  return { to: 'state', kind: 'put', document, ...conditions }
}
