import { errorCode, hideCredentials, type Clock } from '@tidemark/contracts'
import { damageText } from '../lease-stores/lease-set-damage.ts'
import type { HostEventName, HostEvents } from './host-events.ts'

/**
 * Gets the trouble of a host, one line per call. `console` fits, and so do loggers of pino, winston and others that take
 * a text. What it throws is ignored.
 */
export interface HostLogger {
  /** The host recovers without help. */
  warn(line: string): void
  /** A change, a range or the host cannot continue, or not yet. */
  error(line: string): void
}

export interface HostLogOptions {
  readonly logger: HostLogger
  readonly hostName: string
  readonly group: string
  readonly clock: Clock
}

/** At most one line of an event in this time: a range that fails tells so several times a second. */
const INTERVAL_MS = 10_000
/** Messages of errors may hold documents. */
const MAX_LINE = 2_000
const MAX_CAUSES = 3

/** Tells the events that mean trouble, and how many it held back. */
export class HostLog {
  readonly #options: HostLogOptions
  /** Of each event: when a line was written, and how many were held back since. */
  readonly #told = new Map<string, { readonly atMs: number; heldBack: number }>()

  constructor(options: HostLogOptions) {
    this.#options = options
  }

  tell<Name extends HostEventName>(name: Name, event: HostEvents[Name]): void {
    const warning = WARNINGS[name]?.(event)
    if (warning !== undefined) this.#write('warn', name, warning)
    const error = ERRORS[name]?.(event)
    if (error !== undefined) this.#write('error', name, error)
    if (name === 'stopped') this.#tellHeldBack()
  }

  listenerFailed(name: HostEventName, error: unknown): void {
    this.#write('error', `listener ${name}`, `a listener of ${name} threw: ${describe(error)}`)
  }

  #write(level: keyof HostLogger, name: string, text: string): void {
    const nowMs = this.#options.clock.monotonicMs()
    const last = this.#told.get(name)
    if (last !== undefined && nowMs - last.atMs < INTERVAL_MS) {
      last.heldBack += 1
      return
    }
    this.#told.set(name, { atMs: nowMs, heldBack: 0 })
    const heldBack = last?.heldBack ?? 0
    this.#line(level, heldBack === 0 ? text : `${text} [${name}: ${heldBack} more suppressed]`)
  }

  #tellHeldBack(): void {
    const counts = [...this.#told].filter(([, { heldBack }]) => heldBack > 0)
    if (counts.length === 0) return
    const list = counts.map(([name, { heldBack }]) => `${name} ${heldBack}`).join(', ')
    this.#line('warn', `suppressed before the end: ${list}`)
  }

  #line(level: keyof HostLogger, text: string): void {
    const { logger, hostName, group } = this.#options
    const whole = `tidemark: host ${hostName}, group ${group}: ${text}`
    // Cut before and after: a search in a whole document would take long, and a cut password is not found.
    const told = hideCredentials(whole.slice(0, 2 * MAX_LINE))
    // Control characters would end the line, or drive the terminal.
    const line = told.replaceAll(/\p{Cc}+\s*/gu, ' ')
    try {
      logger[level](line.length > MAX_LINE ? `${line.slice(0, MAX_LINE)}…` : line)
    } catch {
      // Work goes on without its log.
    }
  }
}

type Lines = { readonly [Name in HostEventName]?: (event: HostEvents[Name]) => string | undefined }

const WARNINGS: Lines = {
  leaseStoreDurability: ({ level, findings }) =>
    level === 'D'
      ? `the lease store keeps nothing after a crash: ${findings.join('; ')}`
      : undefined,
  feedError: ({ leaseId, attempt, retryInMs, error }) =>
    `cannot read the feed of lease ${leaseId}${trying(attempt, retryInMs)}: ${describe(error)}`,
  leaseFenced: ({ leaseId, error }) =>
    `a sink refused lease ${leaseId}, because it has seen a newer owner: ${describe(error)}`,
  positionReportFailed: ({ attempt, error }) =>
    attempt === 1
      ? undefined
      : `cannot report the group's positions to the feed${trying(attempt)}: ${describe(error)}`,
  leaseStoreUnavailable: ({ operation, error }) =>
    `the lease store failed at ${operation}, the host retries: ${describe(error)}`,
  unownedRanges: ({ leaseIds }) =>
    leaseIds.length === 0
      ? undefined
      : `no host can take leases ${leaseIds.join(', ')}: all are at maxPartitionCount`,
  fenced: ({ cause }) =>
    cause === 'deadlinePassed'
      ? 'could not renew its session in time: closing observers, then joining again'
      : 'its session is gone from the lease store: closing observers, then joining again',
}

const ERRORS: Lines = {
  observerError: ({ leaseId, phase, attempt, retryInMs, error }) =>
    `the observer failed in ${phase} of lease ${leaseId}${trying(attempt, retryInMs)}: ${describe(error)}`,
  deadLettered: ({ leaseId, id, attempts, letterId, error }) =>
    `document ${id} of lease ${leaseId} failed ${attempts} times and is now dead letter ${letterId}: ${describe(error)}`,
  deadLetterFailed: ({ leaseId, attempt, retryInMs, error }) =>
    `cannot store, fetch or settle a dead letter of lease ${leaseId}${trying(attempt, retryInMs)}: ${describe(error)}`,
  deadLettersSuspended: ({ leaseId, consecutive, lsn }) =>
    `${consecutive} dead letters of lease ${leaseId} in a row: the change at LSN ${lsn} is retried until it succeeds`,
  rangeHalted: ({ leaseId, attempts, lsn, error }) =>
    `lease ${leaseId} is halted at LSN ${lsn} after ${attempts} attempts, until it is released: ${describe(error)}`,
  observerStuck: ({ leaseId, inFlightMs }) =>
    `a call of lease ${leaseId} hangs (${Math.round(inFlightMs)} ms): it is aborted, and its lease moves to another host`,
  observerThreadEnded: ({ error, leaseIds }) =>
    leaseIds.length === 0
      ? undefined
      : `an observer thread with leases ${leaseIds.join(', ')} ended, another one continues: ${describe(error)}`,
  horizonPassed: ({ leaseId, action, error }) =>
    `${action === 'halt' ? `lease ${leaseId} has stopped` : `lease ${leaseId} starts over`}: ${describe(error)}`,
  leaseStoreLost: ({ action }) =>
    `the lease store has lost its data: ${action === 'recover' ? 'leases are created again at the positions that the feed has' : 'the host stops'}`,
  leasesDamaged: ({ action, ...damage }) =>
    `leases were deleted or overwritten from outside (${damageText(damage)}): ${action === 'recover' ? 'all are created again' : 'the host stops'}`,
  stopped: ({ error }) =>
    error === undefined ? undefined : `the host stopped: ${describe(error)}`,
}

function trying(attempt: number, retryInMs?: number): string {
  const next = retryInMs === undefined ? '' : `, again in ${Math.round(retryInMs)} ms`
  return ` (attempt ${attempt}${next})`
}

/** Code or name, message, where it was thrown unless it is one of ours, and causes. */
function describe(error: unknown): string {
  try {
    return description(error, 0)
  } catch {
    // Its getters throw.
    return 'an error that cannot be read'
  }
}

function description(error: unknown, causes: number): string {
  if (!(error instanceof Error)) return String(error)
  const code = errorCode(error)
  const place = code === undefined ? /^ +at (.+)$/m.exec(error.stack ?? '')?.[1] : undefined
  const text = `${code ?? error.name}: ${error.message}${place === undefined ? '' : ` (at ${place})`}`
  if (error.cause === undefined || causes === MAX_CAUSES) return text
  return `${text}; caused by ${description(error.cause, causes + 1)}`
}
