import { readFile } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import type { LeaseStoreKind, Schedule } from '@tidemark/testing/simulation'
import {
  flag,
  oneOf,
  readArguments,
  text,
  whole,
} from '../../scripts/command-line/read-arguments.ts'
import type { FoundViolation, SeedsDone } from './messages.ts'
import { runCampaign } from './run-campaign.ts'
import { replay } from './run-seeds.ts'

const USAGE = `usage: npm run simulate -- [--schedules N] [--seed N]

Runs processor hosts in simulated processes over a model of the lease store and of the feed, in virtual time, with
faults of every kind, and judges what they did. See tests/simulation/README.md.

  --schedules N     how many                         (default 100000)
  --seed N          of the first                     (default: random, printed)
  --replay JSON     only this schedule, as a violation is printed, or a file that holds it
  --store KIND      model or documents, instead of what each seed says
  --balance-by HOW  count or load, instead of what each seed says
  --processes N     that share the work              (default: one a core)
  --trace N         events shown of a violation      (default 60)
  --platform-abort  the platform's AbortController, instead of a light one: slower

Exit code 1 on a violation.`

const { values } = readArguments(USAGE, {
  schedules: whole(1, 100_000),
  seed: whole(0, Math.floor(Math.random() * 1_000_000_000)),
  replay: text(),
  store: oneOf(['model', 'documents']),
  'balance-by': oneOf(['count', 'load']),
  processes: whole(1, availableParallelism()),
  trace: whole(0, 60),
  'platform-abort': flag(),
})
const { schedules, seed, processes, trace: shown, store, 'balance-by': balanceBy } = values

/** So many violations are shown whole; a mistake that shows in every schedule says the same each time. */
const SHOWN_VIOLATIONS = 5

let violations = 0
if (values.replay !== undefined) await replayOne(values.replay)
else await runAll(seed, schedules)
if (violations > 0) process.exitCode = 1

async function replayOne(text: string): Promise<void> {
  const json = text.trimStart().startsWith('{') ? text : await readFile(text, 'utf8')
  const found = await replay(JSON.parse(json) as Schedule)
  if (found !== undefined) print(found)
  console.log(`1 schedules, ${violations} violations`)
}

async function runAll(first: number, count: number): Promise<void> {
  console.log(`seed ${first}`)
  const startedMs = performance.now()
  const sums = { schedules: 0, changes: 0, simulatedMs: 0 }
  const faults: Record<string, number> = {}
  let printedMs = startedMs
  const onDone = (done: SeedsDone): void => {
    sums.schedules += done.schedules
    sums.changes += done.changes
    sums.simulatedMs += done.simulatedMs
    for (const [kind, times] of Object.entries(done.faults)) {
      faults[kind] = (faults[kind] ?? 0) + times
    }
    for (const found of done.violations) print(found)
    if (performance.now() - printedMs < 20_000) return
    printedMs = performance.now()
    console.log(`  ${sums.schedules} schedules, ${violations} violations`)
  }
  const task = {
    store: isStore(store) ? store : undefined,
    balanceBy: isBalance(balanceBy) ? balanceBy : undefined,
    platformAbort: values['platform-abort'],
  }
  await runCampaign(task, {
    from: first,
    until: first + count,
    processes: processes ?? 1,
    onDone,
  })
  const seconds = (performance.now() - startedMs) / 1000
  const hours = sums.simulatedMs / 3_600_000
  console.log(
    `${sums.changes} changes in ${hours.toFixed(1)} h of simulated time, ${seconds.toFixed(1)} s`,
  )
  const rate = Math.round(sums.schedules / seconds)
  const kinds = Object.entries(faults).toSorted(([, one], [, other]) => other - one)
  console.log(`faults: ${kinds.map(([kind, times]) => `${kind} ${times}`).join(', ')}`)
  const hit = kinds.reduce((sum, [, times]) => sum + times, 0)
  console.log(
    `${sums.schedules} schedules, ${hit} faults, ${violations} violations, ${rate} schedules/s`,
  )
}

function print({ seed: failed, schedule, violation, trace }: FoundViolation): void {
  violations += 1
  const { oracle, message, atMs } = violation
  if (violations > SHOWN_VIOLATIONS) {
    console.error(`violation of ${oracle} with seed ${failed}: ${message}`)
    return
  }
  const last = trace.split('\n').slice(-Number(shown))
  console.error(
    [
      `violation of ${oracle} with seed ${failed}: ${message} (at ${atMs.toFixed(1)} ms)`,
      ...last,
      `cut down to ${schedule.faults.length} faults:`,
      ...schedule.faults.map((fault) => `  ${JSON.stringify(fault)}`),
      `again: npm run simulate -- --replay '${JSON.stringify(schedule)}'`,
      '',
    ].join('\n'),
  )
}

function isStore(value: string | undefined): value is LeaseStoreKind {
  return value === 'model' || value === 'documents'
}

function isBalance(value: string | undefined): value is 'count' | 'load' {
  return value === 'count' || value === 'load'
}
