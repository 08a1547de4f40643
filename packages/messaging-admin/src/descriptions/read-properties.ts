import { describeValue } from '@tidemark/contracts/internal'
import { InvalidRequestError } from '../errors/invalid-request-error.ts'
import type { XmlElement } from '../atom/xml-element.ts'

/** What an element of a description says about options of the broker. */
export type PropertyReader<Options> = (given: XmlElement) => Partial<Options>

/** A reader for the name of each element that a description may have. */
export type PropertyReaders<Options> = Readonly<Record<string, PropertyReader<Options>>>

/** Of an element that only answers have, or whose value means nothing here. */
export const ignored = (): Record<string, never> => ({})

/**
 * The options that a description gives.
 *
 * @throws ERR_INVALID_REQUEST, also for an element that is not known
 */
export function readProperties<Options>(
  description: XmlElement,
  readers: PropertyReaders<Options>,
): Partial<Options> {
  let options: Partial<Options> = {}
  const seen = new Set<string>()
  for (const given of description.children) {
    const reader = Object.hasOwn(readers, given.name) ? readers[given.name] : undefined
    if (reader === undefined || seen.has(given.name)) {
      const problem = reader === undefined ? 'is not known' : 'stands there twice'
      throw new InvalidRequestError(`${given.name} in ${description.name} ${problem}.`)
    }
    seen.add(given.name)
    if (!isNil(given)) options = { ...options, ...reader(given) }
  }
  return options
}

/** Such an element is as good as absent. */
export function isNil({ attributes }: XmlElement): boolean {
  return attributes['nil'] === 'true'
}

/** @throws ERR_INVALID_REQUEST */
export function flagOf({ name, text }: XmlElement): boolean {
  const value = text.trim().toLowerCase()
  if (value === 'true' || value === '1') return true
  if (value === 'false' || value === '0') return false
  throw new InvalidRequestError(`${name} must be true or false, got ${describeValue(text)}.`)
}

/** @throws ERR_INVALID_REQUEST */
export function integerOf({ name, text }: XmlElement): number {
  const value = text.trim()
  if (/^-?\d{1,15}$/.test(value)) return Number(value)
  throw new InvalidRequestError(`${name} must be an integer, got ${describeValue(text)}.`)
}

/** One of these texts. @throws ERR_INVALID_REQUEST */
export function oneOf<Value extends string>(
  { name, text }: XmlElement,
  values: readonly Value[],
): Value {
  const found = values.find((value) => value === text.trim())
  if (found !== undefined) return found
  throw new InvalidRequestError(
    `${name} must be ${values.join(' or ')}, got ${describeValue(text)}.`,
  )
}

/** Of what this broker does not have: it cannot be asked for. */
export function mustBeFalse(reason: string): (given: XmlElement) => Record<string, never> {
  return (given) => {
    if (flagOf(given)) throw new InvalidRequestError(`${given.name} cannot be true: ${reason}.`)
    return {}
  }
}
