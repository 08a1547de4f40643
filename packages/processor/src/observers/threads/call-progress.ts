/** How often a host looks, and is told, how far a call has come. */
export const LOOK_MS = 10

/**
 * How far one call in a thread has come. In shared memory: a thread that computes sees there that it is to stop, and what it has
 * accepted outlives it.
 */
export class CallProgress {
  readonly cell: ProgressCell

  /** In the thread: of what the host sent. */
  constructor(
    cell: ProgressCell = new Int32Array(
      new SharedArrayBuffer(FIELDS * Int32Array.BYTES_PER_ELEMENT),
    ),
  ) {
    this.cell = cell
  }

  /** Of the call's changes, from the first one on. */
  get accepted(): number {
    return Atomics.load(this.cell, ACCEPTED)
  }

  set accepted(count: number) {
    Atomics.store(this.cell, ACCEPTED, count)
  }

  /** The observer is to go no further. */
  get isStopped(): boolean {
    return Atomics.load(this.cell, STOPPED) === 1
  }

  stop(): void {
    Atomics.store(this.cell, STOPPED, 1)
  }

  /** The observer was told that it is to go no further: what it accepted is all that it did. */
  get isHeeded(): boolean {
    return Atomics.load(this.cell, HEEDED) === 1
  }

  /** In the thread, with each change that is accepted. Whether the observer is to go on. */
  goesOn(): boolean {
    if (!this.isStopped) return true
    Atomics.store(this.cell, HEEDED, 1)
    return false
  }

  /** The observer takes one change after the other. */
  get isOneByOne(): boolean {
    return Atomics.load(this.cell, ONE_BY_ONE) === 1
  }

  isOfOneByOne(): void {
    Atomics.store(this.cell, ONE_BY_ONE, 1)
  }
}

export type ProgressCell = Int32Array<SharedArrayBuffer>

const ACCEPTED = 0
const STOPPED = 1
const ONE_BY_ONE = 2
const HEEDED = 3
const FIELDS = 4
