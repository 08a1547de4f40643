import { writeFile } from 'node:fs/promises'
import { cpus, release } from 'node:os'
import {
  flag,
  oneOf,
  positive,
  readArguments,
  text,
  whole,
} from '../scripts/command-line/read-arguments.ts'
import { AMQP_SCENARIOS } from './amqp/scenarios.ts'
import { GATEWAY_SCENARIOS } from './gateway/scenarios.ts'
import { messagingScenarios } from './messaging/scenarios.ts'
import { reachesGoal, reportTable } from './measuring/report-table.ts'
import { runScenario, type MeasuredResult, type Result } from './measuring/run-scenario.ts'
import { ScenarioSkipped, type Scenario } from './measuring/scenario.ts'
import { listPeers, runPeers } from './peers/run-peers.ts'
import { POSTGRES_SCENARIOS } from './postgres/scenarios.ts'
import { SCENARIOS } from './scenarios/all-scenarios.ts'

const USAGE = `usage: npm run bench -- [--json FILE] [--seconds N] [--runs N] [--documents N] [--many N]
                          [--engine NAME] [--messaging] [--gateway] [--amqp] [--peers] [--only NAME]
                          [--without NAMES] [--list]

  --json FILE     writes the results as one JSON array
  --seconds N     length of one measurement of one side   (default 3)
  --runs N        measurements of each side, in turns     (default 3)
  --documents N   documents loaded for reading scenarios  (default 10,000 x seconds squared, at most 100,000)
  --many N        documents of scenarios about very many  (default documents squared / 10,000, at most a million)
  --engine NAME   sqlite, or postgres for the scenarios on PostgreSQL, which start servers (default sqlite)
  --messaging     queues and topics instead of documents, beside other products, on the engine of --engine
  --gateway       the scenarios over HTTP instead, with servers and workers in processes of their own
  --amqp          queues over AMQP instead, beside a bare server on rhea, each process one of its own
  --peers         Tidemark beside what one would pick instead, on servers that it starts
  --only NAME     only scenarios or figures whose name contains NAME; with --peers as in drain.embedded
  --without NAMES of peers to leave out, with commas between
  --list          prints the names and ends`

/** What a run of one second reads; fixed costs count less in longer ones. */
const MIN_DOCUMENTS = 10_000
const MAX_MANY = 1_000_000

const SCENARIOS_OF: Readonly<Record<'sqlite' | 'postgres', readonly Scenario[]>> = {
  sqlite: SCENARIOS,
  postgres: POSTGRES_SCENARIOS,
}

interface BenchOptions {
  readonly scenarios: readonly Scenario[]
  readonly json: string | undefined
  readonly seconds: number
  readonly runs: number
  readonly documents: number
  readonly manyDocuments: number
  readonly only: string
  readonly list: boolean
  readonly peers: boolean
  readonly without: readonly string[]
}

function readOptions(): BenchOptions {
  const { values } = readArguments(USAGE, {
    json: text(),
    seconds: positive(3),
    runs: whole(1, 3),
    documents: whole(1),
    many: whole(1),
    engine: oneOf(['sqlite', 'postgres'], 'sqlite'),
    messaging: flag(),
    gateway: flag(),
    amqp: flag(),
    peers: flag(),
    only: text(''),
    without: text(''),
    list: flag(),
  })
  const { json, seconds, runs, only, list, peers, without } = values
  const documents =
    values.documents ?? Math.min(100_000, Math.round(MIN_DOCUMENTS * Math.max(seconds ** 2, 1)))
  return {
    scenarios: scenariosOf(values),
    json,
    seconds,
    runs,
    documents,
    manyDocuments: values.many ?? Math.min(MAX_MANY, Math.round(documents ** 2 / MIN_DOCUMENTS)),
    only,
    list,
    peers,
    without: without.split(','),
  }
}

function scenariosOf({
  engine,
  messaging,
  gateway,
  amqp,
}: {
  readonly engine: 'sqlite' | 'postgres'
  readonly messaging: boolean
  readonly gateway: boolean
  readonly amqp: boolean
}): readonly Scenario[] {
  if (gateway) return GATEWAY_SCENARIOS
  if (amqp) return AMQP_SCENARIOS
  return messaging ? messagingScenarios(engine) : SCENARIOS_OF[engine]
}

async function main(): Promise<void> {
  const options = readOptions()
  await (options.peers ? benchPeers(options) : benchScenarios(options))
}

async function benchPeers(options: BenchOptions): Promise<void> {
  const names = listPeers(options)
  if (names.length === 0) return refuseOnly(options)
  if (options.list) return console.log(names.join('\n'))
  printMachine(options)
  await runPeers(options)
}

async function benchScenarios(options: BenchOptions): Promise<void> {
  const chosen = options.scenarios.filter(
    ({ name, measures }) =>
      name.includes(options.only) ||
      measures.some((measure) => measure.name.includes(options.only)),
  )
  if (options.list) {
    for (const { name, measures } of chosen) {
      console.log(`${name}: ${measures.map((measure) => measure.name).join(', ')}`)
    }
    return
  }
  if (chosen.length === 0) return refuseOnly(options)
  printMachine(options)
  const results: MeasuredResult[] = []
  for (const scenario of chosen) {
    process.stderr.write(`${scenario.name} …\n`)
    try {
      results.push(...(await runScenario(scenario, options)))
    } catch (error) {
      if (!(error instanceof ScenarioSkipped)) throw error
      console.log(`skipped ${scenario.name}: ${error.message}`)
    }
  }
  console.log(reportTable(results))
  const missed = results.filter((result) => !reachesGoal(result))
  console.log(`${results.length} figures, ${missed.length} short of their goal`)
  if (options.json !== undefined) {
    await writeFile(options.json, `${JSON.stringify(results.map(published), null, 2)}\n`)
  }
}

function refuseOnly({ only }: BenchOptions): void {
  console.error(`--only: no scenario or figure has ${JSON.stringify(only)} in its name; see --list`)
  process.exitCode = 2
}

function printMachine({ runs, seconds, documents, manyDocuments }: BenchOptions): void {
  console.log(
    `node ${process.versions.node}, ${cpus().length} x ${cpus()[0]?.model ?? 'unknown processor'}, ` +
      `${process.platform} ${release()}; ${runs} x ${seconds} s a side, ` +
      `${documents} (many: ${manyDocuments}) documents of 1,036 bytes`,
  )
}

/** What the result file holds of a figure. */
function published({ name, value, unit, raw, ratio, runs }: MeasuredResult): Result {
  return { name, value, unit, raw, ratio, runs }
}

await main()
