export interface SleepOptions {
  /** `background`: this sleep alone does not keep the process alive. @default 'foreground' */
  readonly purpose?: 'foreground' | 'background' | undefined
}

/** Time, passed in, so that the shipped code itself runs under a simulated clock. */
export interface Clock {
  /** Wall time, ms since the Unix epoch. May jump. Only for values that leave the process (`_ts`). */
  wallMs(): number
  /** Monotonic time in ms. For intervals, deadlines, back-off. */
  monotonicMs(): number
  /** Resolves after `delayMs`; rejects with `signal.reason` when aborted. */
  sleep(delayMs: number, signal: AbortSignal, options?: SleepOptions): Promise<void>
}
