import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  flag,
  oneOf,
  positive,
  readArguments,
  text,
  whole,
} from '../../scripts/command-line/read-arguments.ts'
import type { ServingOptions } from '../gateway/serving-process.ts'
import { AmqpTarget } from './amqp/amqp-target.ts'
import { describeConversation } from './amqp/conversation.ts'
import { generateConversation } from './amqp/generate-conversation.ts'
import { describeRequest } from './describe-request.ts'
import { generateRequest } from './generate/generate-request.ts'
import { generateCostlyQuery } from './generate/costly-queries.ts'
import { percentile } from './bystander.ts'
import { runCostlyQueries, type CostlyResult } from './run-costly-queries.ts'
import { runFuzz, type FuzzResult } from './run-fuzz.ts'
import { runGrowth } from './growth/run-growth.ts'
import { runHostileConnections } from './run-hostile-connections.ts'

const USAGE = `usage: npm run fuzz -- [--requests N] [--seed N] [--seconds N] [--store memory|sqlite]

Sends random requests to a gateway in a process of its own: broken HTTP, wrong lengths, clients that leave, and
signed requests with any method, path, header, document, patch, batch and query. After every batch good requests
must be answered right, and in the end nothing may have grown. Then costly queries, with a key that may only read, while
another client reads documents.

  --requests N    how many                         (default 100000)
  --seed N        of what they are                 (default: random, printed)
  --seconds N     end after this time, too
  --store NAME    memory, sqlite, or both          (default both: a tenth of the requests on SQLite)
  --request N     only this one of the seed
  --from N        begin with this one
  --costly N      costly queries                   (default 200; none with --request)
  --query N       only this costly query of the seed
  --amqp          conversations over AMQP instead, on a store in memory, while the official client sends and receives
  --growth        texts of 1, 2, 4, … 256 KB of repeated units through every entry of all fronts instead: time may grow
                  with the text at most, and no request holds the event loop for 50 ms
  --entry TEXT    of these, only the entries whose name has it
  --p99 MS        with --growth: what 99 of 100 reads of another client may take meanwhile (default 100)
  --hostile N     rounds of hostile connections beside another client's reads, on Linux (default 44; none with --request)

Exit code 1 on a crash, an answer that is 500 or no JSON with a message, a hang, or a leak; where a costly query
is answered by anything but 200, 400, 408, 413 or 429, or other clients wait too long.`

const { values } = readArguments(USAGE, {
  requests: whole(0, 100_000),
  seed: whole(0, Math.floor(Math.random() * 1_000_000)),
  seconds: positive(),
  store: oneOf(['memory', 'sqlite', 'both'], 'both'),
  request: whole(0),
  from: whole(0, 0),
  costly: whole(0),
  query: whole(0),
  hostile: whole(0),
  amqp: flag(),
  growth: flag(),
  entry: text(),
  p99: positive(),
})
const SQLITE_SHARE = 0.1
const { seed, seconds } = values
const isOne = values.request !== undefined || values.query !== undefined
const requests = isOne ? Number(values.request !== undefined) : values.requests
const from = values.request ?? values.from
const costlyFrom = values.query ?? 0
const costly = values.query === undefined ? (values.costly ?? (isOne || values.amqp ? 0 : 200)) : 1
const hostileRounds = values.hostile ?? (isOne || values.amqp ? 0 : 44)

const startedMs = performance.now()
if (values.growth) {
  await grow()
  process.exit()
}
console.log(`seed ${seed}`)
if (values.request !== undefined) console.log(describe(from))
const overHttp = values.amqp ? 0 : requests
const onSqlite =
  values.store === 'memory'
    ? 0
    : values.store === 'sqlite'
      ? overHttp
      : Math.floor(overHttp * SQLITE_SHARE)
const inMemory = overHttp - onSqlite
let [done, crashes, hangs] = [0, 0, 0]
if (values.amqp) await talk()
if (inMemory > 0) {
  const limit = seconds === undefined ? undefined : seconds * (inMemory / requests)
  take(
    'memory',
    await runFuzz({
      seed,
      from,
      requests: inMemory,
      seconds: limit,
      place: {},
      report: console.error,
    }),
  )
}
if (onSqlite > 0) {
  const folder = await mkdtemp(join(tmpdir(), 'tidemark-fuzz-'))
  const limit = seconds === undefined ? undefined : seconds * (onSqlite / requests)
  try {
    const run = {
      seed,
      from: from + inMemory,
      requests: onSqlite,
      seconds: limit,
      report: console.error,
    }
    take('sqlite', await runFuzz({ ...run, place: { folder: join(folder, 'data') } }))
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
if (costly > 0) takeCostly(await runCostlyQueries({ seed, from: costlyFrom, queries: costly }))
if (hostileRounds > 0 && process.platform === 'linux') await attack()
console.log(`${((performance.now() - startedMs) / 1000).toFixed(1)} s`)
console.log(`${done} requests, ${crashes} crashes, ${hangs} hangs`)

function describe(index: number): string {
  return values.amqp
    ? describeConversation(generateConversation(seed, index))
    : describeRequest(generateRequest(seed, index))
}

async function grow(): Promise<void> {
  const { entries, texts, findings, readsMs, longestStretchMs } = await runGrowth({
    only: values.entry,
    p99LimitMs: values.p99,
    report: console.error,
  })
  console.log(
    `${texts} texts through ${entries} entries; longest stretch of the server ${longestStretchMs.toFixed(0)} ms; ` +
      `${readsMs.length} reads of another client meanwhile, p50 ${percentile(readsMs, 0.5).toFixed(1)} ms, ` +
      `p99 ${percentile(readsMs, 0.99).toFixed(1)} ms`,
  )
  for (const what of findings) console.error(`growth: ${what}`)
  console.log(
    `${findings.length} findings, ${((performance.now() - startedMs) / 1000).toFixed(1)} s`,
  )
  if (findings.length > 0) process.exitCode = 1
}

async function talk(): Promise<void> {
  const arrivalsMs: number[] = []
  const start = (place: ServingOptions): Promise<AmqpTarget> =>
    AmqpTarget.start(place, (seen) => arrivalsMs.push(...seen.arrivalsMs))
  const run = { seed, from, requests, seconds, place: {}, start, report: console.error }
  take('memory', await runFuzz(run))
  const sorted = arrivalsMs.toSorted((a, b) => a - b)
  console.log(
    `${sorted.length} messages of another client meanwhile, p50 ${percentile(sorted, 0.5).toFixed(1)} ms, ` +
      `p99 ${percentile(sorted, 0.99).toFixed(1)} ms`,
  )
}

function take(store: string, { requests: sent, findings, leaks, statuses }: FuzzResult): void {
  done += sent
  const counts = [...statuses].sort(([a], [b]) => String(a).localeCompare(String(b)))
  console.log(
    `on ${store}: ${sent} requests; ${counts.map(([status, n]) => `${status}: ${n}`).join(', ')}`,
  )
  for (const { kind, indexes, what } of findings) {
    if (kind === 'crash') crashes++
    else hangs++
    const [first = from] = indexes
    const which =
      indexes.length === 1 ? `--request ${first}` : `--from ${first} --requests ${indexes.length}`
    console.error(`${kind}: ${what}`)
    if (indexes.length === 1) console.error(`  ${describe(first)}`)
    console.error(
      `  again: npm run fuzz -- --seed ${seed} ${values.amqp ? '--amqp' : `--store ${store}`} ${which}`,
    )
  }
  for (const leak of leaks) console.error(`leak: ${leak}`)
  if (findings.length > 0 || leaks.length > 0) process.exitCode = 1
}

function takeCostly({ statuses, findings, readsMs, longestStretchMs }: CostlyResult): void {
  const counts = [...statuses].sort(([a], [b]) => a - b)
  console.log(
    `${costly} costly queries; ${counts.map(([status, n]) => `${status}: ${n}`).join(', ')}; ` +
      `${readsMs.length} reads of another client meanwhile, p50 ${percentile(readsMs, 0.5).toFixed(1)} ms, ` +
      `p99 ${percentile(readsMs, 0.99).toFixed(1)} ms; longest stretch of the server ${longestStretchMs.toFixed(0)} ms`,
  )
  for (const { index, what } of findings) {
    crashes++
    console.error(`costly queries: ${what}`)
    if (index === undefined) continue
    console.error(`  ${generateCostlyQuery(seed, index).text.slice(0, 400)}`)
    console.error(`  again: npm run fuzz -- --seed ${seed} --query ${index}`)
  }
  if (findings.length > 0) process.exitCode = 1
}

async function attack(): Promise<void> {
  const run = { seed, rounds: hostileRounds, roundMs: 500 }
  const { connections, statuses, findings, readsMs } = await runHostileConnections(run)
  const made = [...connections].map(([name, count]) => `${name}: ${count}`).join(', ')
  const answers = [...statuses].map(([status, n]) => `${status}: ${n}`).join(', ')
  console.log(`${hostileRounds} rounds of hostile connections; ${made}; answered ${answers}`)
  console.log(
    `${readsMs.length} reads of another client meanwhile, p50 ${percentile(readsMs, 0.5).toFixed(1)} ms, ` +
      `p99 ${percentile(readsMs, 0.99).toFixed(1)} ms`,
  )
  for (const what of findings) {
    hangs++
    console.error(`hostile connections: ${what}`)
    console.error(
      `  again: npm run fuzz -- --seed ${seed} --requests 0 --costly 0 --hostile ${hostileRounds}`,
    )
  }
  if (findings.length > 0) process.exitCode = 1
}
