import { writeFile } from 'node:fs/promises'
import { ensureRedisServer } from '@tidemark/testing/servers'
import {
  flag,
  number,
  positive,
  readArguments,
  text,
  UsageError,
} from '../../scripts/command-line/read-arguments.ts'
import { runAmqpSoak } from './amqp/run-amqp-soak.ts'
import { runSoak, type SoakResult } from './run-soak.ts'
import { CRITERION, judgeSeries, lineOf } from './soak-verdict.ts'

const USAGE = `usage: npm run soak -- [--minutes N | --hours N] [--warm-up-minutes N] [--json FILE] [--amqp]

Hosts in processes of their own under a steady load, with rolling kills, splits and merges, and observers that fail.
Ends with how fast what each process holds grows.

  --minutes N, --hours N  how long                        (default 10 minutes)
  --warm-up-minutes N     not judged                      (default a quarter of the time, at most 15)
  --json FILE             every sample, too
  --amqp                  an AMQP front under clients that come, go and break off, instead

Exit code 1 if something grows, was lost or is out of order.`

const MINUTE_MS = 60_000
const SAMPLES = 2_000
const SHORTEST_SAMPLE_MS = 3_000
const TELL_EVERY_MS = MINUTE_MS
/** As this process has by package.json. V8 would rather take 100 MiB more than collect garbage, at random times. */
const SMALL_HEAPS = '--max-semi-space-size=2 --max-old-space-size=96'

const { values } = readArguments(
  USAGE,
  {
    minutes: positive(),
    hours: positive(),
    'warm-up-minutes': number(),
    json: text(),
    amqp: flag(),
  },
  {
    check(given) {
      const lasts = lengthOf(given)
      if (lasts.warmUp < lasts.minutes) return
      throw new UsageError(`--warm-up-minutes must be less than the ${lasts.minutes} of all`)
    },
  },
)
const { minutes, warmUp } = lengthOf(values)
// The processes that are judged get it too.
process.env['NODE_OPTIONS'] = `${process.env['NODE_OPTIONS'] ?? ''} ${SMALL_HEAPS}`
let toldMs = -Infinity
const times = {
  durationMs: minutes * MINUTE_MS,
  warmUpMs: warmUp * MINUTE_MS,
  sampleEveryMs: Math.max(SHORTEST_SAMPLE_MS, (minutes * MINUTE_MS) / SAMPLES),
  onProgress: (line: string) => {
    if (performance.now() < toldMs + TELL_EVERY_MS) return
    toldMs = performance.now()
    console.log(line)
  },
}
const { series, happened, wrong } = values.amqp ? await runAmqpSoak(times) : await soakHosts()
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

async function soakHosts(): Promise<SoakResult> {
  process.env['REDIS_SERVER_BIN'] = await ensureRedisServer({ onProgress: console.log })
  return runSoak({
    ...times,
    killEveryMs: 10_000,
    reshapeEveryMs: 7_000,
    rejoinEveryMs: 23_000,
    changesPerSecond: 150,
  })
}

function lengthOf({
  minutes,
  hours,
  'warm-up-minutes': warmUp,
}: {
  readonly minutes: number | undefined
  readonly hours: number | undefined
  readonly 'warm-up-minutes': number | undefined
}): { readonly minutes: number; readonly warmUp: number } {
  const all = minutes ?? (hours === undefined ? 10 : hours * 60)
  return { minutes: all, warmUp: warmUp ?? Math.min(all / 4, 15) }
}
