import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { oneOf, positive, readArguments, whole } from '../../scripts/command-line/read-arguments.ts'
import { describeRequest } from './describe-request.ts'
import { generateRequest } from './generate/generate-request.ts'
import { runFuzz, type FuzzResult } from './run-fuzz.ts'

const USAGE = `usage: npm run fuzz -- [--requests N] [--seed N] [--seconds N] [--store memory|sqlite]

Sends random requests to a gateway in a process of its own: broken HTTP, wrong lengths, clients that leave, and
signed requests with any method, path, header, document, patch, batch and query. After every batch good requests
must be answered right, and in the end nothing may have grown.

  --requests N    how many                         (default 100000)
  --seed N        of what they are                 (default: random, printed)
  --seconds N     end after this time, too
  --store NAME    memory, sqlite, or both          (default both: a tenth of the requests on SQLite)
  --request N     only this one of the seed
  --from N        begin with this one

Exit code 1 on a crash, an answer that is 500 or no JSON with a message, a hang, or a leak.`

const { values } = readArguments(USAGE, {
  requests: whole(1, 100_000),
  seed: whole(0, Math.floor(Math.random() * 1_000_000)),
  seconds: positive(),
  store: oneOf(['memory', 'sqlite', 'both'], 'both'),
  request: whole(0),
  from: whole(0, 0),
})
const SQLITE_SHARE = 0.1
const { seed, seconds } = values
const requests = values.request === undefined ? values.requests : 1
const from = values.request ?? values.from

const startedMs = performance.now()
console.log(`seed ${seed}`)
if (values.request !== undefined) console.log(describeRequest(generateRequest(seed, from)))
const onSqlite =
  values.store === 'memory'
    ? 0
    : values.store === 'sqlite'
      ? requests
      : Math.floor(requests * SQLITE_SHARE)
const inMemory = requests - onSqlite
let [done, crashes, hangs] = [0, 0, 0]
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
console.log(`${((performance.now() - startedMs) / 1000).toFixed(1)} s`)
console.log(`${done} requests, ${crashes} crashes, ${hangs} hangs`)

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
    if (indexes.length === 1) console.error(`  ${describeRequest(generateRequest(seed, first))}`)
    console.error(`  again: npm run fuzz -- --seed ${seed} --store ${store} ${which}`)
  }
  for (const leak of leaks) console.error(`leak: ${leak}`)
  if (findings.length > 0 || leaks.length > 0) process.exitCode = 1
}
