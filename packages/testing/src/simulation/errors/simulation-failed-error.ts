import { CodedError } from '@tidemark/contracts'
import type { Violation } from '../oracles/oracle.ts'
import type { Schedule } from '../schedule/schedule.ts'

/** What a failed simulation tells. */
export interface SimulationFailure {
  readonly seed: number
  /** Made as small as it still fails. */
  readonly schedule: Schedule
  readonly violation: Violation
  /** The last of what happened, a line each. */
  readonly trace: string
  /** How many schedules were run before. */
  readonly passed: number
}

/**
 * Your observer did something wrong under some schedule of faults. `cause` is what `check` threw.
 *
 * @remedy Run the schedule that the message names again, and correct the observer.
 */
export class SimulationFailedError extends CodedError {
  override readonly name = 'SimulationFailedError'
  readonly code = 'ERR_SIMULATION_FAILED'
  readonly retryable = false
  readonly seed: number
  /** Give it as one of `seeds` to run it again. */
  readonly schedule: Schedule
  readonly violation: Violation
  readonly trace: string

  constructor(failure: SimulationFailure, options?: ErrorOptions) {
    super(textOf(failure), options)
    this.seed = failure.seed
    this.schedule = failure.schedule
    this.violation = failure.violation
    this.trace = failure.trace
  }
}

/** What hosts and the lease store say to each other, of which the trace is full. */
const PROTOCOL = / (?:stored:|sync:|read|plan|checkpoint)/

const SHOWN_LINES = 30

function textOf({ seed, schedule, violation, trace, passed }: SimulationFailure): string {
  const faults = schedule.faults.map((fault) => `  ${JSON.stringify(fault)}`)
  return [
    `seed ${seed}, after ${passed} schedules that were right: ${violation.message}`,
    `${schedule.hosts} hosts, ${schedule.ranges} ranges, ${schedule.commits} documents, and these faults:`,
    ...(faults.length === 0 ? ['  none'] : faults),
    'What happened last:',
    ...trace
      .split('\n')
      .filter((line) => !PROTOCOL.test(line))
      .slice(-SHOWN_LINES),
  ].join('\n')
}
