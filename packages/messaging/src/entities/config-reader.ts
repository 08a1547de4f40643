import { CodedError, InvalidOptionError } from '@tidemark/contracts'
import { checkOptions, describeValue, type OptionRule } from '@tidemark/contracts/internal'

export type KeyRules = Readonly<Record<string, OptionRule>>
export type Values = Readonly<Record<string, unknown>>

/** A value with its path, such as `UserConfig.Namespaces[0]`. */
export interface ConfigPlace {
  readonly value?: unknown
  readonly at: string
}

/** Reads a configuration, and goes on after a problem, so that all of them are known at the end. */
export class ConfigReader {
  readonly #problems: string[] = []

  /** `at` is a path such as `UserConfig.Namespaces[0]`. */
  report(at: string, problem: string): void {
    this.#problems.push(`${at}: ${problem}`)
  }

  /** Undefined, and a problem, when `read` throws a coded error. */
  attempt<Result>(at: string, read: () => Result): Result | undefined {
    try {
      return read()
    } catch (error) {
      if (!(error instanceof CodedError)) throw error
      this.report(at, error.message)
      return undefined
    }
  }

  /** The keys of an object that are as they must be; `at` is empty for the outermost. One that is null counts as not given. */
  object(value: unknown, at: string, rules: KeyRules): Values {
    const path = (name: string): string => (at === '' ? name : `${at}.${name}`)
    if (!isObject(value)) {
      this.report(
        at === '' ? 'the configuration' : at,
        `must be an object, got ${describeValue(value)}`,
      )
      return {}
    }
    const values: Record<string, unknown> = {}
    for (const [name, given] of Object.entries(value)) {
      if (given === null && Object.hasOwn(rules, name)) continue
      const problem = problemOfKey(name, given, rules)
      if (problem === undefined) values[name] = given
      else this.report(path(name), problem)
    }
    for (const [name, rule] of Object.entries(rules)) {
      const isMissing = (Reflect.get(value, name) ?? undefined) === undefined
      if (rule.required === true && isMissing) this.report(path(name), 'is missing')
    }
    return values
  }

  /** An object with keys of any name, whose values are of one kind. */
  map(value: unknown, at: string, rule: OptionRule): Values {
    const names = isObject(value) ? Object.keys(value) : []
    return this.object(value, at, Object.fromEntries(names.map((name) => [name, rule])))
  }

  /** The elements of a list, each with its path. Nothing is an empty list. */
  list(value: unknown, at: string): readonly ConfigPlace[] {
    if (!Array.isArray(value)) return []
    return value.map((element: unknown, index) => ({ value: element, at: `${at}[${index}]` }))
  }

  /** @throws ERR_INVALID_OPTION with all problems, if there are any */
  finish(): void {
    if (this.#problems.length === 0) return
    const problems = this.#problems.join(';\n  ')
    throw new InvalidOptionError(
      `the configuration cannot be applied, and nothing was created:\n  ${problems}`,
    )
  }
}

/** Rules of options for keys that begin with a capital: `LockDuration`. */
export function rulesOfKeys(rules: KeyRules): KeyRules {
  return Object.fromEntries(Object.entries(rules).map(([name, rule]) => [keyOf(name), rule]))
}

export function keyOf(optionName: string): string {
  return optionName.charAt(0).toUpperCase() + optionName.slice(1)
}

/** What `object` has checked by `rulesOfKeys(rules)`, under the names of options. */
export function optionsOf<Options>(values: Values): Options {
  const options = Object.entries(values)
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => [optionOfKey(key), value])
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- Their rules have checked names and types.
  return Object.fromEntries(options) as Options
}

function optionOfKey(key: string): string {
  return key.charAt(0).toLowerCase() + key.slice(1)
}

function problemOfKey(name: string, value: unknown, rules: KeyRules): string | undefined {
  const optional = Object.fromEntries(
    Object.entries(rules).map(([key, { required: _required, ...rule }]) => [key, rule]),
  )
  try {
    checkOptions({ [name]: value }, optional)
    return undefined
  } catch (error) {
    if (!(error instanceof InvalidOptionError)) throw error
    const { message } = error
    return message.startsWith(`${name} `) ? message.slice(name.length + 1) : message
  }
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
