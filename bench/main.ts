import { writeFile } from 'node:fs/promises'
import { cpus, release } from 'node:os'
import {
  flag,
  positive,
  readArguments,
  text,
  whole,
} from '../scripts/command-line/read-arguments.ts'
import { installBeside } from '../scripts/install-beside.ts'
import { reachesGoal, reportTable } from './measuring/report-table.ts'
import type { PeersModule } from './measuring/peers-module.ts'
import { runScenario, type MeasuredResult, type Result } from './measuring/run-scenario.ts'
import { ScenarioSkipped, type Scenario } from './measuring/scenario.ts'
import { SCENARIOS } from './scenarios/all-scenarios.ts'

const USAGE = `usage: npm run bench -- [--peers] [--json FILE] [--seconds N] [--runs N] [--documents N] [--many N]
                          [--only NAME] [--without NAMES] [--list]

  --peers         Tidemark beside what one would pick instead, on servers that it starts
  --json FILE     writes the results as one JSON array
  --seconds N     length of one measurement of one side   (default 3)
  --runs N        measurements of each side, in turns     (default 3)
  --documents N   documents loaded for reading scenarios  (default 10,000 x seconds squared, at most 100,000)
  --many N        documents of scenarios about very many  (default documents squared / 10,000, at most a million)
  --only NAME     only scenarios or figures whose name contains NAME; with --peers as in drain.embedded
  --without NAMES  peers to leave out, separated by commas
  --list          prints the names and ends`

/** What a run of one second reads; fixed costs count less in longer ones. */
const MIN_DOCUMENTS = 10_000
const MAX_MANY = 1_000_000

const { values } = readArguments(USAGE, {
  peers: flag(),
  json: text(),
  seconds: positive(3),
  runs: whole(1, 3),
  documents: whole(1),
  many: whole(1),
  only: text(''),
  without: text(''),
  list: flag(),
})
const { seconds, runs, only, list, json } = values
const documents =
  values.documents ?? Math.min(100_000, Math.round(MIN_DOCUMENTS * Math.max(seconds ** 2, 1)))
const manyDocuments = values.many ?? Math.min(MAX_MANY, Math.round(documents ** 2 / MIN_DOCUMENTS))
const without = values.without.split(',')

const isFound = await (values.peers ? benchPeers() : benchScenarios(SCENARIOS))
if (!isFound) {
  console.error(`--only: no scenario or figure has ${JSON.stringify(only)} in its name; see --list`)
  process.exitCode = 2
}

/** Products, then queues of others. Returns whether there was something to do. */
async function benchPeers(): Promise<boolean> {
  await installBeside('bench/peers')
  const { listPeers, runPeers, RIVAL_QUEUES } = (await import(
    new URL('peers/index.ts', import.meta.url).href
  )) as PeersModule
  const names = listPeers({ only, without })
  if (names.length > 0 && list) console.log(names.join('\n'))
  else if (names.length > 0) {
    printMachine()
    await runPeers({ seconds, runs, documents, only, without, json })
  }
  return (await benchScenarios(RIVAL_QUEUES)) || names.length > 0
}

async function benchScenarios(scenarios: readonly Scenario[]): Promise<boolean> {
  const chosen = scenarios.filter(
    ({ name, measures }) =>
      name.includes(only) || measures.some((measure) => measure.name.includes(only)),
  )
  if (chosen.length === 0) return false
  if (list) {
    for (const { name, measures } of chosen) {
      console.log(`${name}: ${measures.map((measure) => measure.name).join(', ')}`)
    }
    return true
  }
  printMachine()
  const results: MeasuredResult[] = []
  for (const scenario of chosen) {
    process.stderr.write(`${scenario.name} …\n`)
    try {
      results.push(...(await runScenario(scenario, { seconds, runs, documents, manyDocuments })))
    } catch (error) {
      if (!(error instanceof ScenarioSkipped)) throw error
      console.log(`skipped ${scenario.name}: ${error.message}`)
    }
  }
  console.log(reportTable(results))
  const missed = results.filter((result) => !reachesGoal(result))
  console.log(`${results.length} figures, ${missed.length} short of their goal`)
  if (json !== undefined && !values.peers) {
    await writeFile(json, `${JSON.stringify(results.map(published), null, 2)}\n`)
  }
  return true
}

function printMachine(): void {
  console.log(
    `node ${process.versions.node}, ${cpus().length} x ${cpus()[0]?.model ?? 'unknown processor'}, ` +
      `${process.platform} ${release()}; ${runs} x ${seconds} s a side, ` +
      `${documents} (many: ${manyDocuments}) documents of 1,036 bytes`,
  )
}

/** What the result file holds of a figure. */
function published({ name, value, unit, raw, ratio, runs: single }: MeasuredResult): Result {
  return { name, value, unit, raw, ratio, runs: single }
}
