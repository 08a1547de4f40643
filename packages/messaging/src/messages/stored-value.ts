import { InvalidOptionError } from '@tidemark/contracts'
import { describeValue } from '@tidemark/contracts/internal'
import type { StoredValue } from '@tidemark/store/messages'
import { epochMsOf, utcDate } from '../platform/utc-date.ts'
import type { PropertyValue } from './message.ts'

/** The most properties of a message, and of one change of it. */
export const MAX_PROPERTIES = 1_000

const LONG_LIMIT = 2n ** 63n

/** A value as a front for a protocol has read it, with its type. */
class TypedProperty {
  readonly stored: StoredValue

  constructor(stored: StoredValue) {
    this.stored = stored
  }
}

/** Of a front for a protocol: what is given so in options is stored so. */
export function typedProperties(
  values: Readonly<Record<string, StoredValue>>,
): Readonly<Record<string, PropertyValue>> {
  const typed = Object.entries(values).map(([name, value]) => [name, new TypedProperty(value)])
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- Only `toStoredValue` looks at it.
  return Object.fromEntries(typed) as Readonly<Record<string, PropertyValue>>
}

/** Values of properties as they are stored; see `StoredValue`. @throws ERR_INVALID_OPTION */
export function toStoredValues(
  values: Readonly<Record<string, PropertyValue>>,
): Readonly<Record<string, StoredValue>> {
  const entries = Object.entries(values)
  checkPropertyCount(entries.length)
  return Object.fromEntries(entries.map(([name, value]) => [name, toStoredValue(name, value)]))
}

/** @throws ERR_INVALID_OPTION */
export function checkPropertyCount(count: number): void {
  if (count <= MAX_PROPERTIES) return
  throw new InvalidOptionError(
    `applicationProperties must be at most ${MAX_PROPERTIES} application properties, got ${count}`,
  )
}

export function fromStoredValues(
  values: Readonly<Record<string, StoredValue>>,
): Readonly<Record<string, PropertyValue>> {
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => [name, fromStoredValue(value)]),
  )
}

/** `name` is for the message of the error. @throws ERR_INVALID_OPTION */
export function toStoredValue(name: string, value: PropertyValue | TypedProperty): StoredValue {
  if (value instanceof TypedProperty) return value.stored
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return value
  if (typeof value === 'number') return Number.isFinite(value) ? value : { double: String(value) }
  if (typeof value === 'bigint' && value < 2n * LONG_LIMIT && value >= -LONG_LIMIT) {
    return value < LONG_LIMIT ? { long: String(value) } : { ulong: String(value) }
  }
  if (value instanceof Uint8Array) return { bytes: Buffer.from(value).toString('base64') }
  const date = epochMsOf(value)
  if (date !== undefined) return { date }
  throw new InvalidOptionError(
    `the property ${JSON.stringify(name)} must be a text, a number, a 64-bit integer, true, false, a date, bytes or null, ` +
      `got ${describeValue(value)}`,
  )
}

/** A type that only a front for a protocol knows is shown as what is in it, if that is a text or a number. */
export function fromStoredValue(value: StoredValue): PropertyValue {
  if (typeof value !== 'object' || value === null) return value
  const { date, long, ulong, bytes, double, ...other } = value
  if (typeof date === 'number') return utcDate(date)
  if (typeof long === 'string') return BigInt(long)
  if (typeof ulong === 'string') return BigInt(ulong)
  if (typeof bytes === 'string') return new Uint8Array(Buffer.from(bytes, 'base64'))
  if (typeof double === 'string') return Number(double)
  const [inner] = Object.values(other)
  return typeof inner === 'string' || typeof inner === 'number' ? inner : null
}
