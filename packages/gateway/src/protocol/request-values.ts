import { BadRequestError } from '@tidemark/contracts'
import { isJsonRecord, MAX_JSON_LEVELS, type JsonRecord } from '@tidemark/contracts/internal'
import { surveyJson } from './survey-json.ts'

/**
 * @param budget charged before anything is made of the text; undefined for a body whose size alone bounds it
 * @throws ERR_BAD_REQUEST, and what the budget throws
 */
export function parseJson(text: string, budget?: ParseBudget): unknown {
  if (text === '') throw new BadRequestError('the request needs a JSON body')
  const { levels, mayOverflow, places } = surveyJson(text, MAX_JSON_LEVELS)
  if (levels > MAX_JSON_LEVELS) {
    throw new BadRequestError(`the body is nested deeper than ${MAX_JSON_LEVELS} levels`)
  }
  budget?.parse(text.length, places)
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : ''
    throw new BadRequestError(`the body is not JSON: ${why}`, { cause })
  }
  if (mayOverflow && hasInfinity(value)) {
    throw new BadRequestError(
      'the body has a number beyond what 64 bits of floating point can hold',
    )
  }
  return value
}

/** What a body may cost that is parsed. */
export interface ParseBudget {
  /** A text of this size, with this many places of a `JsonSurvey`, is parsed and kept. */
  parse(chars: number, places: number): void
}

/** A number that is too large is infinite after JSON.parse, and would be written as null. */
function hasInfinity(value: unknown): boolean {
  if (typeof value === 'number') return !Number.isFinite(value)
  return typeof value === 'object' && value !== null && Object.values(value).some(hasInfinity)
}

/** @throws as `parseJson` */
export function parseJsonRecord(text: string, budget?: ParseBudget): JsonRecord {
  const value = parseJson(text, budget)
  if (!isJsonRecord(value)) throw new BadRequestError('the body must be a JSON object')
  return value
}

/** Headers say `true`, `True` or nothing. */
export function isTrue(header: string | undefined): boolean {
  return header?.toLowerCase() === 'true'
}

/**
 * A header of ours that is `true` or `false`; undefined when it is missing.
 *
 * @throws ERR_BAD_REQUEST
 */
export function trueOrFalse(name: string, header: string | undefined): boolean | undefined {
  if (header === undefined) return undefined
  if (header === 'true' || header === 'false') return header === 'true'
  throw new BadRequestError(`header ${name} must be true or false, got ${JSON.stringify(header)}`)
}

/**
 * A header that is a whole number; undefined when it is missing.
 *
 * @throws ERR_BAD_REQUEST
 */
export function wholeNumber(name: string, header: string | undefined): number | undefined {
  if (header === undefined) return undefined
  const value = Number(header)
  if (/^-?\d{1,15}$/.test(header) && Number.isSafeInteger(value)) return value
  throw new BadRequestError(`header ${name} must be a whole number, got ${JSON.stringify(header)}`)
}

/**
 * Documents of a page at most; undefined = the gateway's choice.
 *
 * @throws ERR_BAD_REQUEST
 */
export function itemCount(name: string, header: string | undefined): number | undefined {
  const count = wholeNumber(name, header)
  if (count === undefined || count === -1) return undefined
  if (count < 1) throw new BadRequestError(`header ${name} must be -1 or above 0, got ${count}`)
  return count
}
