import { BadQueryError } from '../bad-query-error.ts'
import { MAX_PATTERN_CHARS } from '../limits.ts'
import type { QueryBudget } from '../query-budget.ts'

type PatternPart =
  | { readonly kind: 'anything' }
  | { readonly kind: 'anyUnit' }
  | { readonly kind: 'unit'; readonly unit: string }
  | { readonly kind: 'set'; readonly inverted: boolean; readonly ranges: UnitRanges }

interface UnitRange {
  readonly from: string
  readonly to: string
}

/** In order and apart, so that a unit is found by halving. */
type UnitRanges = readonly UnitRange[]

/** A LIKE pattern, read once: `%`, `_`, `[a-f]`, `[^abc]`, and what follows the escape character as it is. */
export type LikePattern = readonly PatternPart[]

/** Steps of a character of a pattern that is read. */
const PARSE_STEPS = 4

/** @throws ERR_BAD_QUERY for a pattern that is too long or ends in its escape character; ERR_QUERY_TOO_COSTLY */
export function parseLikePattern(
  pattern: string,
  escape: string | undefined,
  budget: QueryBudget,
): LikePattern {
  if (pattern.length > MAX_PATTERN_CHARS) {
    throw new BadQueryError(`a LIKE pattern has at most ${MAX_PATTERN_CHARS} characters`)
  }
  budget.spend(pattern.length * PARSE_STEPS)
  const parts: PatternPart[] = []
  let at = 0
  while (at < pattern.length) {
    const unit = pattern.charAt(at)
    const setEnd = unit === '[' && unit !== escape ? pattern.indexOf(']', at + 2) : -1
    if (unit === escape) {
      at++
      if (at === pattern.length) {
        throw new BadQueryError(`the LIKE pattern ${JSON.stringify(pattern)} ends in its ESCAPE`)
      }
      parts.push({ kind: 'unit', unit: pattern.charAt(at) })
    } else if (setEnd > 0) {
      parts.push(parseSet(pattern.slice(at + 1, setEnd)))
      at = setEnd
    } else {
      parts.push(plainPart(unit))
    }
    at++
  }
  return parts
}

function plainPart(unit: string): PatternPart {
  if (unit === '%') return { kind: 'anything' }
  return unit === '_' ? { kind: 'anyUnit' } : { kind: 'unit', unit }
}

function parseSet(text: string): PatternPart {
  const inverted = text.startsWith('^') && text.length > 1
  const units = inverted ? text.slice(1) : text
  const ranges: UnitRange[] = []
  for (let at = 0; at < units.length; at++) {
    const from = units.charAt(at)
    const isRange = units.charAt(at + 1) === '-' && at + 2 < units.length
    ranges.push({ from, to: isRange ? units.charAt(at + 2) : from })
    if (isRange) at += 2
  }
  return { kind: 'set', inverted, ranges: merged(ranges) }
}

function merged(ranges: readonly UnitRange[]): UnitRanges {
  const apart: UnitRange[] = []
  const inOrder = ranges
    .filter(({ from, to }) => from <= to)
    .sort((left, right) => (left.from < right.from ? -1 : 1))
  for (const range of inOrder) {
    const last = apart.at(-1)
    if (last === undefined || range.from > last.to) apart.push(range)
    else if (range.to > last.to) apart.splice(-1, 1, { from: last.from, to: range.to })
  }
  return apart
}

/** Looks at a place of a text, or at a range of a set, before the budget is charged for them. */
const LOOKS_PER_CHARGE = 64
const CHARGED_STEPS = 16

/**
 * True when the whole text fits. Goes back to the last `%` only, so that the time is at most the product
 * of both lengths; what it takes is charged while it works.
 */
export function matchesLikePattern(
  text: string,
  pattern: LikePattern,
  budget: QueryBudget,
): boolean {
  let at = 0
  let part = 0
  let lastAnything = -1
  let resumeAt = 0
  let looks = 0
  while (at < text.length) {
    const wanted = pattern[part]
    looks += wanted?.kind === 'set' ? looksInto(wanted.ranges) : 1
    if (looks >= LOOKS_PER_CHARGE) {
      budget.spend(CHARGED_STEPS)
      looks = 0
    }
    if (wanted?.kind === 'anything') {
      lastAnything = part++
      resumeAt = at
    } else if (wanted !== undefined && fits(text.charAt(at), wanted)) {
      part++
      at++
    } else if (lastAnything >= 0) {
      part = lastAnything + 1
      at = ++resumeAt
    } else {
      return false
    }
  }
  return pattern.slice(part).every(({ kind }) => kind === 'anything')
}

function fits(unit: string, part: PatternPart): boolean {
  switch (part.kind) {
    case 'unit':
      return part.unit === unit
    case 'set':
      return part.inverted !== isIn(unit, part.ranges)
    case 'anyUnit':
    case 'anything':
      return true
  }
}

function isIn(unit: string, ranges: UnitRanges): boolean {
  let low = 0
  let high = ranges.length
  while (low < high) {
    const middle = (low + high) >>> 1
    const range = ranges[middle]
    if (range === undefined || unit < range.from) high = middle
    else if (unit > range.to) low = middle + 1
    else return true
  }
  return false
}

/** How many ranges `isIn` looks at, at most, and the place itself. */
function looksInto({ length }: UnitRanges): number {
  return 33 - Math.clz32(length)
}
