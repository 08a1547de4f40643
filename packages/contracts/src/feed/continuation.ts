import { InvalidContinuationError } from '../errors/invalid-continuation-error.ts'
import { murmur3x86 } from '../partition-key/murmur3.ts'
import {
  feedRangeId,
  parseFeedRangeId,
  rangeContains,
  type FeedRange,
} from '../ranges/feed-range.ts'
import { lsn, type Lsn } from '../ranges/lsn.ts'

declare const continuationBrand: unique symbol

/** A reader's resume position: opaque printable ASCII, stable over restarts and splits (CF-8). */
export type Continuation = string & { readonly [continuationBrand]: never }

/** Each document once, at its newest version; or every version and every delete. */
export type FeedMode = 'latestVersion' | 'allVersions'

/** Where a reader stands in one feed range. */
export interface RangePosition {
  readonly range: FeedRange
  /** The history of the store that the LSN belongs to. A new one begins after commits were lost (ST-6). */
  readonly epoch: number
  /** Everything up to and including this LSN was delivered. */
  readonly lsn: Lsn
  /**
   * The newest purge of the feed that the reader knows of: what was purged by then is none of its business.
   * A number that only rises, whatever ranges do. Undefined while nothing was delivered yet, so that no
   * purge can have taken anything from this reader.
   */
  readonly purgeStamp: number | undefined
}

/** What a continuation says. One position a feed range, in EPK order. */
export interface ContinuationToken {
  /** Identity of the collection that it belongs to. */
  readonly collectionRid: string
  readonly mode: FeedMode
  readonly positions: readonly RangePosition[]
}

/*
 * tm1;<rid>;<L|A>;<min>-<max>:<epoch>:<lsn>:<purge stamp or ->,...;<checksum>
 */
const FORMAT = 'tm1'
const MODES: Readonly<Record<FeedMode, string>> = { latestVersion: 'L', allVersions: 'A' }

/** The text of a position, for `decodeContinuation`. */
export function encodeContinuation(token: ContinuationToken): Continuation {
  const positions = token.positions.map(
    ({ range, epoch, lsn: at, purgeStamp }) =>
      `${feedRangeId(range)}:${epoch}:${at}:${purgeStamp ?? '-'}`,
  )
  const text = `${FORMAT};${token.collectionRid};${MODES[token.mode]};${positions.join(',')}`
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the one place where a string becomes a Continuation
  return `${text};${checksum(text)}` as Continuation
}

/**
 * Reads a continuation back.
 *
 * @throws ERR_INVALID_CONTINUATION when it is malformed, cut off, altered, or of a newer format
 */
export function decodeContinuation(text: string): ContinuationToken {
  const [format = '', collectionRid, mode, positions, sum, ...rest] = text.split(';')
  if (/^tm\d+$/.test(format) && format !== FORMAT) {
    throw new InvalidContinuationError(
      `continuation has format ${format}; this version reads ${FORMAT}`,
    )
  }
  if (format !== FORMAT) throw malformed(text, 'it does not begin with "tm1;"')
  if (!collectionRid || !mode || !positions || !sum || rest.length > 0) {
    throw malformed(text, 'it does not have five parts')
  }
  if (sum !== checksum(text.slice(0, text.lastIndexOf(';')))) {
    throw malformed(text, 'its checksum is wrong; it was cut off or altered')
  }
  const feedMode = mode === 'L' ? 'latestVersion' : mode === 'A' ? 'allVersions' : undefined
  if (feedMode === undefined) throw malformed(text, `its mode ${JSON.stringify(mode)} is unknown`)
  return {
    collectionRid,
    mode: feedMode,
    positions: positions.split(',').map((position) => decodePosition(position, text)),
  }
}

/** What a continuation has to fit to be usable. */
export interface ExpectedContinuation {
  readonly collectionRid: string
  /** Of the collection, for the error. @default its `_rid` alone */
  readonly collectionName?: string | undefined
  readonly mode: FeedMode
  readonly range: FeedRange
}

/**
 * The position that a continuation holds for one feed range: of that range itself, or of a larger
 * one that contains it (a parent's continuation is valid on its children).
 *
 * @throws ERR_INVALID_CONTINUATION naming what does not fit
 */
export function continuationPosition(text: string, expected: ExpectedContinuation): RangePosition {
  const token = decodeContinuation(text)
  assertOfCollection(token, expected)
  if (token.mode !== expected.mode) {
    throw new InvalidContinuationError(
      `continuation is of mode ${token.mode}, the feed is read in mode ${expected.mode}`,
    )
  }
  const position = token.positions.find(({ range }) => rangeContains(range, expected.range))
  if (position === undefined) {
    const held = token.positions.map(({ range }) => feedRangeId(range)).join(', ')
    throw new InvalidContinuationError(
      `continuation is of range ${held}, which does not contain ${feedRangeId(expected.range)}`,
    )
  }
  return { ...position, range: expected.range }
}

/** @throws ERR_INVALID_CONTINUATION naming both collections */
export function assertOfCollection(
  { collectionRid: of }: Pick<ContinuationToken, 'collectionRid'>,
  expected: Pick<ExpectedContinuation, 'collectionRid' | 'collectionName'>,
): void {
  const { collectionRid: rid, collectionName: name } = expected
  if (of === rid) return
  const [own, other] =
    name === undefined
      ? [rid, '']
      : [`${name} (${rid})`, `: of another one, or of a ${name} that was dropped since`]
  throw new InvalidContinuationError(`continuation is of collection ${of}, not of ${own}${other}`)
}

function decodePosition(text: string, whole: string): RangePosition {
  const [, rangeText = '', epoch, at, stamp] = /^([^:]*):(\d+):(\d+):(\d+|-)$/.exec(text) ?? []
  const range = parseFeedRangeId(rangeText)
  const epochNumber = Number(epoch)
  const lsnNumber = Number(at)
  if (!range || !Number.isSafeInteger(epochNumber) || !Number.isSafeInteger(lsnNumber)) {
    throw malformed(whole, `its position ${JSON.stringify(text)} cannot be read`)
  }
  const purgeStamp = stamp === '-' ? undefined : Number(stamp)
  if (purgeStamp !== undefined && !Number.isSafeInteger(purgeStamp)) {
    throw malformed(whole, `its position ${JSON.stringify(text)} cannot be read`)
  }
  return {
    range,
    epoch: epochNumber,
    lsn: lsn(lsnNumber),
    purgeStamp,
  }
}

function malformed(text: string, why: string): InvalidContinuationError {
  const shown = text.length > 60 ? `${text.slice(0, 60)}…` : text
  return new InvalidContinuationError(`continuation ${JSON.stringify(shown)} is malformed: ${why}`)
}

function checksum(text: string): string {
  return murmur3x86(new TextEncoder().encode(text)).toString(16).padStart(8, '0')
}
