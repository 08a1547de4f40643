import { ensureRedisServer } from '@tidemark/testing/servers'
import {
  flag,
  positive,
  readArguments,
  text,
  UsageError,
  whole,
} from '../../scripts/command-line/read-arguments.ts'
import { sequenceSeed } from '../model/sequence-seed.ts'
import { allScenarios } from './campaign/all-scenarios.ts'
import { closingLine, lineOf } from './campaign/report.ts'
import type { Scenario, ScenarioResult } from './campaign/scenario.ts'

const USAGE = `usage: npm run faults -- [--minutes N] [--only NAME,NAME] [--at-once N] [--seed S] [--list]

Runs scenarios, each with hosts in processes of their own and one kind of fault made for real, until the
minutes are over and each was run at least once.

  --minutes N       how long              (default 3)
  --only NAME,NAME  these scenarios alone (default all)
  --at-once N       scenarios side by side; they wait more than they work  (default 3)
  --seed S          of what a scenario picks by chance                     (default the time)
  --list            says what there is

Exit code 1 if something was lost, out of order, repeated too often, dispatched by a stale owner, or if a fault
did not happen.`

const RANGES_MS = 10_000

const { values } = readArguments(
  USAGE,
  {
    minutes: positive(3),
    only: text(),
    'at-once': whole(1, 3),
    seed: whole(0, Date.now() % 2 ** 31),
    list: flag(),
  },
  {
    check({ only }) {
      const known = allScenarios(RANGES_MS).map(({ name }) => name)
      for (const name of only?.split(',') ?? []) {
        if (!known.includes(name)) throw new UsageError(`no such scenario: ${name}; see --list`)
      }
    },
  },
)
const { minutes, 'at-once': atOnce, seed } = values
const wanted = values.only?.split(',')
// Alone, the ranges have all of the time.
const isRangesAlone = wanted?.every((name) => name.startsWith('ranges')) === true
const known = allScenarios(isRangesAlone ? (minutes * 60_000) / wanted.length : RANGES_MS)
const scenarios = known.filter(({ name }) => wanted === undefined || wanted.includes(name))
if (values.list) {
  for (const { name, about } of scenarios) console.log(`${name.padEnd(26)} ${about}`)
} else {
  process.env['REDIS_SERVER_BIN'] = await ensureRedisServer({ onProgress: console.log })
  console.log(`seed ${seed}`)
  const results = await runAll()
  if (results.some(({ wrong }) => wrong.length > 0)) process.exitCode = 1
  console.log(closingLine(results))
}

/** Each at least once, in order, then again from the first one while there is time. */
async function runAll(): Promise<readonly ScenarioResult[]> {
  const endMs = performance.now() + minutes * 60_000
  const results: ScenarioResult[] = []
  let begun = 0
  const next = (): Scenario | undefined =>
    begun < scenarios.length || (performance.now() < endMs && !isRangesAlone)
      ? scenarios[begun++ % scenarios.length]
      : undefined
  const lanes = Array.from({ length: atOnce }, async () => {
    for (let scenario = next(); scenario !== undefined; scenario = next()) {
      const result = await scenario.run(sequenceSeed(seed, begun))
      results.push(result)
      console.log(lineOf(result))
    }
  })
  await Promise.all(lanes)
  return results
}
