import { InvalidOptionError } from '@tidemark/contracts'
import { describeValue } from '@tidemark/contracts/internal'
import type { PropertyValue } from '@tidemark/messaging'

const LONG_BYTES = 8

/**
 * Properties in a map that rhea has decoded. rhea forgets types of numbers, and gives 64-bit numbers beyond 2^53 as their
 * bytes: 8 bytes are taken for such a number. `at` names the map in errors.
 *
 * @throws ERR_INVALID_OPTION
 */
export function propertyValues(map: unknown, at: string): Readonly<Record<string, PropertyValue>> {
  if (typeof map !== 'object' || map === null || Array.isArray(map) || ArrayBuffer.isView(map)) {
    throw new InvalidOptionError(`${at} must be a map, got ${describeValue(map)}`)
  }
  return Object.fromEntries(
    Object.entries(map).map(([name, value]: [string, unknown]) => [name, propertyValue(value)]),
  )
}

function propertyValue(value: unknown): PropertyValue {
  if (Buffer.isBuffer(value) && value.length === LONG_BYTES) return value.readBigInt64BE()
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- The broker refuses what is no property.
  return (value ?? null) as PropertyValue
}
