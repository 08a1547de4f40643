import { type CrashScene } from './crash-scene.ts'
import type { LaneState } from './lane.ts'
import { LANES, runRound } from './run-round.ts'

export interface PlainRunResult {
  readonly lost: number
  readonly indexFaults: number
  /** What happened, as one line. */
  readonly summary: string
}

/** The crash loop of plain writes. Rejects when it shows nothing. */
export async function runPlain({
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
}): Promise<PlainRunResult> {
  let acknowledged = 0
  let lost = 0
  let indexFaults = 0
  const inDoubt = { applied: 0, notApplied: 0 }
  let states: readonly LaneState[] = Array.from({ length: LANES }, () => new Map<string, string>())
  report(`${LANES} concurrent writers`)
  for (let round = 0; round < rounds; round++) {
    const result = await runRound({ folder, seed, round, scene }, states)
    states = result.states
    acknowledged += result.acknowledged
    lost += result.lost.length
    indexFaults += result.indexFaults.length
    inDoubt.applied += result.inDoubt.applied
    inDoubt.notApplied += result.inDoubt.notApplied
    report(`round ${round + 1}: ${result.acknowledged} acknowledged, ${result.description}`)
    for (const fault of [...result.lost, ...result.indexFaults]) report(`  ${fault}`)
  }
  report(
    `on their way when killed: ${inDoubt.applied} done but not acknowledged, ${inDoubt.notApplied} not done`,
  )
  const totals = scene.totals(rounds)
  for (const [what, count] of totals) {
    if (count === 0) throw new Error(`nothing was shown: 0 ${what}`)
  }
  if (totals.length > 0) report(totals.map(([what, count]) => `${count} ${what}`).join(', '))
  const summary = `${rounds} rounds, ${acknowledged} acknowledged writes, ${lost} lost, ${indexFaults} index faults`
  return { lost, indexFaults, summary }
}
