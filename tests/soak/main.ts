import { writeFile } from 'node:fs/promises'
import { parseArgs } from 'node:util'
import { ensureRedisServer } from '@tidemark/testing/servers'
import { runSoak } from './run-soak.ts'
import { CRITERION, judgeSeries, lineOf } from './soak-verdict.ts'

const USAGE = `usage: npm run soak -- [--minutes N | --hours N] [--warm-up-minutes N] [--json FILE]

Hosts in processes of their own under a steady load, with rolling kills, splits and merges, and observers that fail.
Ends with how fast what each process holds grows.

  --minutes N, --hours N  how long                        (default 10 minutes)
  --warm-up-minutes N     not judged                      (default a quarter of the time, at most 15)
  --json FILE             every sample, too

Exit code 1 if something grows, was lost or is out of order.`

const MINUTE_MS = 60_000
const SAMPLES = 2_000
const SHORTEST_SAMPLE_MS = 3_000
const TELL_EVERY_MS = MINUTE_MS
/** As this process has by package.json. V8 would rather take 100 MiB more than collect garbage, at random times. */
const SMALL_HEAPS = '--max-semi-space-size=2 --max-old-space-size=96'

const { values } = parseArgs({
  options: {
    minutes: { type: 'string' },
    hours: { type: 'string' },
    'warm-up-minutes': { type: 'string' },
    json: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
})
const minutes = Number(
  values.minutes ?? (values.hours === undefined ? 10 : Number(values.hours) * 60),
)
const warmUp = Number(values['warm-up-minutes'] ?? Math.min(minutes / 4, 15))
if (values.help || !(minutes > 0) || !(warmUp >= 0 && warmUp < minutes)) {
  console.error(USAGE)
  process.exit(values.help ? 0 : 2)
}
process.env['REDIS_SERVER_BIN'] = await ensureRedisServer({ onProgress: console.log })
// The hosts' processes get it too.
process.env['NODE_OPTIONS'] = `${process.env['NODE_OPTIONS'] ?? ''} ${SMALL_HEAPS}`
let toldMs = -Infinity
const { series, happened, wrong } = await runSoak({
  durationMs: minutes * MINUTE_MS,
  warmUpMs: warmUp * MINUTE_MS,
  sampleEveryMs: Math.max(SHORTEST_SAMPLE_MS, (minutes * MINUTE_MS) / SAMPLES),
  killEveryMs: 10_000,
  reshapeEveryMs: 7_000,
  rejoinEveryMs: 23_000,
  changesPerSecond: 150,
  onProgress: (line) => {
    if (performance.now() < toldMs + TELL_EVERY_MS) return
    toldMs = performance.now()
    console.log(line)
  },
})
if (values.json !== undefined) await writeFile(values.json, JSON.stringify(series))
const verdicts = series.map(judgeSeries)
for (const verdict of verdicts) console.log(lineOf(verdict))
const counts = Object.entries(happened).map(([what, count]) => `${count} ${what}`)
console.log(`${counts.join(', ')}`)
const rising = verdicts.filter(({ isFlat }) => !isFlat).length
const absent = Object.entries(happened).filter(([, count]) => count === 0)
for (const [what] of absent) console.error(`nothing was shown: 0 ${what}`)
for (const sentence of wrong) console.error(sentence)
if (rising > 0 || absent.length > 0 || wrong.length > 0) process.exitCode = 1
console.log(
  `${minutes} minutes, ${warmUp} of them to warm up; ${CRITERION}: ` +
    `${verdicts.length - rising} flat, ${rising} not, ${wrong.length} wrong`,
)
