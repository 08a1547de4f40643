import type { Violation } from './oracles/oracle.ts'
import { runSchedule, type RunResult } from './run-schedule.ts'
import type { Fault } from './schedule/fault.ts'
import type { HostSettings, Schedule } from './schedule/schedule.ts'

/** A schedule that fails. */
export interface FailedSchedule {
  readonly schedule: Schedule
  readonly result: RunResult & { readonly violation: Violation }
}

/** Runs that a shrinking takes at most. */
const MAX_RUNS = 400

const PLAIN_SETTINGS: HostSettings = {
  checkpointFrequency: 'everyBatch',
  maxConcurrentKeys: 1,
  failurePolicy: 'retryForever',
  watchdog: false,
}

/**
 * Makes a failing schedule smaller for as long as the same oracle still objects: fewer faults, by delta debugging; then
 * fewer hosts, ranges and commits, plainer settings, shorter faults. Every fault that is left is needed, unless the
 * number of runs is used up.
 */
export async function shrinkSchedule(
  found: FailedSchedule,
  run: (schedule: Schedule) => Promise<RunResult> = runSchedule,
): Promise<FailedSchedule> {
  const shrinker = new Shrinker(found, run)
  let before = -1
  while (before !== shrinker.size && shrinker.mayGoOn) {
    before = shrinker.size
    await shrinker.removeFaults()
    await shrinker.reduceWorld()
  }
  return shrinker.best
}

class Shrinker {
  best: FailedSchedule
  readonly #oracle: string
  readonly #run: (schedule: Schedule) => Promise<RunResult>
  #runs = 0

  constructor(found: FailedSchedule, run: (schedule: Schedule) => Promise<RunResult>) {
    this.best = found
    this.#run = run
    this.#oracle = found.result.violation.oracle
  }

  get mayGoOn(): boolean {
    return this.#runs < MAX_RUNS
  }

  /** Length of what is left, as text: less is plainer. */
  get size(): number {
    return JSON.stringify(this.best.schedule).length
  }

  /** Tries to leave out ever smaller parts of the list. */
  async removeFaults(): Promise<void> {
    for (let length = this.#faults.length; length >= 1; length >>= 1) {
      for (let at = 0; at < this.#faults.length && this.mayGoOn;) {
        const faults = this.#faults.filter((_, index) => index < at || index >= at + length)
        if (!(await this.#try({ faults }))) at += length
      }
    }
  }

  async reduceWorld(): Promise<void> {
    const { schedule } = this.best
    await this.#try({ store: 'model' })
    const { balanceBy } = schedule.settings
    await this.#try({ settings: { ...PLAIN_SETTINGS, balanceBy } })
    await this.#try({ settings: PLAIN_SETTINGS })
    await this.#try({ steadyForMs: undefined })
    await this.#lower('hosts', 1)
    await this.#lower('ranges', 1)
    await this.#lower('commits', 0)
    const endMs = Math.ceil(this.best.result.violation.atMs) + 1
    if (endMs < schedule.faultsForMs) await this.#try({ faultsForMs: endMs })
  }

  get #faults(): readonly Fault[] {
    return this.best.schedule.faults
  }

  /** The lowest number at which it still fails, as far as halving and single steps find it. */
  async #lower(what: 'hosts' | 'ranges' | 'commits', least: number): Promise<void> {
    for (const next of [(now: number) => (now + least) >> 1, (now: number) => now - 1]) {
      for (;;) {
        const now = this.best.schedule[what]
        const tried = next(now)
        if (tried < least || tried >= now || !(await this.#try({ [what]: tried }))) break
      }
    }
  }

  async #try(changes: Partial<Schedule>): Promise<boolean> {
    if (!this.mayGoOn) return false
    const schedule = { ...this.best.schedule, ...changes }
    if (JSON.stringify(schedule) === JSON.stringify(this.best.schedule)) return false
    this.#runs += 1
    const result = await this.#run(schedule)
    const { violation } = result
    if (violation?.oracle !== this.#oracle) return false
    this.best = { schedule, result: { ...result, violation } }
    return true
  }
}
