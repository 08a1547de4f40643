import type { CommitBatch } from './commit.ts'

/** What documents hold of the unique keys of their collection, from one point of a batch on. */
export interface UniqueStep {
  readonly id: string
  /**
   * One entry a unique key, in their order, in the place of those that the document had before: text that two
   * documents of one partition key value share only if they are the same at the key's paths. None = the document
   * is deleted.
   */
  readonly entries: readonly string[]
}

/** The step of a commit that gives a document what another one has. */
export interface UniqueBreach {
  readonly batchIndex: number
  /** Of the batch's `uniqueSteps`. */
  readonly stepIndex: number
  /** Of the collection's unique keys. */
  readonly keyIndex: number
}

/** The documents that entries are told apart among: those of one partition key value. */
export interface UniqueScope {
  readonly collection: number
  readonly epk: string
  readonly partitionKey: string
}

/** An entry that a commit gives out, where it does so first. */
export interface UniqueClaim extends UniqueBreach {
  readonly scope: UniqueScope
  readonly entry: string
  /** Steps of the commit up to this one, itself included. */
  readonly step: number
}

/** A document that a commit writes or deletes. */
export interface UniqueHolder {
  readonly scope: UniqueScope
  readonly id: string
  /** Number of the first step that concerns it: from there on nothing counts that is stored of it. */
  readonly firstStep: number
  /** What it has in the end. */
  readonly entries: readonly string[]
}

/** What the steps of a commit come to, whatever is stored. */
export interface UniquePlan {
  /** Each is to be free, in the order in which they are to be looked up: the first that is not breaks a unique key. */
  readonly claims: readonly UniqueClaim[]
  /** Two documents of the commit itself have one entry. Comes after all claims. */
  readonly breach: UniqueBreach | undefined
  readonly holders: readonly UniqueHolder[]
  /** Whether a document's stored entries do not count any more at a claim. */
  isReleased(claim: UniqueClaim, id: string): boolean
}

/** A batch, also as it goes to another thread. */
interface SteppedBatch extends Pick<CommitBatch, 'epk' | 'partitionKey' | 'uniqueSteps'> {
  readonly collection: number | { readonly number: number }
}

/** Undefined when the batches have no steps. */
export function planUniqueEntries(batches: readonly SteppedBatch[]): UniquePlan | undefined {
  if (batches.every(({ uniqueSteps }) => uniqueSteps === undefined)) return undefined
  const planner = new StepPlanner()
  for (const [
    batchIndex,
    { collection, epk, partitionKey, uniqueSteps = [] },
  ] of batches.entries()) {
    const number = typeof collection === 'number' ? collection : collection.number
    const scope = { collection: number, epk, partitionKey }
    for (const [stepIndex, { id, entries }] of uniqueSteps.entries()) {
      planner.add({ scope, id, entries }, { batchIndex, stepIndex })
    }
  }
  return planner
}

/**
 * The first step that gives a document what another one has; `holderOf` names the live document that an entry is
 * stored with.
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
  /** Who has each entry that the commit gave out; undefined = nobody any more. */
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
      // Once it was free it is the commit's own matter.
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
