import type { CommitBatch, UniqueBreach, UniqueStep } from './commit.ts'

/** The documents whose entries must differ: those of one partition key value. */
export interface UniqueScope {
  readonly collection: number
  readonly epk: string
  readonly partitionKey: string
}

/** An entry that a commit assigns, at its first assignment. */
export interface UniqueClaim extends UniqueBreach {
  readonly scope: UniqueScope
  readonly entry: string
  /** Number of steps of the commit up to and including this one. */
  readonly step: number
}

/** A document that a commit writes or deletes. */
export interface UniqueHolder {
  readonly scope: UniqueScope
  readonly id: string
  /** Number of the first step that concerns it. From that step on, its stored entries do not count. */
  readonly firstStep: number
  /** Its entries at the end of the commit. */
  readonly entries: readonly string[]
}

/** The result of a commit's steps, whatever is stored. */
export interface UniquePlan {
  /**
   * Each entry must be free. In the order in which to look them up: the first one that is not free breaks a unique key.
   * A commit that is carried out takes it from the expired document that is stored with it, even if it ends without it.
   */
  readonly claims: readonly UniqueClaim[]
  /** Two documents of the commit itself have the same entry. Check it after all claims. */
  readonly breach: UniqueBreach | undefined
  readonly holders: readonly UniqueHolder[]
  /** Whether a document's stored entries no longer count at a claim. */
  isReleased(claim: UniqueClaim, id: string): boolean
}

/** Undefined when the batches have no steps. */
export function planUniqueEntries(
  batches: readonly Pick<CommitBatch, 'collection' | 'epk' | 'partitionKey' | 'uniqueSteps'>[],
): UniquePlan | undefined {
  if (batches.every(({ uniqueSteps }) => uniqueSteps === undefined)) return undefined
  const planner = new StepPlanner()
  for (const [
    batchIndex,
    { collection, epk, partitionKey, uniqueSteps = [] },
  ] of batches.entries()) {
    const scope = { collection, epk, partitionKey }
    for (const [stepIndex, { id, entries }] of uniqueSteps.entries()) {
      planner.add({ scope, id, entries }, { batchIndex, stepIndex })
    }
  }
  return planner
}

/**
 * The first step that gives a document an entry that another one has. `holderOf` returns the live document that an
 * entry is stored with.
 */
export function uniqueBreach(
  plan: UniquePlan,
  holderOf: (claim: UniqueClaim) => string | undefined,
): UniqueBreach | undefined {
  for (const claim of plan.claims) {
    const holder = holderOf(claim)
    if (holder === undefined || plan.isReleased(claim, holder)) continue
    const { batchIndex, stepIndex, keyIndex } = claim
    return { batchIndex, stepIndex, keyIndex }
  }
  return plan.breach
}

class StepPlanner implements UniquePlan {
  readonly claims: UniqueClaim[] = []
  breach: UniqueBreach | undefined
  readonly #holders = new Map<string, UniqueHolder>()
  /** The document that has each entry that the commit assigned; undefined = none any more. */
  readonly #given = new Map<string, string | undefined>()
  #steps = 0

  get holders(): readonly UniqueHolder[] {
    return [...this.#holders.values()]
  }

  add(
    { scope, id, entries }: UniqueStep & { readonly scope: UniqueScope },
    at: { readonly batchIndex: number; readonly stepIndex: number },
  ): void {
    if (this.breach !== undefined) return
    const step = ++this.#steps
    const key = documentKey(scope, id)
    const before = this.#holders.get(key)
    for (const [keyIndex, entry] of (before?.entries ?? []).entries()) {
      this.#given.set(entryKey(scope, keyIndex, entry), undefined)
    }
    this.#holders.set(key, { scope, id, firstStep: before?.firstStep ?? step, entries })
    for (const [keyIndex, entry] of entries.entries()) {
      const place = entryKey(scope, keyIndex, entry)
      if (this.#given.get(place) !== undefined) {
        this.breach = { ...at, keyIndex }
        return
      }
      // Once an entry was free, only the commit itself matters.
      if (!this.#given.has(place)) this.claims.push({ ...at, keyIndex, scope, entry, step })
      this.#given.set(place, id)
    }
  }

  isReleased({ scope, step }: UniqueClaim, id: string): boolean {
    const holder = this.#holders.get(documentKey(scope, id))
    return holder !== undefined && holder.firstStep <= step
  }
}

function documentKey({ collection, partitionKey }: UniqueScope, id: string): string {
  return `${collection}\n${partitionKey}\n${id}`
}

function entryKey(
  { collection, partitionKey }: UniqueScope,
  keyIndex: number,
  entry: string,
): string {
  return `${collection}\n${partitionKey}\n${keyIndex}\n${entry}`
}
