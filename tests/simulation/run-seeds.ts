import {
  generateSchedule,
  runSchedule,
  shrinkSchedule,
  traceText,
  type FaultKind,
  type RunResult,
  type Schedule,
  type Violation,
} from '@tidemark/testing/simulation'
import type { CampaignTask, FoundViolation, SeedRange, SeedsDone } from './messages.ts'

/** One of so many seeds runs twice, and must be the same (O12). */
const TWICE_EVERY = 250

/** Runs the schedules of some seeds. */
export async function runSeeds(
  { from, until }: SeedRange,
  { store, balanceBy, hashes: isAsked }: Omit<CampaignTask, 'platformAbort'> = {},
): Promise<SeedsDone> {
  const faults: Partial<Record<FaultKind, number>> = {}
  const violations: FoundViolation[] = []
  const hashes: string[] | undefined = isAsked === true ? [] : undefined
  let simulatedMs = 0
  let changes = 0
  for (let seed = from; seed < until; seed += 1) {
    const schedule = generateSchedule(seed, { store, balanceBy })
    const result = await runTwiceNowAndThen(schedule)
    simulatedMs += result.simulatedMs
    changes += result.changes
    hashes?.push(result.traceHash)
    for (const kind of result.faults) faults[kind] = (faults[kind] ?? 0) + 1
    if (result.violation !== undefined) {
      violations.push(await explain(schedule, { ...result, violation: result.violation }))
    }
  }
  return { schedules: until - from, faults, simulatedMs, changes, violations, hashes }
}

/** Runs one schedule, and shrinks it if it fails. */
export async function replay(schedule: Schedule): Promise<FoundViolation | undefined> {
  const result = await runSchedule(schedule)
  const { violation } = result
  return violation === undefined ? undefined : explain(schedule, { ...result, violation })
}

async function runTwiceNowAndThen(schedule: Schedule): Promise<RunResult> {
  const result = await runSchedule(schedule)
  if (schedule.seed % TWICE_EVERY !== 0) return result
  const again = await runSchedule(schedule)
  if (again.traceHash === result.traceHash) return result
  const message = `one schedule, two histories: ${result.traceHash} and ${again.traceHash}`
  return { ...result, violation: { oracle: 'O12', message, atMs: 0 } }
}

async function explain(
  schedule: Schedule,
  result: RunResult & { readonly violation: Violation },
): Promise<FoundViolation> {
  const shrunk = await shrinkSchedule({ schedule, result })
  return {
    seed: schedule.seed,
    schedule: shrunk.schedule,
    violation: shrunk.result.violation,
    trace: traceText(shrunk.result.lastEvents),
  }
}
