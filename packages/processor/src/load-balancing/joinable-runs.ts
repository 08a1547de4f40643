import { rangeContains, type FeedRange, type HeldLease } from '@tidemark/contracts'

/** A lease of this host that might become one with its neighbours. */
export interface JoinCandidate {
  readonly held: HeldLease
  readonly range: FeedRange
}

/** Old leases of one replacement at most; the rest follows with the next look. */
const MAX_RUN = 32

/** Runs of two or more neighbouring leases, in EPK order. With `joins`, only those that lie in one of these intervals. */
export function joinableRuns<Candidate extends JoinCandidate>(
  candidates: readonly Candidate[],
  joins?: readonly FeedRange[],
): readonly (readonly Candidate[])[] {
  const runs: Candidate[][] = []
  const sorted = [...candidates].sort((a, b) =>
    a.range.minInclusive < b.range.minInclusive ? -1 : 1,
  )
  for (const candidate of sorted) {
    const run = runs.at(-1)
    const last = run?.at(-1)
    const belongs =
      run !== undefined &&
      last !== undefined &&
      run.length < MAX_RUN &&
      last.range.maxExclusive === candidate.range.minInclusive &&
      (joins === undefined || shareRange(run, candidate, joins))
    if (belongs) run.push(candidate)
    else runs.push([candidate])
  }
  return runs.filter(({ length }) => length > 1)
}

/** The parts of a run that stand at one LSN each, of two leases or more. */
export function runsAtOnePlace<Candidate extends JoinCandidate & { readonly lsn: number }>(
  run: readonly Candidate[],
): readonly (readonly Candidate[])[] {
  return [...Map.groupBy(run, ({ lsn }) => lsn).values()].flatMap((same) => joinableRuns(same))
}

function shareRange(
  run: readonly JoinCandidate[],
  { range }: JoinCandidate,
  joins: readonly FeedRange[],
): boolean {
  const first = run[0]?.range
  return joins.some(
    (whole) => rangeContains(whole, range) && first !== undefined && rangeContains(whole, first),
  )
}
