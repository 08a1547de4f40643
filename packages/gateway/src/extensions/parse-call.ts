import {
  FULL_RANGE,
  InvalidOptionError,
  lsn,
  rangeContains,
  type FeedMode,
  type FeedRange,
  type GroupPosition,
  type HeldPosition,
  type StartPosition,
  BadRequestError,
} from '@tidemark/contracts'
import { isJsonRecord, type JsonRecord } from '@tidemark/contracts/internal'
import { parseIsoDate } from '../platform/iso-date.ts'
import { OWN_HEADER, type ExtensionCall } from '../protocol/extension-wire.ts'
import { parseJsonRecord } from '../protocol/request-values.ts'

/**
 * Reads a call from its header. What the store checks itself (continuations, limits, names) is left to it.
 *
 * @throws ERR_INVALID_OPTION naming the member that is wrong, ERR_BAD_REQUEST
 */
export function parseCall(header: string | undefined): ExtensionCall {
  if (header === undefined) throw new BadRequestError(`header ${OWN_HEADER.call} is missing`)
  const value = parseJsonRecord(header)
  const { call } = value
  switch (call) {
    case 'resolveStart':
      return { call, ...inRange(value), start: start(value['start']) }
    case 'positionAt':
      return {
        call,
        ...inRange(value),
        lsn: count(value, 'lsn'),
        page: value['page'] === undefined ? undefined : text(value, 'page'),
      }
    case 'measureLag':
      return {
        call,
        ...inRange(value),
        continuation: text(value, 'continuation'),
        limit: value['limit'] === undefined ? undefined : number(value, 'limit'),
        pendingDeletes: value['pendingDeletes'] !== false,
      }
    case 'readPage':
      return { call, ...inRange(value), ...pageWanted(value) }
    case 'awaitPage': {
      const timeoutMs = count(value, 'timeoutMs')
      return { call, ...inRange(value), ...pageWanted(value), timeoutMs }
    }
    case 'waitForChanges':
      return {
        call,
        ...inRange(value),
        continuation: text(value, 'continuation'),
        timeoutMs: count(value, 'timeoutMs'),
      }
    case 'joinPositions':
      return { call, mode: mode(value['mode']), positions: heldPositions(value['positions']) }
    case 'readPositions':
      return { call, group: text(value, 'group') }
    case 'readPartition':
      return { call, partitionKey: text(value, 'partitionKey') }
    case 'waitForCommit':
      return {
        call,
        partitionKey: text(value, 'partitionKey'),
        afterLsn: count(value, 'afterLsn'),
        timeoutMs: count(value, 'timeoutMs'),
      }
    default:
      throw new BadRequestError(`${OWN_HEADER.call}: there is no call ${JSON.stringify(call)}`)
  }
}

/** What a body asks for that changes something. */
export type ExtensionOrder =
  | { readonly kind: 'flush' }
  | { readonly kind: 'report'; readonly positions: readonly GroupPosition[] }

/**
 * `{"flush":true}`, or positions of groups.
 *
 * @throws ERR_INVALID_OPTION
 */
export function parseOrder({ flush, positions }: JsonRecord): ExtensionOrder {
  if (flush === undefined) return { kind: 'report', positions: groupPositions(positions) }
  if (flush === true && positions === undefined) return { kind: 'flush' }
  throw wrong('flush', 'true, and alone')
}

/** One for each lease of a host; a collection has at most as many pkranges. */
const MAX_POSITIONS = 10_000
/** Far above those of three hashes. */
const MAX_BOUND_CHARS = 1_000

function groupPositions(positions: unknown): readonly GroupPosition[] {
  if (!Array.isArray(positions) || positions.length > MAX_POSITIONS) {
    throw wrong('positions', `a list of at most ${MAX_POSITIONS}`)
  }
  return positions.map((value: unknown) => {
    if (!isJsonRecord(value)) throw wrong('positions', 'a list of objects')
    return {
      group: text(value, 'group'),
      range: range(value['range']),
      lsn: lsn(count(value, 'lsn')),
    }
  })
}

function inRange(value: JsonRecord): { readonly range: FeedRange; readonly mode: FeedMode } {
  return { range: range(value['range']), mode: mode(value['mode']) }
}

function pageWanted(value: JsonRecord): {
  readonly continuation: string
  readonly maxItemCount: number | undefined
  readonly pendingDeletes: boolean
} {
  return {
    continuation: text(value, 'continuation'),
    maxItemCount: value['maxItemCount'] === undefined ? undefined : number(value, 'maxItemCount'),
    pendingDeletes: value['pendingDeletes'] !== false,
  }
}

function range(value: unknown): FeedRange {
  if (isJsonRecord(value)) {
    const { minInclusive, maxExclusive } = value
    if (typeof minInclusive === 'string' && typeof maxExclusive === 'string') {
      const read = { minInclusive, maxExclusive }
      const isShort = minInclusive.length + maxExclusive.length <= 2 * MAX_BOUND_CHARS
      const isHex = isShort && /^[0-9A-F]*$/.test(minInclusive + maxExclusive)
      if (isHex && minInclusive < maxExclusive && rangeContains(FULL_RANGE, read)) return read
    }
  }
  throw wrong('range', 'an interval of effective partition keys')
}

function mode(value: unknown): FeedMode {
  if (value === 'latestVersion' || value === 'allVersions') return value
  throw wrong('mode', '"latestVersion" or "allVersions"')
}

/** As JSON writes it: a date is ISO 8601. */
function start(value: unknown): StartPosition {
  if (value === 'beginning' || value === 'now') return value
  if (isJsonRecord(value)) return { continuation: text(value, 'continuation') }
  const time = typeof value === 'string' ? parseIsoDate(value) : undefined
  if (time !== undefined) return time
  throw wrong('start', 'a start position')
}

function heldPositions(value: unknown): readonly HeldPosition[] {
  if (!Array.isArray(value)) throw wrong('positions', 'a list')
  return value.map((held: unknown) => {
    if (!isJsonRecord(held)) throw wrong('positions', 'a list of objects')
    return { range: range(held['range']), continuation: text(held, 'continuation') }
  })
}

function text(value: JsonRecord, name: string): string {
  const member = value[name]
  if (typeof member === 'string') return member
  throw wrong(name, 'a text')
}

function number(value: JsonRecord, name: string): number {
  const member = value[name]
  if (typeof member === 'number' && Number.isFinite(member)) return member
  throw wrong(name, 'a number')
}

/** A whole number from 0 on. */
function count(value: JsonRecord, name: string): number {
  const member = value[name]
  if (typeof member === 'number' && Number.isSafeInteger(member) && member >= 0) return member
  throw wrong(name, 'a whole number from 0 on')
}

function wrong(name: string, expected: string): InvalidOptionError {
  return new InvalidOptionError(`the call's "${name}" must be ${expected}`)
}
