/** Values for programs that filter a log, such as `group`, `host`, `range`, `lsn`, `attempt`, `code`. Never documents or keys. */
export type LogFields = Readonly<Record<string, unknown>>

/**
 * Gets what is worth a line, as loggers of pino and bunyan do: fields first, then the text. What it throws is ignored.
 *
 * `console` works as it stands, and prints the fields as an object. For one line of text each, and for loggers that take a
 * text, such as winston's: `textLogger((line, level) => console[level](line))`.
 */
export interface Logger {
  /** For finding a fault: leases that come and go. */
  debug(fields: LogFields, message: string): void
  /** What an operator may want to know later: a host that joined, a store that is back. */
  info(fields: LogFields, message: string): void
  /** It recovers without help. */
  warn(fields: LogFields, message: string): void
  /** A change, a range, a request or the host cannot continue, or not yet. */
  error(fields: LogFields, message: string): void
}

/** A method of `Logger`. */
export type LogLevel = keyof Logger

/** From the least urgent on. */
export const LOG_LEVELS: readonly LogLevel[] = ['debug', 'info', 'warn', 'error']
