import type { Clock } from '@tidemark/contracts'
import { runReadyWork } from '../../platform/run-ready-work.ts'
import type { SeededRandom } from './seeded-random.ts'
import { wholeTicks, type Timer, type VirtualTime } from './virtual-time.ts'

/** Wall time at which every simulation begins, epoch ms. */
const START_WALL_MS = 1_767_225_600_000

export type ProcessState = 'running' | 'stopped' | 'dead'

/**
 * One process among several that are simulated in this one. All that comes to it from outside, timers and
 * answers, comes through `enter`: while it is stopped, as by SIGSTOP or a blocked event loop, that waits; once it
 * is dead, as by SIGKILL, nothing happens any more.
 */
export class SimulatedProcess implements Clock {
  readonly name: string
  readonly random: SeededRandom
  readonly #time: VirtualTime
  #state: ProcessState = 'running'
  #timers: ProcessTimer[] = []
  #arrivals: (() => void)[] = []
  #wallOffsetMs = 0
  /** For how long the machine slept: its monotonic clock stood still. */
  #sleptMs = 0
  #asleepSinceMs: number | undefined

  constructor(name: string, { time, random }: { time: VirtualTime; random: SeededRandom }) {
    this.name = name
    this.random = random
    this.#time = time
  }

  get state(): ProcessState {
    return this.#state
  }

  wallMs(): number {
    return START_WALL_MS + this.#time.nowMs + this.#wallOffsetMs
  }

  monotonicMs(): number {
    return (this.#asleepSinceMs ?? this.#time.nowMs) - this.#sleptMs
  }

  sleep(delayMs: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) {
        reject(signal.reason)
        return
      }
      const onAbort = (): void => {
        timer.cancel()
        reject(signal.reason)
      }
      const timer = this.after(delayMs, () => {
        signal.removeEventListener('abort', onAbort)
        resolve()
      })
      signal.addEventListener('abort', onAbort, { once: true })
    })
  }

  /** A timer of this process. */
  after(delayMs: number, happen: () => void): ProcessTimer {
    return new ProcessTimer(this, this.#time, { delayMs, happen })
  }

  /** A timer goes off: it happens now, when the process goes on, or never. */
  ring(timer: ProcessTimer): void {
    if (this.#state === 'running') timer.ring()
    else if (this.#state === 'stopped') this.#timers.push(timer)
  }

  /** Something arrives from outside: at once, when the process goes on, or never. */
  enter(work: () => void): void {
    if (this.#state === 'running') work()
    else if (this.#state === 'stopped') this.#arrivals.push(work)
  }

  /** SIGKILL. */
  kill(): void {
    this.#state = 'dead'
    this.#timers = []
    this.#arrivals = []
  }

  /** SIGSTOP, or an event loop that is blocked. */
  stop(): void {
    if (this.#state === 'running') this.#state = 'stopped'
  }

  /** The whole machine sleeps: its monotonic clock stands still, its wall clock does not. */
  suspend(): void {
    this.stop()
    if (this.#state === 'stopped') this.#asleepSinceMs ??= this.#time.nowMs
  }

  /** SIGCONT. What came meanwhile is seen now: timers first, as an event loop does. */
  resume(): void {
    if (this.#state !== 'stopped') return
    if (this.#asleepSinceMs !== undefined) {
      this.#sleptMs += this.#time.nowMs - this.#asleepSinceMs
      this.#asleepSinceMs = undefined
    }
    this.#state = 'running'
    const timers = this.#timers
    const arrivals = this.#arrivals
    this.#timers = []
    this.#arrivals = []
    for (const timer of timers) {
      timer.ring()
      runReadyWork()
    }
    for (const work of arrivals) {
      work()
      runReadyWork()
    }
  }

  /** Somebody sets the wall clock. */
  jumpWall(byMs: number): void {
    this.#wallOffsetMs += byMs
  }
}

/** A timer by the monotonic clock of one process. */
export class ProcessTimer {
  readonly #process: SimulatedProcess
  readonly #time: VirtualTime
  /** By the clock of the process. */
  readonly #dueMs: number
  #timer: Timer
  /** Undefined once it has happened, or is not to happen any more. */
  #happen: (() => void) | undefined

  constructor(
    process: SimulatedProcess,
    time: VirtualTime,
    { delayMs, happen }: { readonly delayMs: number; readonly happen: () => void },
  ) {
    this.#process = process
    this.#time = time
    this.#dueMs = process.monotonicMs() + wholeTicks(delayMs)
    this.#happen = happen
    this.#timer = time.after(delayMs, () => process.ring(this))
  }

  cancel(): void {
    this.#happen = undefined
    this.#timer.cancel()
  }

  /** Happens, or goes off once more if the machine, and its clock with it, has slept meanwhile. */
  ring(): void {
    const happen = this.#happen
    if (happen === undefined) return
    const restMs = this.#dueMs - this.#process.monotonicMs()
    if (restMs > 0) {
      this.#timer = this.#time.after(restMs, () => this.#process.ring(this))
      return
    }
    this.#happen = undefined
    happen()
  }
}
