import { describeValue } from '@tidemark/contracts/internal'
import type { EntityKind, EntitySettings } from '@tidemark/store/messages'
import { formatDuration, readDuration } from './duration.ts'
import type { ResolvedNamespace } from './namespace.ts'
import type { QueueOptions, SubscriptionOptions } from './options.ts'

/** The options of all kinds of entities. */
export interface AnyEntityOptions extends QueueOptions, Omit<SubscriptionOptions, 'rules'> {
  /** See `EntitySettings`. What is not named stays. */
  readonly shown?: EntitySettings['shown']
}

/** Says what is wrong with an option: the text stands behind its name. */
export type Report = (option: keyof AnyEntityOptions, problem: string) => void

export interface SettingsPlace {
  readonly kind: Exclude<EntityKind, 'deadLetter'>
  readonly path: string
  readonly namespace: ResolvedNamespace
  /** Of an entity that exists. What is not given stays as it is. */
  readonly current: EntitySettings | undefined
  readonly report: Report
}

const DAY_MS = 86_400_000
const BASIC_TTL_MS = 14 * DAY_MS
const MAX_LOCK_MS = 300_000
const MAX_DUPLICATE_WINDOW_MS = 7 * DAY_MS
export const DEFAULT_DUPLICATE_WINDOW_MS = 600_000
export const MEGABYTE: number = 1024 * 1024
export const KILOBYTE = 1024
/** 1 TiB. */
const MAX_MEGABYTES = 1024 * 1024
/** The service's bound for its tier Premium. */
const MAX_MESSAGE_KILOBYTES = 100 * 1024
const MAX_DELIVERY_COUNT = 2 ** 31 - 1
const MAX_METADATA_CHARACTERS = 1024

/** Settings with every default. Types and names of the options have been checked; this checks their values. */
export function readSettings(options: AnyEntityOptions, place: SettingsPlace): EntitySettings {
  const { namespace, report, kind } = place
  const { limits } = namespace
  const current = place.current ?? defaultSettings(kind, namespace)
  const values = new OptionValues(options, report)
  const isBasic = namespace.tier === 'Basic'
  const settings: EntitySettings = {
    lockDurationMs:
      values.duration('lockDuration', current.lockDurationMs, {
        minMs: limits.minLockDurationMs,
        maxMs: MAX_LOCK_MS,
      }) ?? current.lockDurationMs,
    maxDeliveryCount: values.integer('maxDeliveryCount', current.maxDeliveryCount, {
      max: MAX_DELIVERY_COUNT,
    }),
    defaultTtlMs:
      values.duration('defaultMessageTimeToLive', current.defaultTtlMs, {
        minMs: 1,
        ...(isBasic ? { maxMs: BASIC_TTL_MS, neverMs: BASIC_TTL_MS } : {}),
      }) ?? (isBasic ? BASIC_TTL_MS : undefined),
    deadLettersExpired: options.deadLetteringOnMessageExpiration ?? current.deadLettersExpired,
    expiresAlways:
      options.expires === undefined ? current.expiresAlways : options.expires === 'always',
    deadLettersFilterErrors:
      options.deadLetteringOnFilterEvaluationExceptions ?? current.deadLettersFilterErrors,
    requiresSession: options.requiresSession ?? current.requiresSession,
    duplicateWindowMs: readDuplicateWindow(options, current, place),
    autoDeleteOnIdleMs: values.duration('autoDeleteOnIdle', current.autoDeleteOnIdleMs, {
      minMs: limits.minAutoDeleteOnIdleMs,
    }),
    forwardTo: values.path('forwardTo', current.forwardTo),
    forwardDeadLettersTo: values.path(
      'forwardDeadLetteredMessagesTo',
      current.forwardDeadLettersTo,
    ),
    maxBytes:
      MEGABYTE *
      values.integer('maxSizeInMegabytes', current.maxBytes / MEGABYTE, { max: MAX_MEGABYTES }),
    maxMessageBytes:
      KILOBYTE *
      values.integer('maxMessageSizeInKilobytes', current.maxMessageBytes / KILOBYTE, {
        max: MAX_MESSAGE_KILOBYTES,
      }),
    status: options.status ?? current.status,
    userMetadata: values.metadata(current.userMetadata),
    shown: options.shown === undefined ? current.shown : { ...current.shown, ...options.shown },
  }
  reportContradictions(settings, place)
  return settings
}

function defaultSettings(
  kind: SettingsPlace['kind'],
  namespace: ResolvedNamespace,
): EntitySettings {
  return {
    lockDurationMs: 60_000,
    maxDeliveryCount: 10,
    defaultTtlMs: namespace.tier === 'Basic' ? BASIC_TTL_MS : undefined,
    deadLettersExpired: false,
    deadLettersFilterErrors: kind === 'subscription',
    requiresSession: false,
    duplicateWindowMs: undefined,
    autoDeleteOnIdleMs: undefined,
    forwardTo: undefined,
    forwardDeadLettersTo: undefined,
    maxBytes: 1024 * MEGABYTE,
    maxMessageBytes: 1024 * KILOBYTE,
    status: 'Active',
    userMetadata: '',
  }
}

/** As it is given. */
export function expiresOf({ expiresAlways }: EntitySettings): 'always' | 'whileListening' {
  return expiresAlways === true ? 'always' : 'whileListening'
}

/** The window may be given without detection, as the files of the official emulator do; then it means nothing. */
function readDuplicateWindow(
  options: AnyEntityOptions,
  current: EntitySettings,
  { namespace, report }: SettingsPlace,
): number | undefined {
  const isOn = options.requiresDuplicateDetection ?? current.duplicateWindowMs !== undefined
  const windowMs = new OptionValues(options, report).duration(
    'duplicateDetectionHistoryTimeWindow',
    current.duplicateWindowMs ?? DEFAULT_DUPLICATE_WINDOW_MS,
    { minMs: namespace.limits.minDuplicateWindowMs, maxMs: MAX_DUPLICATE_WINDOW_MS },
  )
  return isOn ? windowMs : undefined
}

function reportContradictions(settings: EntitySettings, { current, report }: SettingsPlace): void {
  if (current !== undefined) {
    if (settings.requiresSession !== current.requiresSession) {
      report('requiresSession', 'cannot change after creation')
    }
    const isDetecting = settings.duplicateWindowMs !== undefined
    if (isDetecting !== (current.duplicateWindowMs !== undefined)) {
      report('requiresDuplicateDetection', 'cannot change after creation')
    }
  }
  const { forwardTo, requiresSession } = settings
  if (forwardTo !== undefined && requiresSession) {
    report('forwardTo', 'cannot stand beside requiresSession: true')
  }
}

type DurationOption =
  | 'autoDeleteOnIdle'
  | 'defaultMessageTimeToLive'
  | 'duplicateDetectionHistoryTimeWindow'
  | 'lockDuration'
type IntegerOption = 'maxDeliveryCount' | 'maxMessageSizeInKilobytes' | 'maxSizeInMegabytes'

class OptionValues {
  readonly #options: AnyEntityOptions
  readonly #report: Report

  constructor(options: AnyEntityOptions, report: Report) {
    this.#options = options
    this.#report = report
  }

  /** Undefined: never. `neverMs`: what never is read as. */
  duration(
    name: DurationOption,
    currentMs: number | undefined,
    bounds: {
      readonly minMs: number
      readonly maxMs?: number | undefined
      readonly neverMs?: number | undefined
    },
  ): number | undefined {
    const given = this.#options[name]
    if (given === undefined) return currentMs
    const read = readDuration(given)
    if ('problem' in read) {
      this.#report(name, read.problem)
      return currentMs
    }
    const { minMs, maxMs, neverMs } = bounds
    const ms = read.ms ?? neverMs
    if ((ms ?? minMs) >= minMs && (ms ?? Infinity) <= (maxMs ?? Infinity)) return ms
    const range =
      maxMs === undefined
        ? `at least ${formatDuration(minMs)}`
        : `${formatDuration(minMs)} to ${formatDuration(maxMs)}`
    this.#report(name, `must be ${range}, got ${describeValue(given)}`)
    return currentMs
  }

  /** From 1 up. */
  integer(name: IntegerOption, current: number, { max }: { readonly max: number }): number {
    const given = this.#options[name]
    if (given === undefined) return current
    if (Number.isInteger(given) && given >= 1 && given <= max) return given
    this.#report(name, `must be an integer from 1 to ${max}, got ${given}`)
    return current
  }

  /** An empty text means none. */
  path(
    name: 'forwardTo' | 'forwardDeadLetteredMessagesTo',
    current: string | undefined,
  ): string | undefined {
    const given = this.#options[name] ?? current
    return given === '' ? undefined : given
  }

  metadata(current: string): string {
    const given = this.#options.userMetadata ?? current
    if (given.length <= MAX_METADATA_CHARACTERS) return given
    this.#report(
      'userMetadata',
      `must have at most ${MAX_METADATA_CHARACTERS} characters, got ${given.length}`,
    )
    return current
  }
}
