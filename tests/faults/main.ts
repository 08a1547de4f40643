import { ensureRedisServer } from '@tidemark/testing/servers'
import {
  flag,
  positive,
  text,
  UsageError,
  whole,
} from '../../scripts/command-line/read-arguments.ts'
import { runCampaign } from '../campaign/run-campaign.ts'
import { sequenceSeed } from '../model/sequence-seed.ts'
import { allScenarios } from './campaign/all-scenarios.ts'
import { closingLine, lineOf } from './campaign/report.ts'
import type { Scenario, ScenarioResult } from './campaign/scenario.ts'

const RANGES_MS = 10_000

await runCampaign({
  name: 'faults',
  usage: `usage: npm run faults -- [--minutes N] [--only NAME,NAME] [--at-once N] [--seed N] [--list]

Runs scenarios, each with hosts in processes of their own and one kind of fault made for real, until the
minutes are over and each was run at least once.

  --minutes N       how long              (default 3)
  --only NAME,NAME  these scenarios alone (default all)
  --at-once N       scenarios side by side; they wait more than they work  (default 3)
  --list            says what there is

Exit code 1 if something was lost, out of order, repeated too often, dispatched by a stale owner, or if a fault
did not happen.`,
  options: { minutes: positive(3), only: text(), 'at-once': whole(1, 3), list: flag() },
  check({ only }) {
    const known = allScenarios(RANGES_MS).map(({ name }) => name)
    for (const name of only?.split(',') ?? []) {
      if (!known.includes(name)) throw new UsageError(`no such scenario: ${name}; see --list`)
    }
  },
  async run({ minutes, only, 'at-once': atOnce, list }, { seed }) {
    const wanted = only?.split(',')
    // Alone, the ranges have all of the time.
    const isRangesAlone = wanted?.every((name) => name.startsWith('ranges')) === true
    const known = allScenarios(isRangesAlone ? (minutes * 60_000) / wanted.length : RANGES_MS)
    const scenarios = known.filter(({ name }) => wanted === undefined || wanted.includes(name))
    if (list) {
      const lines = scenarios.map(({ name, about }) => `${name.padEnd(26)} ${about}`)
      return { wrong: [], summary: lines.join('\n') }
    }
    process.env['REDIS_SERVER_BIN'] = await ensureRedisServer({ onProgress: console.log })
    const results = await runAll(scenarios, {
      seed,
      atOnce,
      untilMs: isRangesAlone ? 0 : performance.now() + minutes * 60_000,
    })
    return {
      wrong: results.flatMap(({ name, wrong }) =>
        wrong.map((what) => `${what}\n  again: npm run faults -- --only ${name} --seed ${seed}`),
      ),
      summary: closingLine(results),
    }
  },
})

/** Each at least once, in order, then again from the first one while there is time. */
async function runAll(
  scenarios: readonly Scenario[],
  {
    seed,
    atOnce,
    untilMs,
  }: { readonly seed: number; readonly atOnce: number; readonly untilMs: number },
): Promise<readonly ScenarioResult[]> {
  const all = allScenarios(RANGES_MS).map(({ name }) => name)
  const results: ScenarioResult[] = []
  let begun = 0
  const next = (): Scenario | undefined =>
    begun < scenarios.length || performance.now() < untilMs
      ? scenarios[begun++ % scenarios.length]
      : undefined
  const lanes = Array.from({ length: atOnce }, async () => {
    for (let scenario = next(); scenario !== undefined; scenario = next()) {
      // By the scenario, so that it is the same alone.
      const round = Math.ceil(begun / scenarios.length) - 1
      const result = await scenario.run(
        sequenceSeed(seed, all.indexOf(scenario.name) + all.length * round),
      )
      results.push(result)
      console.log(lineOf(result))
    }
  })
  await Promise.all(lanes)
  return results
}
