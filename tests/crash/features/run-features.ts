import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { MAINTENANCE_LEASE_MS, openFeatureStore, type FeatureStore } from './feature-store.ts'
import type { ArchivedPage } from './feature-tasks.ts'
import { FeatureTotals } from './feature-totals.ts'
import { FeatureVerifier, type FeatureVerdict } from './feature-verifier.ts'
import { readJournal } from './journal.ts'
import {
  FEATURE_LANES,
  archiveFile,
  endArchive,
  isLong,
  runFeatureRound,
  startArchive,
  storeFolder,
  type FeatureRoundFacts,
} from './run-feature-round.ts'

export interface FeatureRunResult {
  readonly lost: number
  readonly faults: number
  /** Features that never happened: such a run shows nothing. */
  readonly missing: readonly string[]
  /** What happened, as one line. */
  readonly summary: string
}

/** All of a document's life must be over before a run ends: ttl and retention. */
const MAX_LIFE_MS = 5_000

/** What a round without writers leaves. */
const NOTHING: FeatureRoundFacts = { journals: [], description: '' }

/** The crash loop with everything switched on: time to live, both feeds, splits, merges, maintenance. */
export async function runFeatures({
  folder,
  seed,
  rounds,
  report,
}: {
  readonly folder: string
  readonly seed: number
  readonly rounds: number
  readonly report: (line: string) => void
}): Promise<FeatureRunResult> {
  const verifier = new FeatureVerifier()
  const totals = new FeatureTotals()
  const verdict = { lost: 0, faults: 0 }
  const take = ({ lost, faults }: FeatureVerdict): void => {
    verdict.lost += lost.length
    verdict.faults += faults.length
    for (const problem of [...lost, ...faults]) report(`  ${problem}`)
  }
  report(`seed ${seed}, ${FEATURE_LANES} concurrent writers, all features`)
  for (let round = 0; round < rounds; round++) {
    const facts = await runFeatureRound({ folder, seed, round })
    const before = totals.acknowledged
    for (const journal of facts.journals) totals.add(journal)
    take(await verifyRound(folder, { verifier, facts }))
    if (isLong(round)) {
      totals.foldedAtRest += await maintain(folder)
      take(await verifyRound(folder, { verifier, facts: NOTHING }))
    }
    report(`round ${round + 1}: ${totals.acknowledged - before} acknowledged, ${facts.description}`)
  }
  await drain(folder)
  take(await verifyRound(folder, { verifier, facts: NOTHING }))
  take({ lost: verifier.verifyDrained(), faults: [] })
  return { ...verdict, ...outcome(rounds, { verifier, totals, verdict }) }
}

async function verifyRound(
  folder: string,
  { verifier, facts }: { readonly verifier: FeatureVerifier; readonly facts: FeatureRoundFacts },
): Promise<FeatureVerdict> {
  await using opened = await openQuietly(folder)
  const archive = readJournal<ArchivedPage>(archiveFile(folder))
  return await verifier.verify(opened, { journals: facts.journals, archive })
}

/** Does all background work that the killed processes left. Returns how many rows it folded. */
async function maintain(folder: string): Promise<number> {
  await using opened = await openQuietly(folder)
  await sleep(MAINTENANCE_LEASE_MS)
  const { folded, heldElsewhere } = await opened.store.runMaintenance()
  if (heldElsewhere.length > 0) throw new Error('the lease of a dead process does not end')
  return folded
}

/** Lets everything expire that will, sweeps it and has the waiting group read to the end. */
async function drain(folder: string): Promise<void> {
  await sleep(MAX_LIFE_MS)
  await maintain(folder)
  const archive = startArchive(folder, join(folder, 'events-drain.jsonl'))
  try {
    await archive.receive('following')
    await endArchive(archive)
  } finally {
    archive.end()
  }
}

/** Without background work: what the verifier looks at stands still, except for what expires. */
function openQuietly(folder: string): Promise<FeatureStore> {
  return openFeatureStore({
    folder: storeFolder(folder),
    durability: 'sync',
    maintenance: 'manual',
  })
}

function outcome(
  rounds: number,
  {
    verifier,
    totals,
    verdict,
  }: {
    readonly verifier: FeatureVerifier
    readonly totals: FeatureTotals
    readonly verdict: { readonly lost: number; readonly faults: number }
  },
): Pick<FeatureRunResult, 'missing' | 'summary'> {
  const { delivered, purged } = verifier.pendingDeletes
  const counts: readonly (readonly [what: string, count: number])[] = [
    ['rounds', rounds],
    ['acknowledged writes', totals.acknowledged],
    ['writes cut off', verifier.inDoubt.applied + verifier.inDoubt.notApplied],
    ['changes of defaultTtl', totals.ttlChanges],
    ['splits', totals.of('rangeSplit')],
    ['merges', totals.of('rangesMerged')],
    ['expiries', verifier.expiries],
    ['pending deletes delivered', delivered],
    ['purges', purged],
    ['rows folded', totals.of('folded') + totals.foldedAtRest],
  ]
  // Not in every short run: it takes luck, or longer than the log's retention.
  const rare: typeof counts = [
    ['documents filed anew', totals.of('expiryReindexed')],
    ['splits and merges cut off', totals.rangesCutOff],
    ['log entries trimmed', verifier.trimmed],
  ]
  const missing = counts.filter(([, count]) => count === 0).map(([what]) => what)
  const lost = [
    ['lost', verdict.lost],
    ['index faults', verdict.faults],
  ] as const
  const summary = [...counts, ...rare, ...lost]
    .map(([what, count]) => `${count} ${what}`)
    .join(', ')
  return { missing, summary }
}
