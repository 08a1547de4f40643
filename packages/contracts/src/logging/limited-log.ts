import type { Clock } from '../clock.ts'
import { logText } from './log-text.ts'
import type { LogFields, Logger, LogLevel } from './logger.ts'

/** At most one warning or error of a kind in this time: a range that fails tells so several times a second. */
const INTERVAL_MS = 10_000

export interface LogEntry {
  readonly level: LogLevel
  /** One of few. */
  readonly event: string
  /** What lines are counted by: also one of few. @default the event */
  readonly kind?: string | undefined
  readonly message: string
  readonly fields?: LogFields | undefined
}

/** Tells a logger of trouble without flooding it, and how much it held back. */
export class LimitedLog {
  readonly #logger: Logger
  readonly #clock: Clock
  readonly #fields: LogFields
  /** Of each kind: when a line was written, and how many were held back since. */
  readonly #told = new Map<string, { readonly atMs: number; heldBack: number }>()

  /** `fields` are those of every line. */
  constructor(logger: Logger, { clock, fields = {} }: { clock: Clock; fields?: LogFields }) {
    this.#logger = logger
    this.#clock = clock
    this.#fields = fields
  }

  write(entry: LogEntry): void {
    if (entry.level === 'debug' || entry.level === 'info') {
      this.#line(entry)
      return
    }
    const { event, kind = event, message, fields } = entry
    const nowMs = this.#clock.monotonicMs()
    const last = this.#told.get(kind)
    if (last !== undefined && nowMs - last.atMs < INTERVAL_MS) {
      last.heldBack += 1
      return
    }
    this.#told.set(kind, { atMs: nowMs, heldBack: 0 })
    const suppressed = last?.heldBack ?? 0
    if (suppressed === 0) this.#line(entry)
    else {
      this.#line({
        ...entry,
        message: `${message} [${kind}: ${suppressed} more suppressed]`,
        fields: { ...fields, suppressed },
      })
    }
  }

  /** Tells what was held back and had no later line. */
  end(): void {
    const counts = [...this.#told].filter(([, { heldBack }]) => heldBack > 0)
    if (counts.length === 0) return
    this.#told.clear()
    const list = counts.map(([kind, { heldBack }]) => `${kind} ${heldBack}`).join(', ')
    const suppressed = Object.fromEntries(counts.map(([kind, { heldBack }]) => [kind, heldBack]))
    const message = `suppressed before the end: ${list}`
    this.#line({ level: 'warn', event: 'suppressed', message, fields: { suppressed } })
  }

  #line({ level, event, message, fields }: LogEntry): void {
    try {
      this.#logger[level]({ ...this.#fields, event, ...fields }, logText(message))
    } catch {
      // Work goes on without its log.
    }
  }
}
