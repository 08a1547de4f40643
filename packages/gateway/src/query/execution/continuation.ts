import { feedRangeId, parseFeedRangeId, rangeContains, type FeedRange } from '@tidemark/contracts'
import { murmur3x86 } from '@tidemark/contracts/internal'
import { BadQueryError } from '../bad-query-error.ts'
import { isJsonArray, type Json } from '../json.ts'
import { textHash } from '../values/value-hash.ts'
import { isHashed, type SortValue } from '../values/sort-value.ts'
import { TYPE_RANK } from '../values/compare.ts'
import type { Boundary } from './rank.ts'

/** What a query has before it, whatever its kind. */
export interface Remaining {
  /** Rows still to be passed over. */
  readonly offset: number
  /** Rows still to be given; undefined = all. */
  readonly limit: number | undefined
}

/** Where a query goes on. */
export type QueryProgress = Remaining &
  (
    | {
        readonly kind: 'stream'
        readonly after: string | undefined
        /** Rows of the next document that have been given. */
        readonly rowsGiven: number
      }
    | { readonly kind: 'ranked'; readonly boundary: Boundary | undefined }
  )

/** What a continuation belongs to. */
export interface ContinuationOwner {
  readonly queryHash: string
  /** What is read. */
  readonly range: FeedRange
}

const VERSION = 'q2'

/** A continuation as text: `q2.<query>.<range>.<state>.<checksum>`, query and state as base64url. */
export function encodeContinuation(
  progress: QueryProgress,
  { queryHash, range }: ContinuationOwner,
): string {
  const state = Buffer.from(JSON.stringify(stateOf(progress))).toString('base64url')
  const text = `${VERSION}.${queryHash}.${feedRangeId(range)}.${state}`
  return `${text}.${checksum(text)}`
}

/**
 * Where a query goes on. A range that has split goes on in each of its parts with the token of the whole.
 *
 * @throws ERR_BAD_QUERY for a token of another query, other parameters or another range, and for one
 *   that was altered
 */
export function decodeContinuation(
  token: string,
  { queryHash, range }: ContinuationOwner,
): QueryProgress {
  const [version, query, rangeText = '', state = '', sum, ...rest] = token.split('.')
  if (version !== VERSION || rest.length > 0) throw invalid('is malformed')
  if (sum !== checksum(`${version}.${query}.${rangeText}.${state}`))
    throw invalid('was cut off or altered')
  const isWhole = rangeText === feedRangeId(range)
  const wider = parseFeedRangeId(rangeText)
  const isOfRange = isWhole || (wider !== undefined && rangeContains(wider, range))
  if (query !== queryHash || !isOfRange)
    throw invalid('is of another query, other parameters or another range')
  const progress = progressOf(parsedState(state))
  if (progress === undefined) throw invalid('cannot be read')
  if (!isWhole && !isDivisible(progress)) {
    throw invalid('is of a range that has split, in the midst of its rows: run the query again')
  }
  return progress
}

/** False for a token that counts rows without saying in which part of a range they are. */
function isDivisible(progress: QueryProgress): boolean {
  if (progress.offset > 0) return false
  return progress.kind === 'stream'
    ? progress.rowsGiven === 0
    : progress.boundary?.kind !== 'prefix'
}

/** What a continuation is bound to. */
export function hashOfQuery(parts: readonly unknown[]): string {
  return textHash(JSON.stringify(parts)).slice(0, 16)
}

function checksum(text: string): string {
  return murmur3x86(new TextEncoder().encode(text)).toString(16).padStart(8, '0')
}

function invalid(why: string): BadQueryError {
  // In the service's words at first: clients look for them.
  return new BadQueryError(`Invalid Continuation Token: the continuation token ${why}`)
}

function parsedState(state: string): Json {
  try {
    // oxlint-disable-next-line typescript/no-unsafe-assignment -- what JSON.parse gives is JSON
    const value: Json = JSON.parse(Buffer.from(state, 'base64url').toString())
    return value
  } catch (cause) {
    throw new BadQueryError('Invalid Continuation Token: it cannot be read', { cause })
  }
}

function stateOf(progress: QueryProgress): Json {
  const remaining = [progress.offset, progress.limit ?? null]
  if (progress.kind === 'stream') {
    return ['s', ...remaining, progress.after ?? null, progress.rowsGiven]
  }
  const { boundary } = progress
  if (boundary === undefined) return ['r', ...remaining]
  if (boundary.kind === 'prefix') {
    return ['p', ...remaining, boundary.keys.map(encodeKey), boundary.given]
  }
  const { keys, tie, ordinal } = boundary.rank
  return ['r', ...remaining, keys.map(encodeKey), tie, ordinal]
}

function progressOf(state: Json): QueryProgress | undefined {
  if (!isJsonArray(state)) return undefined
  const [kind, offset, limitOrNull, first, second, third] = state
  if (!isCount(offset) || !(limitOrNull === null || isCount(limitOrNull))) return undefined
  const remaining = { offset, limit: limitOrNull ?? undefined }
  if (kind === 's' && (first === null || typeof first === 'string') && isCount(second)) {
    return { kind: 'stream', ...remaining, after: first ?? undefined, rowsGiven: second }
  }
  if (kind === 'r' && state.length === 3)
    return { kind: 'ranked', ...remaining, boundary: undefined }
  const keys = decodeKeys(first)
  if (keys === undefined) return undefined
  if (kind === 'p' && isCount(second) && typeof keys.at(-1) === 'string') {
    return { kind: 'ranked', ...remaining, boundary: { kind: 'prefix', keys, given: second } }
  }
  if (kind !== 'r' || typeof second !== 'string' || !isCount(third)) return undefined
  const rank = { keys, tie: second, ordinal: third }
  return { kind: 'ranked', ...remaining, boundary: { kind: 'exact', rank } }
}

function isCount(value: Json): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0
}

/** Undefined as an empty array, a hash as rank and hash. */
function encodeKey(key: SortValue): Json {
  if (key === undefined) return []
  return isHashed(key) ? [key.rank, key.hash] : key
}

function decodeKeys(value: Json): SortValue[] | undefined {
  if (!isJsonArray(value)) return undefined
  const keys: SortValue[] = []
  for (const encoded of value) {
    if (encoded === null || typeof encoded !== 'object') {
      keys.push(encoded)
      continue
    }
    if (!isJsonArray(encoded)) return undefined
    const [rank, hash] = encoded
    if (encoded.length === 0) keys.push(undefined)
    else if (typeof hash !== 'string') return undefined
    else if (rank === TYPE_RANK.array || rank === TYPE_RANK.object) keys.push({ rank, hash })
    else return undefined
  }
  return keys
}
