import { InvalidOptionError } from '@tidemark/contracts'
import {
  checkOptions,
  describeValue,
  optionGroup,
  optionOf,
  optionRule,
  type OptionRule,
  type OptionRules,
} from '@tidemark/contracts/internal'
import { formatDuration, readDuration, type Duration } from './duration.ts'

/** Of a namespace: what its configuration has beside entities. */
export interface NamespaceOptions {
  /** Basic: default and maximum TTL are 14 days, and there are no topics. @default 'Standard' */
  readonly tier?: 'Basic' | 'Standard' | 'Premium' | undefined
  /** `CanNotDelete`: entities cannot be deleted by call; idle ones still delete themselves (TMP-03). @default none */
  readonly resourceLock?: 'CanNotDelete' | undefined
  /** Lower bounds of durations, to make tests fast. */
  readonly limits?: NamespaceLimits | undefined
}

/** Limits can be lowered, not raised. */
export interface NamespaceLimits {
  /** Lower bound of `autoDeleteOnIdle`. @unit ISO 8601 duration, or ms @range PT0.001S to PT5M @default PT5M */
  readonly minAutoDeleteOnIdle?: Duration | undefined
  /** Lower bound of `lockDuration`. @unit ISO 8601 duration, or ms @range PT0.001S to PT5S @default PT5S */
  readonly minLockDuration?: Duration | undefined
  /**
   * Lower bound of `duplicateDetectionHistoryTimeWindow`.
   * @unit ISO 8601 duration, or ms @range PT0.001S to PT20S @default PT20S
   */
  readonly minDuplicateDetectionHistoryTimeWindow?: Duration | undefined
}

/** What a namespace is. */
export interface NamespaceProperties {
  readonly tier: 'Basic' | 'Standard' | 'Premium'
  readonly resourceLock: 'CanNotDelete' | undefined
}

export interface ResolvedNamespace extends NamespaceProperties {
  readonly limits: ResolvedLimits
}

export interface ResolvedLimits {
  readonly minAutoDeleteOnIdleMs: number
  readonly minLockDurationMs: number
  readonly minDuplicateWindowMs: number
}

/** A text of ISO 8601, or a number of milliseconds. What it may be is checked by `readDuration`. */
export const DURATION: OptionRule = optionRule(
  'a duration, such as "PT1M30S"',
  (value) => typeof value === 'string' || typeof value === 'number',
)

export const LIMIT_RULES: OptionRules<NamespaceLimits> = {
  minAutoDeleteOnIdle: DURATION,
  minLockDuration: DURATION,
  minDuplicateDetectionHistoryTimeWindow: DURATION,
}

/** For `checkOptions` of those whose options extend these. */
export const NAMESPACE_RULES: OptionRules<NamespaceOptions> = {
  tier: optionOf('Basic', 'Standard', 'Premium'),
  resourceLock: optionOf('CanNotDelete'),
  limits: optionGroup(LIMIT_RULES),
}

/**
 * Options over those that a namespace has already.
 *
 * @throws ERR_INVALID_OPTION
 */
export function resolveNamespace(
  options: NamespaceOptions = {},
  base: ResolvedNamespace = DEFAULTS,
): ResolvedNamespace {
  const { tier = base.tier, resourceLock = base.resourceLock, limits = {} } = options
  checkOptions({ tier, resourceLock, limits }, NAMESPACE_RULES)
  return { tier, resourceLock, limits: resolveLimits(limits, base.limits) }
}

const DEFAULTS: ResolvedNamespace = {
  tier: 'Standard',
  resourceLock: undefined,
  limits: {
    minAutoDeleteOnIdleMs: 300_000,
    minLockDurationMs: 5000,
    minDuplicateWindowMs: 20_000,
  },
}

const LIMITS: Readonly<Record<keyof NamespaceLimits, keyof ResolvedLimits>> = {
  minAutoDeleteOnIdle: 'minAutoDeleteOnIdleMs',
  minLockDuration: 'minLockDurationMs',
  minDuplicateDetectionHistoryTimeWindow: 'minDuplicateWindowMs',
}

/** A limit, or what is wrong with it, to stand behind its name. */
export function readLimit(
  name: keyof NamespaceLimits,
  given: Duration,
): { readonly ms: number } | { readonly problem: string } {
  const read = readDuration(given)
  if ('problem' in read) return read
  const { ms = Infinity } = read
  const highestMs = DEFAULTS.limits[LIMITS[name]]
  if (ms >= 1 && ms <= highestMs) return { ms }
  const range = `PT0.001S to ${formatDuration(highestMs)}`
  return { problem: `must be ${range}, got ${describeValue(given)}` }
}

function resolveLimits(limits: NamespaceLimits, base: ResolvedLimits): ResolvedLimits {
  return {
    minAutoDeleteOnIdleMs: resolveLimit('minAutoDeleteOnIdle', limits, base),
    minLockDurationMs: resolveLimit('minLockDuration', limits, base),
    minDuplicateWindowMs: resolveLimit('minDuplicateDetectionHistoryTimeWindow', limits, base),
  }
}

function resolveLimit(
  name: keyof NamespaceLimits,
  limits: NamespaceLimits,
  base: ResolvedLimits,
): number {
  const given = limits[name]
  if (given === undefined) return base[LIMITS[name]]
  const read = readLimit(name, given)
  if ('problem' in read) throw new InvalidOptionError(`limits.${name} ${read.problem}`)
  return read.ms
}
