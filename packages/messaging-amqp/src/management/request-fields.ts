import { isDate } from 'node:util/types'
import { InvalidOptionError } from '@tidemark/contracts'
import { describeValue } from '@tidemark/contracts/internal'
import type { StoredValue } from '@tidemark/messaging/front'
import type { Typed } from 'rhea'
import { mapEntries, typedProperties, unwrapped } from '../values/typed-values.ts'

/** The most items of a list in one request: as many as a call of the broker takes. */
const MAX_ITEMS = 10_000
const UUID_BYTES = 16
const LONG_BYTES = 8

/** The fields of a request's body, which is a map, each checked when it is read. A null is a field that is missing. */
export class RequestFields {
  readonly #values: ReadonlyMap<string, Typed>
  /** Where it stands in the body, for messages of errors. */
  readonly #at: string

  /** @throws ERR_INVALID_OPTION */
  constructor(body: Typed | undefined, at = '') {
    const name = at === '' ? 'the body of the request' : at
    const entries = mapEntries(body, name)
    if (entries === undefined) throw new InvalidOptionError(`${name} must be a map, got null`)
    this.#values = new Map(entries)
    this.#at = at === '' ? '' : `${at}.`
  }

  /** Undefined: it is missing, or null. */
  value(name: string): unknown {
    return unwrapped(this.#values.get(name))
  }

  /** Of a map of application properties. Undefined: it is missing, or null. */
  properties(name: string): Readonly<Record<string, StoredValue>> | undefined {
    return typedProperties(this.#values.get(name), `${this.#at}${name}`)
  }

  text(name: string): string {
    return this.#required(name, 'a string', this.optionalText(name))
  }

  optionalText(name: string): string | undefined {
    return this.#optional(name, 'a string', (value) =>
      typeof value === 'string' ? value : undefined,
    )
  }

  flag(name: string): boolean {
    const flag = this.#optional(name, 'a boolean', (value) =>
      typeof value === 'boolean' ? value : undefined,
    )
    return flag ?? false
  }

  /** A whole number of at most 64 bits, brought into the range. */
  number(name: string, range: { readonly min: number; readonly max: number }): number {
    const expected = 'a whole number'
    const number = this.#required(name, expected, this.#optional(name, expected, wholeNumber))
    return Math.min(Math.max(number, range.min), range.max)
  }

  /** Epoch ms. */
  optionalTime(name: string): number | undefined {
    return this.#optional(name, 'a timestamp', (value) =>
      isDate(value) ? value.getTime() : undefined,
    )
  }

  /** At least one, each once, in their order. What is beyond every sequence number becomes one that no message has. */
  sequenceNumbers(name: string): readonly number[] {
    return [...new Set(this.#items(name, 'sequence numbers', wholeNumber))]
  }

  /** At least one. As texts, in lower case. */
  lockTokens(name: string): readonly string[] {
    return this.#items(name, 'UUIDs', guidText)
  }

  /** At least one map. */
  maps(name: string): readonly RequestFields[] {
    const items: unknown = this.#values.get(name)?.value
    if (!Array.isArray(items) || items.length === 0 || items.length > MAX_ITEMS) {
      return this.refuse(name, `a list of 1 to ${MAX_ITEMS} maps`)
    }
    return items.map(
      (item: Typed, index) => new RequestFields(item, `${this.#at}${name}[${index}]`),
    )
  }

  map(name: string): RequestFields {
    return this.#required(name, 'a map', this.optionalMap(name))
  }

  optionalMap(name: string): RequestFields | undefined {
    if (this.value(name) === undefined) return undefined
    return new RequestFields(this.#values.get(name), `${this.#at}${name}`)
  }

  binary(name: string): Uint8Array {
    return this.#required(name, 'binary', this.optionalBinary(name))
  }

  optionalBinary(name: string): Uint8Array | undefined {
    return this.#optional(name, 'binary', (value) =>
      value instanceof Uint8Array ? value : undefined,
    )
  }

  /** @throws ERR_INVALID_OPTION, which names the field */
  refuse(name: string, expected: string): never {
    throw new InvalidOptionError(
      `${this.#at}${name} must be ${expected}, got ${describeValue(this.value(name))}`,
    )
  }

  #optional<Value>(
    name: string,
    expected: string,
    read: (value: unknown) => Value | undefined,
  ): Value | undefined {
    const value = this.value(name)
    if (value === undefined) return undefined
    return read(value) ?? this.refuse(name, expected)
  }

  #required<Value>(name: string, expected: string, value: Value | undefined): Value {
    return value ?? this.refuse(name, expected)
  }

  #items<Item>(
    name: string,
    expected: string,
    read: (item: unknown) => Item | undefined,
  ): readonly Item[] {
    const list = this.value(name)
    if (!Array.isArray(list) || list.length === 0 || list.length > MAX_ITEMS) {
      return this.refuse(name, `a list of 1 to ${MAX_ITEMS} ${expected}`)
    }
    return list.map((item: unknown, index) => {
      const found = read(item)
      if (found !== undefined) return found
      throw new InvalidOptionError(
        `${this.#at}${name}[${index}] must be one of ${expected}, got ${describeValue(item)}`,
      )
    })
  }
}

/** rhea gives 64-bit numbers beyond 2^53 as their bytes. */
function wholeNumber(value: unknown): number | undefined {
  if (typeof value === 'number') return Number.isInteger(value) ? safe(value) : undefined
  if (!Buffer.isBuffer(value) || value.length !== LONG_BYTES) return undefined
  return safe(Number(value.readBigInt64BE()))
}

function safe(number: number): number {
  return Math.min(Math.max(number, Number.MIN_SAFE_INTEGER), Number.MAX_SAFE_INTEGER)
}

function guidText(value: unknown): string | undefined {
  if (!Buffer.isBuffer(value) || value.length !== UUID_BYTES) return undefined
  return value.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}
