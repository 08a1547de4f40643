import { setTimeout as sleep } from 'node:timers/promises'
import type { Latencies } from './paced-writes.ts'
import type { Figures, Scenario } from './scenario.ts'
import { quantile } from './statistics.ts'
import { machineMs } from './stopwatch.ts'

/** Writes are paced, so that latency is of a store that is not overloaded. */
export const WRITES_PER_SECOND = 1_000
/** Far above what is written at that pace, so that no document is overwritten before it was seen. */
export const LATENCY_KEYS = 50_000

/** Waits until everything arrived; what does not arrive in 10 s is a defect, not a latency. */
export async function untilSize(
  arrivals: ReadonlyMap<number, number>,
  expected: number,
): Promise<void> {
  const deadline = machineMs() + 10_000
  while (arrivals.size < expected) {
    if (machineMs() > deadline) {
      throw new Error(`only ${arrivals.size} of ${expected} documents arrived`)
    }
    await sleep(10)
  }
}

export function latencyMeasures(prefix: string, reader: string): Scenario['measures'] {
  const fromCommit = `${reader}, from the acknowledgement`
  const fromCall = `${reader}, from the call of the write`
  return [
    { name: `${prefix}.p50`, unit: 'ms', rawIs: fromCommit },
    { name: `${prefix}.p99`, unit: 'ms', rawIs: fromCommit },
    { name: `${prefix}.fromCall.p50`, unit: 'ms', rawIs: fromCall },
    { name: `${prefix}.fromCall.p99`, unit: 'ms', rawIs: fromCall },
  ]
}

export function latencyFigures(prefix: string, { fromCommitMs, fromCallMs }: Latencies): Figures {
  return {
    [`${prefix}.p50`]: quantile(fromCommitMs, 0.5),
    [`${prefix}.p99`]: quantile(fromCommitMs, 0.99),
    [`${prefix}.fromCall.p50`]: quantile(fromCallMs, 0.5),
    [`${prefix}.fromCall.p99`]: quantile(fromCallMs, 0.99),
  }
}
