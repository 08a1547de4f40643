import type { UniqueBreach, UniquePlan, UniqueScope } from '@tidemark/store/engine'

interface ScopeColumns {
  /** Request: counts from 1. */
  readonly r: number
  readonly coll: number
  readonly epk: string
  readonly pk: string
}

/** The parameter `p_unique` of `commit_group`; null when no commit of the group has entries of unique keys. */
export function entryValues(plans: readonly (UniquePlan | undefined)[]): string | null {
  if (plans.every((plan) => plan === undefined)) return null
  const claims: unknown[] = []
  const steps: Record<string, number> = {}
  const docs: unknown[] = []
  const kept: unknown[] = []
  const own: unknown[] = []
  for (const [index, plan] of plans.entries()) {
    if (plan === undefined) continue
    const r = index + 1
    for (const [n, { scope, step, keyIndex, entry }] of plan.claims.entries()) {
      claims.push({ ...columns(r, scope), n, at: step, k: keyIndex, e: entry })
    }
    for (const { scope, id, firstStep, entries } of plan.holders) {
      // Ids have no slash, so that no two documents have one text.
      steps[`${r}/${scope.collection}/${id}/${scope.partitionKey}`] = firstStep
      docs.push({ ...columns(r, scope), id })
      for (const [k, e] of entries.entries()) kept.push({ ...columns(r, scope), id, k, e })
    }
    if (plan.breach !== undefined) own.push({ r, n: plan.claims.length })
  }
  return JSON.stringify({ claims, steps, docs, kept, own })
}

/** The breach that a number of `judge_entries` stands for. */
export function breachOf(plan: UniquePlan | undefined, n: number): UniqueBreach | undefined {
  const found = plan?.claims[n] ?? plan?.breach
  if (found === undefined) return undefined
  const { batchIndex, stepIndex, keyIndex } = found
  return { batchIndex, stepIndex, keyIndex }
}

/**
 * One text for each entry that a commit assigns. Of two commits with the same entry, the second waits for the next
 * group.
 */
export function entryKeys(plan: UniquePlan | undefined): readonly string[] {
  // Ids contain no NUL, so none of these can be confused with a document.
  return (plan?.claims ?? []).map(
    ({ scope: { collection, partitionKey }, keyIndex, entry }) =>
      `${collection}\n${partitionKey}\n\0${keyIndex}\n${entry}`,
  )
}

function columns(r: number, { collection, epk, partitionKey }: UniqueScope): ScopeColumns {
  return { r, coll: collection, epk, pk: partitionKey }
}
