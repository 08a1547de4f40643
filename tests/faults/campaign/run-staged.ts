import { inspect } from 'node:util'
import { SeededRandom } from '@tidemark/testing/simulation'
import { entriesOf, machineMs } from '../history.ts'
import { judge, type Verdict } from './judge.ts'
import type { Scenario, ScenarioResult, StagedScenario, Told } from './scenario.ts'
import { CampaignStage, MAX_ITEM_COUNT } from './stage.ts'

/** What hosts report where nothing in the scenario gives reason for it. */
const ALARMS = ['feedError', 'observerError', 'horizonPassed']
const MAX_NAMED = 5
const NOTHING = {
  written: 0,
  faults: 0,
  signs: {},
  figures: undefined,
  lost: 0,
  outOfOrder: 0,
  duplicates: 0,
  bound: 0,
  boundText: '',
} as const

/** A scenario on a stage of its own. */
export function staged({ name, about, act }: StagedScenario): Scenario {
  return { name, about, run: (seed) => timed(name, () => runOnStage(act, seed)) }
}

type Outcome = Omit<ScenarioResult, 'name' | 'tookMs'>

/** What `run` rejects with is what is wrong. */
export async function timed(name: string, run: () => Promise<Outcome>): Promise<ScenarioResult> {
  const startMs = machineMs()
  try {
    const outcome = await run()
    return { name, tookMs: machineMs() - startMs, ...outcome }
  } catch (error) {
    return { name, tookMs: machineMs() - startMs, ...NOTHING, wrong: [inspect(error)] }
  }
}

async function runOnStage(act: StagedScenario['act'], seed: number): Promise<Outcome> {
  await using stage = await CampaignStage.open(new SeededRandom(seed))
  try {
    const outcome = await judged(stage, await act(stage))
    if (outcome.wrong.length === 0) return outcome
    return { ...outcome, wrong: [...outcome.wrong, `histories: ${await stage.keepHistories()}`] }
  } catch (error) {
    throw new Error(`failed, histories: ${await stage.keepHistories()}`, { cause: error })
  }
}

async function judged(stage: CampaignStage, told: Told): Promise<Outcome> {
  const { written, unsettled } = await stage.settle()
  const living = stage.workers.map(({ history }) => history)
  const verdict = judge(
    { written, histories: stage.histories, living },
    { exclusive: true, abortedBatches: 0, ...told, maxItemCount: MAX_ITEM_COUNT },
  )
  return outcomeOf(told, verdict, {
    written: written.length,
    wrong: [...unsettled, ...stage.deaths(told.ends ?? []), ...alarms(stage, told)],
  })
}

export function outcomeOf(
  told: Told,
  verdict: Verdict,
  { written, wrong }: { readonly written: number; readonly wrong: readonly string[] },
): Outcome {
  const { faults, signs, figures } = told
  const { lost, outOfOrder, duplicates, bound, boundText } = verdict
  return {
    written,
    faults,
    signs,
    figures,
    duplicates,
    bound,
    boundText,
    lost: lost.length,
    outOfOrder: outOfOrder.length,
    wrong: [
      ...wrong,
      ...some(lost, 'written, and its work never done'),
      ...some(outOfOrder, 'done after a later change of its key'),
      ...verdict.wrong,
      ...(duplicates > bound ? [`${duplicates} duplicates, ${bound} allowed (${boundText})`] : []),
      ...unseen(told),
    ],
  }
}

function some(ids: readonly string[], what: string): readonly string[] {
  if (ids.length === 0) return []
  return [`${ids.length} changes: ${what}, as ${ids.slice(0, MAX_NAMED).join(', ')}`]
}

function alarms(stage: CampaignStage, { tolerates = [] }: Told): readonly string[] {
  const names = ALARMS.filter((name) => !tolerates.includes(name))
  const heard = stage.histories
    .flatMap((history) => entriesOf(history, 'event'))
    .filter(({ name }) => names.includes(name))
  return heard.slice(0, MAX_NAMED).map(({ name, detail }) => `${name}: ${detail}`)
}

function unseen({ faults, signs }: Told): readonly string[] {
  const absent = Object.entries({ faults, ...signs }).filter(([, count]) => !(count > 0))
  return absent.map(([what]) => `nothing was shown: 0 ${what}`)
}
