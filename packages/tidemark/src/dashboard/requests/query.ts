import { badRequest } from './refusal.ts'

const MOST_CHARACTERS = 8_192

/** The query of a request, checked as it is read. Empty values count as absent. */
export class Query {
  readonly #values: URLSearchParams

  /** @throws ERR_BAD_REQUEST for a name that is given twice */
  constructor(values: URLSearchParams) {
    this.#values = values
    const names = [...values.keys()]
    const seen = new Set<string>()
    const twice = names.find((name) => seen.size === seen.add(name).size)
    if (twice !== undefined) throw badRequest(`${shown(twice)} is given twice`)
  }

  /** The same for queries that ask the same. */
  get key(): string {
    const given = [...this.#values].filter(([, value]) => value !== '')
    return JSON.stringify(given.sort(([one], [other]) => (one < other ? -1 : 1)))
  }

  /** @throws ERR_BAD_REQUEST when it is too long */
  optional(name: string): string | undefined {
    const value = this.#values.get(name) ?? ''
    if (value.length > MOST_CHARACTERS) throw badRequest(`${name} is too long`)
    return value === '' ? undefined : value
  }

  /** @throws ERR_BAD_REQUEST when it is missing */
  required(name: string): string {
    const value = this.optional(name)
    if (value === undefined) throw badRequest(`${name} is missing`)
    return value
  }

  /** @throws ERR_BAD_REQUEST when it is no whole number */
  number(name: string): number | undefined {
    const value = this.optional(name)
    if (value === undefined) return undefined
    const number = Number(value)
    if (/^\d+$/.test(value) && Number.isSafeInteger(number)) return number
    throw badRequest(`${name} must be a whole number, got ${shown(value)}`)
  }
}

/** For a message. */
export function shown(value: unknown): string {
  // Not what is in them, which may be nested deeper than a stack goes.
  if (typeof value === 'object') return Array.isArray(value) ? 'a list' : 'an object'
  const text = JSON.stringify(value) ?? typeof value
  return text.length > 80 ? `${text.slice(0, 80)}…` : text
}
