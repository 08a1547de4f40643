import { AssertionError } from 'node:assert'
import { CommitComparison } from './commit-comparison.ts'

/** One rule taken out of one function. */
export interface FunctionMutant {
  /** The function that it stands in. */
  readonly of: string
  /** The rule that is missing. */
  readonly rule: string
  readonly find: string
  readonly replace: string
}

/** The comparison has to tell each of them from the functions as they are. */
export const FUNCTION_MUTANTS: readonly FunctionMutant[] = [
  mutant('a document must be absent', {
    find: 'cond = 1 AND live IS NOT NULL',
    replace: 'false',
  }),
  mutant('a document must be present', { find: 'cond = 2 AND live IS NULL', replace: 'false' }),
  mutant('a document must have this LSN', {
    find: 'live IS DISTINCT FROM cond_lsn',
    replace: 'false',
  }),
  mutant('a document must have another LSN', {
    find: 'cond = 4 AND live = cond_lsn',
    replace: 'false',
  }),
  mutant('TTL-4 an expired document is absent', {
    find: 'CASE WHEN expired = 0 THEN present END AS live',
    replace: 'present AS live',
  }),
  mutant('TTL-9 an invalid ttl is refused', {
    find: 'ttl IS NULL AND default_ttl',
    replace: 'false AND default_ttl',
  }),
  mutant('TTL-9 an invalid ttl is none while TTL is off', {
    find: 'ttl IS NULL AND default_ttl IS NOT NULL',
    replace: 'ttl IS NULL',
  }),
  mutant('a fence refuses', { find: 'WHEN v_fenced_by[request] IS NOT NULL THEN 3', replace: '' }),
  mutant('an entry that is taken refuses', {
    find: 'WHEN v_broken[request] IS NOT NULL THEN 4',
    replace: '',
  }),
  mutant('ST-4 one refusal refuses the whole commit', {
    find: 'bool_and(fault = 0) OVER (PARTITION BY request)',
    replace: 'bool_and(fault = 0) OVER (PARTITION BY batch)',
  }),
  mutant('TTL-16 only a put writes a pending delete', {
    find: 'kind = 0 AND expired <> 0 AS expires',
    replace: 'kind < 2 AND expired <> 0 AS expires',
  }),
  mutant('ST-5 a delete takes a number', {
    find: 'kind < 2 AS writes',
    replace: 'kind = 0 AS writes',
  }),
  mutant('ST-5 a pending delete takes a number', {
    find: 'expires::integer + writes::integer ELSE 0',
    replace: 'writes::integer ELSE 0',
  }),
  mutant('ST-5 a commit that is refused takes none', {
    find: 'sum(CASE WHEN applies THEN',
    replace: 'sum(CASE WHEN true THEN',
  }),
  mutant('TTL-16 pending deletes come before the writes', {
    find: 'base + upto - width + expiry_ord',
    replace: 'base + upto',
  }),
  mutant('ST-5 each range has its own counter', {
    find: 'OVER (PARTITION BY segment ORDER BY batch) AS upto',
    replace: 'OVER (ORDER BY batch) AS upto',
  }),
  mutant('TTL-13 a pending delete keeps the LSN of its version', {
    find: 'vlsn = d.lsn',
    replace: 'vlsn = o.lsn',
  }),
  mutant('TTL-13 a pending delete says when the document expired', {
    find: 'exp = o.expired',
    replace: 'exp = v_second',
  }),
  mutant('JB-2 a ttl that is made is at least a second', {
    find: 'greatest(1, o.until - v_second))::integer END AS ttl',
    replace: 'o.until - v_second)::integer END AS ttl',
  }),
  mutant('CF-11 a replace is told from a create', {
    find: 'WHEN o.existed THEN 1 ELSE 0',
    replace: 'ELSE 0',
  }),
  mutant('CF-11 previous images only where they are kept', {
    find: 'CASE c.log WHEN 2 THEN d.body END',
    replace: 'd.body',
  }),
  mutant('TTL-4 an expired document has no entries', {
    of: 'judge_entries',
    find: 'p_time_ms) = 0 END',
    replace: 'p_time_ms) >= 0 END',
  }),
  mutant('a commit may move an entry between its documents', {
    of: 'judge_entries',
    find: '<= c.at IS NOT TRUE',
    replace: 'IS NULL',
  }),
  mutant('the entries of an expired document are taken over', {
    of: 'keep_entries',
    find: 'u.ukey = o.k AND u.value = o.e',
    replace: 'false',
  }),
  mutant('TTL-18 what expired under a past policy stays expired', {
    of: 'expired_second',
    find: 'earliest := second;\n    END IF;\n  END LOOP',
    replace: 'NULL;\n    END IF;\n  END LOOP',
  }),
  mutant('an overlapping range counts for a fence', {
    of: 'lock_fences',
    find: 'f.min < r.max AND f.max > r.min',
    replace: 'f.min = r.min AND f.max = r.max',
  }),
]

function mutant(
  rule: string,
  change: Pick<FunctionMutant, 'find' | 'replace'> & { readonly of?: string },
): FunctionMutant {
  return { of: 'commit_group', rule, ...change }
}

export interface MutantFate {
  readonly mutant: FunctionMutant
  /** After so many sequences; undefined when nothing differed, also not in the last of them. */
  readonly killedAfter: number | undefined
}

/** Compares with one rule after the other taken out of the functions, until a sequence differs. */
export async function killMutants(
  server: { createDatabase(): Promise<string> },
  {
    mutants = FUNCTION_MUTANTS,
    seed,
    maxSequences,
  }: {
    readonly mutants?: readonly FunctionMutant[]
    readonly seed: number
    readonly maxSequences: number
  },
): Promise<readonly MutantFate[]> {
  const fates: MutantFate[] = []
  for (const each of mutants) {
    await using comparison = await CommitComparison.open(await server.createDatabase())
    await comparison.change(each)
    const { failed, errorInstance } = await comparison.run({
      seed,
      numRuns: maxSequences,
      shrink: false,
    })
    // An error of another kind says nothing of the rule.
    if (failed && !(errorInstance instanceof AssertionError)) throw errorInstance
    fates.push({ mutant: each, killedAfter: failed ? comparison.sequences : undefined })
  }
  return fates
}
