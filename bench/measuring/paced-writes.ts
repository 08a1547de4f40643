import { setTimeout as sleep } from 'node:timers/promises'
import { machineMs } from './stopwatch.ts'

export interface WriteTimes {
  /** Machine clock at which the write was called, by revision. */
  readonly called: Map<number, number>
  /** Machine clock at which it was acknowledged. */
  readonly acknowledged: Map<number, number>
}

export interface PacedWriteOptions {
  readonly perSecond: number
  readonly seconds: number
  /** Called right after each acknowledgement was noted. @default nothing */
  readonly onAcknowledged?: (() => void) | undefined
}

/** Starts `perSecond` writes a second at even distances, whether or not earlier ones are done. */
export async function writePaced(
  write: (revision: number) => Promise<void>,
  { perSecond, seconds, onAcknowledged = () => {} }: PacedWriteOptions,
): Promise<WriteTimes> {
  const called = new Map<number, number>()
  const acknowledged = new Map<number, number>()
  const pending: Promise<void>[] = []
  const total = Math.round(perSecond * seconds)
  const started = machineMs()
  const perform = async (revision: number): Promise<void> => {
    called.set(revision, machineMs())
    await write(revision)
    acknowledged.set(revision, machineMs())
    onAcknowledged()
  }
  for (let revision = 1; revision <= total;) {
    const due = ((machineMs() - started) / 1000) * perSecond
    for (; revision <= Math.min(due, total); revision++) pending.push(perform(revision))
    await sleep(1)
  }
  await Promise.all(pending)
  return { called, acknowledged }
}

export interface Latencies {
  /** From the acknowledgement to the arrival; 0.001 where the reader was faster than the writer's promise. */
  readonly fromCommitMs: readonly number[]
  /** From the call of the write to the arrival: includes the durable commit. */
  readonly fromCallMs: readonly number[]
}

export function latencies(times: WriteTimes, arrivals: ReadonlyMap<number, number>): Latencies {
  const fromCommitMs: number[] = []
  const fromCallMs: number[] = []
  for (const [revision, arrived] of arrivals) {
    const called = times.called.get(revision)
    const acknowledged = times.acknowledged.get(revision)
    if (called === undefined || acknowledged === undefined) continue
    fromCommitMs.push(Math.max(0.001, arrived - acknowledged))
    fromCallMs.push(arrived - called)
  }
  return { fromCommitMs, fromCallMs }
}
