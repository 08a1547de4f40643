import assert from 'node:assert/strict'
import type { Clock } from '@tidemark/contracts'
import { settle } from './platform/settle.ts'

interface Sleeper {
  readonly dueMs: number
  readonly order: number
  readonly wake: () => void
}

export interface SimulatedClockOptions {
  /** Wall time at the start, epoch ms. @range any number @default 2026-01-01T00:00:00Z */
  startWallMs?: number | undefined
  /** Rounds of ready work that are awaited after each sleeper woke. @range 0 or more @default 1 */
  settleTurns?: number | undefined
  /** Awaited after each sleeper woke. @default `settleTurns` rounds of ready work */
  settled?: (() => Promise<void>) | undefined
}

/**
 * A clock whose time passes only when the test says so. Sleepers wake one by one, in the order of
 * their due times (ties: in the order in which they went to sleep), and what each of them causes has
 * run before the next one wakes. So a test with this clock takes no time and is the same every time.
 */
export class SimulatedClock implements Clock {
  readonly #startWallMs: number
  readonly #settled: () => Promise<void>
  #nowMs = 0
  #wallOffsetMs = 0
  #order = 0
  #sleepers: Sleeper[] = []

  constructor({
    startWallMs = 1_767_225_600_000,
    settleTurns = 1,
    settled = () => settle(settleTurns),
  }: SimulatedClockOptions = {}) {
    this.#startWallMs = startWallMs
    this.#settled = settled
  }

  wallMs(): number {
    return this.#startWallMs + this.#nowMs + this.#wallOffsetMs
  }

  monotonicMs(): number {
    return this.#nowMs
  }

  sleep(delayMs: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) {
        reject(signal.reason)
        return
      }
      const onAbort = (): void => {
        this.#sleepers = this.#sleepers.filter((other) => other !== sleeper)
        reject(signal.reason)
      }
      const sleeper: Sleeper = {
        dueMs: this.#nowMs + Math.max(0, delayMs),
        order: this.#order++,
        wake: () => {
          signal.removeEventListener('abort', onAbort)
          resolve()
        },
      }
      signal.addEventListener('abort', onAbort, { once: true })
      this.#sleepers.push(sleeper)
    })
  }

  /** How many sleep now. */
  get sleeping(): number {
    return this.#sleepers.length
  }

  /** Lets `durationMs` pass, waking sleepers on the way, also those that go to sleep meanwhile. */
  async advance(durationMs: number): Promise<void> {
    assert(durationMs >= 0, `time does not go back: ${durationMs}`)
    const endMs = this.#nowMs + durationMs
    await this.#settled()
    for (;;) {
      const next = this.#takeNext(endMs)
      if (next === undefined) break
      this.#nowMs = Math.max(this.#nowMs, next.dueMs)
      next.wake()
      await this.#settled()
    }
    this.#nowMs = Math.max(this.#nowMs, endMs)
  }

  /**
   * Advances in steps until `condition` holds; says whether it did within `limitMs`.
   * The step bounds by how much the time at return may be late.
   */
  async advanceUntil(
    condition: () => boolean,
    { limitMs, stepMs = 10 }: { limitMs: number; stepMs?: number },
  ): Promise<boolean> {
    const endMs = this.#nowMs + limitMs
    await this.#settled()
    while (!condition()) {
      if (this.#nowMs >= endMs) return false
      await this.advance(Math.min(stepMs, endMs - this.#nowMs))
    }
    return true
  }

  /** Time passes and nobody notices, as when the event loop is blocked: sleepers wake late, later. */
  stall(durationMs: number): void {
    assert(durationMs >= 0, `time does not go back: ${durationMs}`)
    this.#nowMs += durationMs
  }

  /** The wall clock jumps, as when someone sets it. The monotonic time stays. */
  jumpWall(byMs: number): void {
    this.#wallOffsetMs += byMs
  }

  #takeNext(endMs: number): Sleeper | undefined {
    let next: Sleeper | undefined
    for (const sleeper of this.#sleepers) {
      if (sleeper.dueMs > endMs) continue
      if (
        next === undefined ||
        sleeper.dueMs < next.dueMs ||
        (sleeper.dueMs === next.dueMs && sleeper.order < next.order)
      ) {
        next = sleeper
      }
    }
    if (next !== undefined) this.#sleepers = this.#sleepers.filter((other) => other !== next)
    return next
  }
}
