import { errorCode, type Clock, type Logger } from '@tidemark/contracts'
import { describeError, LimitedLog } from '@tidemark/contracts/internal'
import { damageText } from '../lease-stores/lease-set-damage.ts'
import type { HostEventName, HostEvents } from './host-events.ts'

export interface HostLogOptions {
  readonly logger: Logger
  readonly hostName: string
  readonly group: string
  readonly clock: Clock
}

/** Tells a logger of the events of a host that are worth a line. */
export class HostLog {
  readonly #log: LimitedLog

  constructor({ logger, hostName: host, group, clock }: HostLogOptions) {
    this.#log = new LimitedLog(logger, { clock, fields: { group, host } })
  }

  tell<Name extends HostEventName>(name: Name, event: HostEvents[Name]): void {
    if (!TOLD.has(name)) return
    for (const [level, lines] of LINES) {
      const message = lines[name]?.(event)
      if (message === undefined) continue
      this.#log.write({ level, event: name, message, fields: fieldsOf(event) })
    }
    if (name === 'stopped') this.#log.end()
  }

  listenerFailed(name: HostEventName, error: unknown): void {
    const message = `a listener of ${name} threw: ${describeError(error)}`
    const fields = fieldsOf({ error })
    this.#log.write({ level: 'error', event: `listener ${name}`, message, fields })
  }
}

/** By what a log is filtered, as far as the event has it. */
function fieldsOf(event: object): Record<string, unknown> {
  const { leaseId, epoch, lsn, attempt, attempts, error } = event as Partial<
    Record<'leaseId' | 'epoch' | 'lsn' | 'attempt' | 'attempts' | 'error', unknown>
  >
  const fields = { range: leaseId, epoch, lsn, attempt: attempt ?? attempts, code: codeOf(error) }
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
}

function codeOf(error: unknown): string | undefined {
  try {
    return errorCode(error)
  } catch {
    // Its getters throw.
    return undefined
  }
}

type Lines = { readonly [Name in HostEventName]?: (event: HostEvents[Name]) => string | undefined }

const WARNINGS: Lines = {
  batchAborted: ({ leaseId, changes, reason, inFlightMs }) =>
    `a call of lease ${leaseId} was aborted after ${Math.round(inFlightMs)} ms (${reason}): its ${changes} changes that were not accepted come again`,
  deletesUnseen: ({ feed }) =>
    `this group reads the newest version of each document of ${feed}: versions in between and deletes do not come. ` +
    "If you mean that, set feedOptions.mode to 'latestVersion'; else to 'allVersions', and turn on allVersions of the collection",
  leaseLost: ({ leaseId, cause }) => `lost lease ${leaseId}: ${LOSSES[cause]}`,
  leaseStoreDurability: ({ level, findings, unbounded = [] }) => {
    if (level === 'D') return `the lease store keeps nothing after a crash: ${findings.join('; ')}`
    if (unbounded.length === 0) return undefined
    return `the lease store may lose minutes, which are then repeated: ${unbounded.join('; ')}`
  },
  feedError: ({ leaseId, attempt, retryInMs, error }) =>
    `cannot read the feed of lease ${leaseId}${trying(attempt, retryInMs)}: ${describeError(error)}${moving(error)}`,
  leaseFenced: ({ leaseId, error }) =>
    `a sink refused lease ${leaseId}, because it has seen a newer owner: ${describeError(error)}`,
  positionReportFailed: ({ attempt, error }) =>
    attempt === 1
      ? undefined
      : `cannot report the group's positions to the feed${trying(attempt)}: ${describeError(error)}`,
  leaseStoreUnavailable: ({ operation, error }) =>
    `the lease store failed at ${operation}, the host retries: ${describeError(error)}`,
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
    `the observer failed in ${phase} of lease ${leaseId}${trying(attempt, retryInMs)}: ${describeError(error)}`,
  deadLettered: ({ leaseId, id, attempts, letterId, error }) =>
    `document ${id} of lease ${leaseId} failed ${attempts} times and is now dead letter ${letterId}: ${describeError(error)}`,
  deadLetterFailed: ({ leaseId, attempt, retryInMs, error }) =>
    `cannot store, fetch or settle a dead letter of lease ${leaseId}${trying(attempt, retryInMs)}: ${describeError(error)}`,
  deadLettersSuspended: ({ leaseId, consecutive, lsn }) =>
    `${consecutive} dead letters of lease ${leaseId} in a row: the change at LSN ${lsn} is retried until it succeeds`,
  rangeHalted: ({ leaseId, attempts, lsn, error }) =>
    `lease ${leaseId} is halted at LSN ${lsn} after ${attempts} attempts, until it is released: ${describeError(error)}`,
  observerStuck: ({ leaseId, inFlightMs }) =>
    `a call of lease ${leaseId} hangs (${Math.round(inFlightMs)} ms): it is aborted, and its lease moves to another host`,
  observerThreadEnded: ({ error, leaseIds }) =>
    leaseIds.length === 0
      ? undefined
      : `an observer thread with leases ${leaseIds.join(', ')} ended, another one continues: ${describeError(error)}`,
  horizonPassed: ({ leaseId, action, error }) =>
    `${action === 'halt' ? `lease ${leaseId} has stopped` : `lease ${leaseId} starts over`}: ${describeError(error)}`,
  leaseStoreLost: ({ action }) =>
    `the lease store has lost its data: ${action === 'recover' ? 'leases are created again at the positions that the feed has' : 'the host stops'}`,
  leasesDamaged: ({ action, ...damage }) =>
    `leases were deleted or overwritten from outside (${damageText(damage)}): ${action === 'recover' ? 'all are created again' : 'the host stops'}`,
  stopped: ({ error }) =>
    error === undefined ? undefined : `the host stopped: ${describeError(error)}`,
}

const INFORMATION: Lines = {
  joined: ({ incarnation }) => `joined the group as ${incarnation}`,
  leaseStoreRecovered: ({ operation }) => `the lease store answers again, at ${operation}`,
  recovered: ({ leases, byThisHost }) =>
    `the group has its leases again (${leases.length}${byThisHost ? ', created by this host' : ''})`,
  stopped: ({ error }) => (error === undefined ? 'stopped' : undefined),
}

const DETAILS: Lines = {
  leaseAcquired: ({ leaseId, lsn }) => `acquired lease ${leaseId} at LSN ${lsn}`,
  leaseReleased: ({ leaseId, reason }) => `released lease ${leaseId} (${reason})`,
  rangeReplaced: ({ leaseId, next }) =>
    `the range of lease ${leaseId} was split or merged: ${next.length} leases replace it`,
  leaseCut: ({ leaseId, next }) => `lease ${leaseId} was cut into ${next.length}`,
  leasesJoined: ({ leaseId, old }) => `${old.length} leases were joined to ${leaseId}`,
  rebalanced: ({ hosts, leases, mine }) =>
    `a new plan for ${hosts} hosts and ${leases} leases gives this host ${mine}`,
}

const LINES = [
  ['warn', WARNINGS],
  ['error', ERRORS],
  ['info', INFORMATION],
  ['debug', DETAILS],
] as const

const TOLD: ReadonlySet<string> = new Set(LINES.flatMap(([, lines]) => Object.keys(lines)))

const LOSSES: Readonly<Record<HostEvents['leaseLost']['cause'], string>> = {
  fenced: 'its session is over, another host may have it and repeat the last batch',
  checkpointRefused: 'a position was refused, another host has it and may repeat the last batch',
  takenOver: 'another host has it, and may repeat the last batch',
  stopped: 'the host ended before it was released',
}

/** What an operator can do about a position that does not fit the collection, or is of one that is gone. */
function moving(error: unknown): string {
  const code = errorCode(error)
  if (code !== 'ERR_INVALID_CONTINUATION' && code !== 'ERR_NOT_FOUND') return ''
  const when = code === 'ERR_NOT_FOUND' ? ' once the collection is there again' : ''
  return (
    `; to start the group again${when}, run "tidemark leases reset", or start its hosts with a new token in ` +
    'hostOptions.discardExistingLeases'
  )
}

function trying(attempt: number, retryInMs?: number): string {
  const next = retryInMs === undefined ? '' : `, again in ${Math.round(retryInMs)} ms`
  return ` (attempt ${attempt}${next})`
}
