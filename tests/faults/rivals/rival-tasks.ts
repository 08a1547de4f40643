import type { FaultProcessTask } from '../fault-process.ts'

/** What the processes of these tests are started with. */

export interface CounterTask extends FaultProcessTask {
  readonly postgresUrl: string
}

export interface FencedWriterTask extends FaultProcessTask {
  readonly postgresUrl: string
  readonly name: string
  readonly epoch: number
}

export const COUNTERS: readonly string[] = ['c0', 'c1', 'c2', 'c3']
export const JOB = 'migration'
