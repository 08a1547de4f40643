import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type CrashScene } from '../crash-scene.ts'
import { safely } from '../store-place.ts'
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

/** A run has at most so many times the rounds that were asked for. */
const MAX_STRETCH = 3

/** What a round without writers leaves. */
const NOTHING: FeatureRoundFacts = { journals: [], description: '' }

/** The crash loop with everything switched on: time to live, both feeds, splits, merges, maintenance. */
export async function runFeatures({
  folder,
  seed,
  rounds,
  report,
  scene,
}: {
  readonly folder: string
  readonly seed: number
  readonly rounds: number
  readonly report: (line: string) => void
  /** @default a store in the folder */
  readonly scene: CrashScene
}): Promise<FeatureRunResult> {
  const verifier = new FeatureVerifier()
  const totals = new FeatureTotals()
  const verdict = { lost: 0, faults: 0 }
  const take = ({ lost, faults }: FeatureVerdict): void => {
    verdict.lost += lost.length
    verdict.faults += faults.length
    for (const problem of [...lost, ...faults]) report(`  ${problem}`)
  }
  report(`${FEATURE_LANES} concurrent writers, all features`)
  let round = 0
  const isEnough = (): boolean =>
    fromRounds(round, { scene, verifier, totals }).every(([, count]) => count > 0)
  // On a busy machine a round does little before it is killed: then more rounds follow.
  for (; round < rounds || (round < MAX_STRETCH * rounds && !isEnough()); round++) {
    const facts = await runFeatureRound({ folder, seed, round, scene })
    const before = totals.acknowledged
    for (const journal of facts.journals) totals.add(journal)
    take(await verifyRound(folder, { scene, verifier, facts }))
    if (isLong(round)) {
      totals.foldedAtRest += await maintain(scene)
      take(await verifyRound(folder, { scene, verifier, facts: NOTHING }))
    }
    report(`round ${round + 1}: ${totals.acknowledged - before} acknowledged, ${facts.description}`)
  }
  totals.foldedAtRest += await drain(folder, scene)
  take(await verifyRound(folder, { scene, verifier, facts: NOTHING }))
  take({ lost: verifier.verifyDrained(), faults: [] })
  return { ...verdict, ...outcome(round, { scene, verifier, totals, verdict }) }
}

async function verifyRound(
  folder: string,
  {
    scene,
    verifier,
    facts,
  }: {
    readonly scene: CrashScene
    readonly verifier: FeatureVerifier
    readonly facts: FeatureRoundFacts
  },
): Promise<FeatureVerdict> {
  await scene.settle()
  await using opened = await openQuietly(scene)
  const archive = readJournal<ArchivedPage>(archiveFile(folder))
  return await verifier.verify(opened, { journals: facts.journals, archive })
}

/** Does all background work that the killed processes left. Returns how many rows it folded. */
async function maintain(scene: CrashScene): Promise<number> {
  await using opened = await openQuietly(scene)
  await sleep(MAINTENANCE_LEASE_MS)
  const { folded, heldElsewhere } = await opened.store.runMaintenance()
  if (heldElsewhere.length > 0) throw new Error('the lease of a dead process does not end')
  return folded
}

/** Lets everything expire that will, sweeps it and has the waiting group read to the end. Returns as `maintain`. */
async function drain(folder: string, scene: CrashScene): Promise<number> {
  await sleep(MAX_LIFE_MS)
  const folded = await maintain(scene)
  const { place } = scene.plan(0)
  const archive = startArchive(folder, { place, events: join(folder, 'events-drain.jsonl') })
  try {
    await archive.receive('following')
    await endArchive(archive)
  } finally {
    await archive.end()
  }
  return folded
}

/** Without background work: what the verifier looks at stands still, except for what expires. */
function openQuietly(scene: CrashScene): Promise<FeatureStore> {
  return openFeatureStore({ place: safely(scene.plan(0).place), maintenance: 'manual' })
}

type Count = readonly [what: string, count: number]

interface Counted {
  readonly scene: CrashScene
  readonly verifier: FeatureVerifier
  readonly totals: FeatureTotals
}

/** What happens in rounds only, not between them or at the end. */
function fromRounds(rounds: number, { scene, verifier, totals }: Counted): readonly Count[] {
  return [
    ['acknowledged writes', totals.acknowledged],
    ['writes cut off', verifier.inDoubt.applied + verifier.inDoubt.notApplied],
    ['changes of defaultTtl', totals.ttlChanges],
    ['splits', totals.of('rangeSplit')],
    ['merges', totals.of('rangesMerged')],
    ...scene.totals(rounds),
  ]
}

function outcome(
  rounds: number,
  {
    verdict,
    ...counted
  }: Counted & { readonly verdict: { readonly lost: number; readonly faults: number } },
): Pick<FeatureRunResult, 'missing' | 'summary'> {
  const { verifier, totals } = counted
  const { delivered, purged } = verifier.pendingDeletes
  const counts: readonly Count[] = [
    ['rounds', rounds],
    ...fromRounds(rounds, counted),
    ['expiries', verifier.expiries],
    ['pending deletes delivered', delivered],
    ['purges', purged],
    ['rows folded', totals.of('folded') + totals.foldedAtRest],
  ]
  // Not in every short run: it takes luck, or longer than the log's retention.
  const rare: readonly Count[] = [
    ['documents filed anew', totals.of('expiryReindexed')],
    ['splits and merges cut off', totals.rangesCutOff],
    ['log entries trimmed', verifier.trimmed],
    ['writes without an answer', totals.of('noAnswer')],
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
