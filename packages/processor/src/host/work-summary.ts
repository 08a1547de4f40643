import { errorCode, type Clock, type HostSummary } from '@tidemark/contracts'
import { logText } from '@tidemark/contracts/internal'
import type { PumpNotice } from '../feed-processing/pump-events.ts'

const MAX_SUMMARY_BYTES = 1_000
const MAX_MESSAGE = 200
const MAX_CODE = 100
const DURATIONS_OVER_MS = 60_000
/** Of the last batches: enough for a p99. */
const MAX_DURATIONS = 512

/** Sums up what a host's pumps tell, for people. */
export class WorkSummary {
  readonly #host: string
  readonly #clock: Clock
  readonly #sinceMs: number
  #changes = 0
  #batches = 0
  #errors = 0
  #deadLetters = 0
  #isNews = false
  #lastError: HostSummary['lastError']
  /** Until a lease is given up; behind a horizon, until it can be read again. */
  readonly #halted = new Map<string, 'rangeHalted' | 'horizonPassed'>()
  /** Durations of the last batches, in turn over the same places. */
  readonly #durations: { readonly atMs: number; readonly ms: number }[] = []
  #told: { readonly atMs: number; readonly changes: number; readonly isNews: boolean }

  constructor(host: string, clock: Clock) {
    this.#host = host
    this.#clock = clock
    this.#sinceMs = clock.wallMs()
    this.#told = { atMs: clock.monotonicMs(), changes: 0, isNews: true }
  }

  note(leaseId: string, notice: PumpNotice): void {
    switch (notice.kind) {
      case 'batchDone':
        this.#durations[this.#batches % MAX_DURATIONS] = {
          atMs: this.#clock.monotonicMs(),
          ms: notice.durationMs,
        }
        this.#batches += 1
        this.#isNews = true
        this.#changes += notice.changes
        return
      case 'observerError':
      case 'feedError':
      case 'observerStuck':
      case 'deadLetterFailed':
        this.#failed(leaseId, notice.error)
        return
      case 'deadLettered':
        this.#deadLetters += 1
        this.#failed(leaseId, notice.error)
        return
      case 'rangeHalted':
        this.#halts(leaseId, notice.kind)
        return
      case 'horizonPassed':
        if (notice.action === 'halt') this.#halts(leaseId, notice.kind)
        return
      case 'batchRead':
        if (this.#halted.get(leaseId) === 'horizonPassed') this.gone(leaseId)
        return
      default:
        return
    }
  }

  /** The lease is not this host's any more. */
  gone(leaseId: string): void {
    if (this.#halted.delete(leaseId)) this.#isNews = true
  }

  /** What was taken last was not told. */
  notTold(): void {
    this.#isNews = true
  }

  /** Whether there was work or trouble since the last summary, or that one tells of some. */
  get isNews(): boolean {
    return this.#isNews || this.#told.isNews
  }

  /** Of the work until now. */
  take(): HostSummary {
    const nowMs = this.#clock.monotonicMs()
    const passedMs = nowMs - this.#told.atMs
    const changes = this.#changes - this.#told.changes
    this.#told = { atMs: nowMs, changes: this.#changes, isNews: this.#isNews }
    this.#isNews = false
    const halted = [...this.#halted.keys()]
    for (;;) {
      const summary: HostSummary = {
        host: this.#host,
        atMs: this.#clock.wallMs(),
        sinceMs: this.#sinceMs,
        changes: this.#changes,
        batches: this.#batches,
        changesPerS: passedMs > 0 ? Math.round((10_000 * changes) / passedMs) / 10 : 0,
        ...this.#batchMs(nowMs),
        errors: this.#errors,
        deadLetters: this.#deadLetters,
        ...(this.#lastError === undefined ? {} : { lastError: this.#lastError }),
        halted,
      }
      if (halted.length === 0 || bytesOf(summary) <= MAX_SUMMARY_BYTES) {
        return summary
      }
      halted.pop()
    }
  }

  #halts(leaseId: string, why: 'rangeHalted' | 'horizonPassed'): void {
    // A horizon is met again and again.
    if (!this.#halted.has(leaseId)) this.#isNews = true
    this.#halted.set(leaseId, why)
  }

  #failed(leaseId: string, error: unknown): void {
    this.#errors += 1
    this.#isNews = true
    this.#lastError = { atMs: this.#clock.wallMs(), leaseId, ...told(error) }
  }

  #batchMs(nowMs: number): Pick<HostSummary, 'batchMs'> {
    const recent = this.#durations
      .flatMap(({ atMs, ms }) => (nowMs - atMs <= DURATIONS_OVER_MS ? [ms] : []))
      .sort((a, b) => a - b)
    if (recent.length === 0) return {}
    const quantile = (q: number): number =>
      Math.round(10 * (recent[Math.ceil(q * recent.length) - 1] ?? 0)) / 10
    return { batchMs: { p50: quantile(0.5), p99: quantile(0.99) } }
  }
}

function told(error: unknown): { readonly code?: string; readonly message: string } {
  try {
    const text = error instanceof Error ? error.message : String(error)
    const message = logText(text).slice(0, MAX_MESSAGE).toWellFormed()
    const code = errorCode(error)?.slice(0, MAX_CODE).toWellFormed()
    return code === undefined ? { message } : { code, message }
  } catch {
    // Its getters throw.
    return { message: 'an error that cannot be read' }
  }
}

function bytesOf(summary: HostSummary): number {
  return new TextEncoder().encode(JSON.stringify(summary)).length
}
