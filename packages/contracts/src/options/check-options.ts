import { hideCredentials } from '../errors/hide-credentials.ts'
import { InvalidOptionError } from '../errors/invalid-option-error.ts'
import { LOG_LEVELS } from '../logging/logger.ts'

/** What a value of an option has to be. */
export interface OptionRule {
  /** For the message: "must be …". */
  readonly expected: string
  readonly accepts: (value: unknown) => boolean
  /** @default false: undefined is accepted too */
  readonly required?: boolean
  /** Keeps texts out of messages. @default false */
  readonly secret?: boolean
  /** Of the options in it, when the value is an object. */
  readonly within?: Readonly<Record<string, OptionRule>>
}

/** A rule for each option that there is. */
export type OptionRules<Options> = { readonly [Name in keyof Options]-?: OptionRule }

/** Rules of options that many have. */
export const option: Readonly<
  Record<
    | 'anything'
    | 'text'
    | 'number'
    | 'flag'
    | 'function'
    | 'signal'
    | 'clock'
    | 'random'
    | 'feed'
    | 'leases'
    | 'collection'
    | 'telemetry'
    | 'logger',
    OptionRule
  >
> = {
  anything: optionRule('anything', () => true),
  text: optionRule('a text', (value) => typeof value === 'string'),
  number: optionRule('a number', (value) => typeof value === 'number'),
  flag: optionRule('true or false', (value) => typeof value === 'boolean'),
  function: optionRule('a function', isFunction),
  signal: optionHaving('an AbortSignal', 'addEventListener'),
  clock: optionHaving('a clock', 'wallMs', 'monotonicMs', 'sleep'),
  random: optionHaving('a source of chance', 'fraction', 'hex'),
  feed: optionHaving(
    'a change feed, such as a collection of a store',
    'readFeedRanges',
    'resolveStart',
    'readPage',
  ),
  leases: optionHaving(
    'a lease store, such as new DocumentLeaseStore(collection)',
    'openGroup',
    'listGroups',
  ),
  collection: optionHaving('a collection of documents', 'read', 'batch', 'readPartition'),
  telemetry: optionHaving(
    'a telemetry, such as that of @tidemark/otel',
    'observe',
    'messageProperties',
  ),
  logger: optionRule(
    `an object with functions ${LOG_LEVELS.join(', ')}, or false`,
    (value) => value === false || hasFunctions(value, LOG_LEVELS),
  ),
}

export function optionRule(expected: string, accepts: (value: unknown) => boolean): OptionRule {
  return { expected, accepts }
}

/** One of these values. */
export function optionOf(...values: readonly (string | number)[]): OptionRule {
  const expected = values.map((value) => JSON.stringify(value)).join(' or ')
  return optionRule(expected, (given) => values.some((value) => value === given))
}

/** Without a maximum: `min` or more. */
export function optionWhole(min: number, max?: number): OptionRule {
  const most = max ?? Number.MAX_SAFE_INTEGER
  return optionRule(
    max === undefined ? `a whole number of ${min} or more` : `a whole number from ${min} to ${max}`,
    (value) => Number.isSafeInteger(value) && Number(value) >= min && Number(value) <= most,
  )
}

export function requiredOption(optional: OptionRule): OptionRule {
  return { ...optional, required: true }
}

/** An object with these functions, of whatever class. */
export function optionHaving(expected: string, ...functions: readonly string[]): OptionRule {
  return optionRule(expected, (value) => hasFunctions(value, functions))
}

/** An object of options. */
export function optionGroup<Options>(rules: OptionRules<Options>): OptionRule {
  return { ...optionRule('an object of options', isObject), within: rules }
}

/**
 * Checks that options are known ones, of the right type, and that none is missing. What their values may be is
 * for those who use them.
 *
 * @throws ERR_INVALID_OPTION naming the option
 */
export function checkOptions<Options>(given: Options, rules: OptionRules<NoInfer<Options>>): void {
  if (!isObject(given)) {
    throw new InvalidOptionError(`options must be an object, got ${describeValue(given)}`)
  }
  checkWithin(given, { rules, path: '', all: rules })
}

/** A value for a message: short, without what is in it, and without passwords. */
export function describeValue(value: unknown): string {
  if (typeof value === 'string') {
    const text = hideCredentials(value)
    return JSON.stringify(text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}…` : text)
  }
  if (typeof value === 'function') return `a function (${value.name || 'without a name'})`
  if (!isObject(value)) return String(value)
  if (isFunction(Reflect.get(value, 'then'))) return 'a promise (is an await missing?)'
  const name: unknown = value.constructor?.name
  return typeof name === 'string' ? `an object (${name})` : 'an object'
}

const MAX_TEXT = 100

interface Place {
  readonly rules: Readonly<Record<string, OptionRule>>
  /** Of the object, with a dot at the end. */
  readonly path: string
  /** Of all options, for hints. */
  readonly all: Readonly<Record<string, OptionRule>>
}

function checkWithin(given: object, { rules, path, all }: Place): void {
  for (const name of Object.keys(given)) {
    if (Object.hasOwn(rules, name)) continue
    // Those beside it first.
    const known = pathsOf(all)
    const near = nearest(name, [...known.filter((one) => one.startsWith(path)), ...known])
    const hint = near === undefined ? '' : `; did you mean ${near}?`
    throw new InvalidOptionError(`there is no option ${path}${name}${hint}`)
  }
  for (const [name, rule] of Object.entries(rules)) {
    const { expected, accepts, required: isRequired = false, secret: isSecret = false } = rule
    const { within } = rule
    const value: unknown = Reflect.get(given, name)
    if (value === undefined && !isRequired) continue
    if (value === undefined || !accepts(value)) {
      const found = isSecret && typeof value === 'string' ? 'a text' : describeValue(value)
      throw new InvalidOptionError(`${path}${name} must be ${expected}, got ${found}`)
    }
    if (within !== undefined && isObject(value)) {
      checkWithin(value, { rules: within, path: `${path}${name}.`, all })
    }
  }
}

function pathsOf(rules: Readonly<Record<string, OptionRule>>, path = ''): readonly string[] {
  return Object.entries(rules).flatMap(([name, { within = {} }]) => [
    `${path}${name}`,
    ...pathsOf(within, `${path}${name}.`),
  ])
}

/** The path that ends most like a name; undefined if none is alike. */
function nearest(name: string, paths: readonly string[]): string | undefined {
  let best: { readonly path: string; readonly distance: number } | undefined
  for (const path of paths) {
    const distance = unlikeness(name.toLowerCase(), path.split('.').at(-1)!.toLowerCase())
    if (distance < (best?.distance ?? Infinity)) best = { path, distance }
  }
  return best !== undefined && best.distance <= Math.max(2, name.length / 3) ? best.path : undefined
}

/** How many letters have to be put in, taken out or changed; between 1 and 2 if one is within the other. */
function unlikeness(a: string, b: string): number {
  if (a !== b && Math.min(a.length, b.length) > 2 && (a.includes(b) || b.includes(a))) {
    return 2 - 1 / (1 + Math.abs(a.length - b.length))
  }
  let row = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (const [index, letter] of a.split('').entries()) {
    const next = [index + 1]
    for (const [at, other] of b.split('').entries()) {
      const changed = row[at]! + (letter === other ? 0 : 1)
      next.push(Math.min(changed, row[at + 1]! + 1, next[at]! + 1))
    }
    row = next
  }
  return row[b.length]!
}

function hasFunctions(value: unknown, names: readonly string[]): boolean {
  return isObject(value) && names.every((name) => isFunction(Reflect.get(value, name)))
}

function isFunction(value: unknown): boolean {
  return typeof value === 'function'
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}
