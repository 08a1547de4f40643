import type { FaultProcessTask } from '../faults/fault-process.ts'

/** What a host of the soak is started with. */
export interface SoakHostTask extends FaultProcessTask {
  readonly hostName: string
  /** Of the store. */
  readonly folder: string
  readonly redisPort: number
  /** Where it writes down what it has done: files with this path and a number. */
  readonly progressPath: string
  /** Of batches, the share that fails. */
  readonly failing: number
}

export type SoakOrder =
  /** Answer with `SoakCounts`. */
  | { readonly kind: 'sample' }
  /** Stop the host and start another one in the same process; then answer. */
  | { readonly kind: 'rejoin' }

/** What a process holds, after a collection of its garbage. */
export interface Holdings {
  readonly heapBytes: number
  readonly residentBytes: number
  /** Timers, sockets, requests and whatever else keeps an event loop busy. */
  readonly resources: number
}

export interface SoakCounts extends Holdings {
  /** Batches that failed so far. */
  readonly failed: number
}
