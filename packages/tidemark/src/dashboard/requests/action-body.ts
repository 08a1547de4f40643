import { badRequest } from './refusal.ts'
import { shown } from './query.ts'

/** The body of an action, checked as it is read. */
export class ActionBody {
  readonly #values: object

  /** @throws ERR_BAD_REQUEST when it is no JSON object */
  constructor(text: string) {
    let parsed: unknown
    try {
      parsed = JSON.parse(text)
    } catch {
      throw badRequest('the body is not JSON')
    }
    if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) {
      throw badRequest('the body must be a JSON object')
    }
    this.#values = parsed
  }

  text(name: string): string {
    const value = this.optionalText(name)
    if (value === undefined) throw badRequest(`${name} is missing`)
    return value
  }

  optionalText(name: string): string | undefined {
    return this.#optional(name, (value) => typeof value === 'string', 'a text')
  }

  flag(name: string): boolean {
    return this.#optional(name, (value) => typeof value === 'boolean', 'true or false') ?? false
  }

  optionalNumber(name: string): number | undefined {
    return this.#optional(name, isWholeNumber, 'a whole number')
  }

  /** Undefined: null or absent. */
  numbers(name: string): readonly number[] | undefined {
    return this.#list(name, isWholeNumber, 'whole numbers')
  }

  /** Undefined: null or absent. */
  texts(name: string): readonly string[] | undefined {
    return this.#list(name, (value) => typeof value === 'string', 'texts')
  }

  #list<Value>(
    name: string,
    accepts: (value: unknown) => value is Value,
    what: string,
  ): readonly Value[] | undefined {
    const isList = (value: unknown): value is readonly Value[] =>
      Array.isArray(value) && value.every((one) => accepts(one))
    return this.#optional(name, isList, `a list of ${what}`)
  }

  #optional<Value>(
    name: string,
    accepts: (value: unknown) => value is Value,
    what: string,
  ): Value | undefined {
    const value: unknown = Object.hasOwn(this.#values, name)
      ? Reflect.get(this.#values, name)
      : undefined
    if (value === undefined || value === null) return undefined
    if (accepts(value)) return value
    throw badRequest(`${name} must be ${what}, got ${shown(value)}`)
  }
}

function isWholeNumber(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0
}
