import type { FaultProcessTask } from '../fault-process.ts'
import type { LeasePlace } from './lease-place.ts'

/** What an observer does with a batch, besides noting it. */
export type Behaviour =
  /** Takes up to so long. */
  | { readonly kind: 'steady'; readonly maxMs: number }
  /** Takes as long for each batch. */
  | { readonly kind: 'slow'; readonly ms: number }
  /** Does half of every third batch, then throws. */
  | { readonly kind: 'throwing' }
  /** The next batch is never done. `obedient`: until it is aborted. `deaf`: never at all. */
  | { readonly kind: 'hanging'; readonly abort: 'obedient' | 'deaf' }

export interface WorkerTask extends FaultProcessTask {
  readonly hostName: string
  /** Of the store. */
  readonly folder: string
  readonly leases: LeasePlace
  readonly renewMs: number
  readonly expirationMs: number
  readonly maxItemCount: number
  /** How long a batch in flight may take when the host stops or hands over, and then when it was aborted. */
  readonly drainMs: number
  readonly graceMs: number
  readonly behaviour: Behaviour
  /** A call that takes longer is taken for one that never returns. @default the host's */
  readonly maxBatchMs?: number | undefined
}

/** What a worker can be told while it runs. */
export type WorkerOrder =
  /** Block the event loop. */
  | { readonly kind: 'block'; readonly ms: number }
  | { readonly kind: 'behave'; readonly behaviour: Behaviour }
  /** Stop the host, as a process would that ends, and note `left`. */
  | { readonly kind: 'leave' }
  /** Start another host of the same name, and note `registered`. */
  | { readonly kind: 'join' }
  /** Set the clock of the lease store, as the worker has it, and note `clockSet`. */
  | { readonly kind: 'stepClock'; readonly byMs: number }
  /** Answer with a `WorkerSample`. */
  | { readonly kind: 'sample' }

/** What a worker holds, after a collection of its garbage. */
export interface WorkerSample {
  readonly heapBytes: number
  readonly residentBytes: number
  /** Timers, sockets, requests and whatever else keeps an event loop busy. */
  readonly resources: number
}
