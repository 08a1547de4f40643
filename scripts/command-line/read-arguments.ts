import { parseArgs } from 'node:util'
import { nearestName } from './nearest-name.ts'

/** One option of a development command. Its value is read from the text that follows it; a flag has none. */
export interface Option<Value> {
  readonly kind: 'string' | 'boolean'
  /** What the value is without the option. */
  readonly default: Value
  /** What it must be, for the complaint. */
  readonly wanted: string
  /** Undefined when the text is none. */
  readonly parse: (text: string) => Value | undefined
}

type Options = Readonly<Record<string, Option<unknown>>>
type ValuesOf<O extends Options> = { readonly [Name in keyof O]: O[Name]['default'] }

export interface CommandLine<O extends Options> {
  readonly values: ValuesOf<O>
  readonly positionals: readonly string[]
}

/** Wrong arguments; the message names the one that is. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

/** Texts, such as file names and lists. */
export function text(): Option<string | undefined>
export function text(whenAbsent: string): Option<string>
export function text(whenAbsent?: string): Option<string | undefined> {
  return { kind: 'string', default: whenAbsent, wanted: 'a text', parse: (value) => value }
}

export function flag(): Option<boolean> {
  return { kind: 'boolean', default: false, wanted: 'nothing', parse: () => true }
}

/** Whole numbers from `least` on, such as counts and seeds. */
export function whole(least: number): Option<number | undefined>
export function whole(least: number, whenAbsent: number): Option<number>
export function whole(least: number, whenAbsent?: number): Option<number | undefined> {
  const wanted = `a whole number, ${least} or more`
  const parse = (value: string): number | undefined => {
    const number = numberOf(value)
    return Number.isSafeInteger(number) && number >= least ? number : undefined
  }
  return { kind: 'string', default: whenAbsent, wanted, parse }
}

/** Numbers above 0, such as durations. */
export function positive(): Option<number | undefined>
export function positive(whenAbsent: number): Option<number>
export function positive(whenAbsent?: number): Option<number | undefined> {
  const parse = (value: string): number | undefined => {
    const number = numberOf(value)
    return number > 0 && Number.isFinite(number) ? number : undefined
  }
  return { kind: 'string', default: whenAbsent, wanted: 'a number above 0', parse }
}

/** Numbers from 0 on. */
export function number(): Option<number | undefined> {
  const parse = (value: string): number | undefined => {
    const read = numberOf(value)
    return read >= 0 && Number.isFinite(read) ? read : undefined
  }
  return { kind: 'string', default: undefined, wanted: 'a number, 0 or more', parse }
}

export function oneOf<const Name extends string>(names: readonly Name[]): Option<Name | undefined>
export function oneOf<const Name extends string>(
  names: readonly Name[],
  whenAbsent: Name,
): Option<Name>
export function oneOf<const Name extends string>(
  names: readonly Name[],
  whenAbsent?: Name,
): Option<Name | undefined> {
  const parse = (value: string): Name | undefined => names.find((name) => name === value)
  return { kind: 'string', default: whenAbsent, wanted: `one of ${names.join(', ')}`, parse }
}

/**
 * The arguments of this process. `--help` prints the usage and ends with 0; a wrong argument is named, with the
 * usage, and ends with 2. `check` throws a UsageError where options do not go together.
 */
export function readArguments<O extends Options>(
  usage: string,
  options: O,
  { positionals = false, check }: ReadOptions<O> = {},
): CommandLine<O> {
  try {
    const args = process.argv.slice(2)
    if (args.includes('--help')) {
      console.log(usage)
      process.exit(0)
    }
    const line = parseCommandLine(args, options, positionals ? 'positionals' : 'optionsOnly')
    check?.(line.values)
    return line
  } catch (error) {
    if (!(error instanceof UsageError)) throw error
    console.error(`${error.message}\n\n${usage}`)
    process.exit(2)
  }
}

interface ReadOptions<O extends Options> {
  /** Whether arguments without a name are allowed. */
  readonly positionals?: boolean
  readonly check?: (values: ValuesOf<O>) => void
}

/** @throws UsageError naming the argument that is wrong */
export function parseCommandLine<O extends Options>(
  args: readonly string[],
  options: O,
  allowed: 'positionals' | 'optionsOnly',
): CommandLine<O> {
  const types = Object.entries(options).map(([name, { kind: type }]) => [name, { type }] as const)
  // Strict would name unknown options, too, but neither the nearest one nor what a value must be.
  const { tokens } = parseArgs({
    args: [...args],
    options: Object.fromEntries(types),
    strict: false,
    tokens: true,
  })
  const values = new Map(Object.entries(options).map(([name, option]) => [name, option.default]))
  const positionals: string[] = []
  for (const token of tokens) {
    if (token.kind === 'option') {
      const { name, rawName, value } = token
      values.set(name, optionValue(knownOption(options, name, rawName), rawName, value))
    } else if (token.kind === 'positional') positionals.push(token.value)
  }
  if (allowed === 'optionsOnly' && positionals.length > 0) {
    throw new UsageError(`unexpected argument ${JSON.stringify(positionals[0])}`)
  }
  // One of each name, of its option's type.
  return { values: Object.fromEntries(values) as ValuesOf<O>, positionals }
}

function knownOption(options: Options, name: string, rawName: string): Option<unknown> {
  const option = Object.hasOwn(options, name) ? options[name] : undefined
  if (option !== undefined) return option
  const nearest = nearestName(name, Object.keys(options))
  const hint = nearest === undefined ? '' : ` (did you mean --${nearest}?)`
  throw new UsageError(`unknown option ${rawName}${hint}`)
}

function optionValue(
  { kind, wanted, parse }: Option<unknown>,
  rawName: string,
  value: string | undefined,
): unknown {
  if (kind === 'boolean' && value !== undefined) throw new UsageError(`${rawName} takes no value`)
  if (kind === 'string' && value === undefined) {
    throw new UsageError(`${rawName} needs a value: ${wanted}`)
  }
  const parsed = parse(value ?? '')
  if (parsed !== undefined) return parsed
  throw new UsageError(`${rawName} must be ${wanted}, got ${JSON.stringify(value)}`)
}

function numberOf(value: string): number {
  return value.trim() === '' ? Number.NaN : Number(value)
}
