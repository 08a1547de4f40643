import type { FeedStart, OpenCollection, RangeRecord } from '@tidemark/store/engine'
import { type FeedMode, type FeedRange, BadRequestError } from '@tidemark/contracts'
import { parseHttpDate } from '@tidemark/contracts/internal'
import { HEADER } from '../protocol/header-names.ts'
import type { GatewayRequest } from '../requests/gateway-request.ts'
import { parseRangesEtag, type RangePositions } from './range-positions.ts'

/** Where a reader asks to begin. `If-None-Match` wins: clients go on sending their start time beside it. */
export type RequestedStart =
  | SingleStart
  | { readonly kind: 'positions'; readonly positions: RangePositions }

type SingleStart = FeedStart | { readonly kind: 'lsn'; readonly lsn: number }

/** @throws ERR_BAD_REQUEST for an etag or a date that cannot be read */
export function requestedStart({ header }: GatewayRequest): RequestedStart {
  const etag = header(HEADER.ifNoneMatch)
  if (etag === '*') return { kind: 'now' }
  if (etag !== undefined) {
    const positions = parseRangesEtag(etag)
    return positions === undefined
      ? { kind: 'lsn', lsn: etagPosition(etag) }
      : { kind: 'positions', positions }
  }
  const since = header(HEADER.ifModifiedSince)
  if (since === undefined) return { kind: 'beginning' }
  const timeMs = parseHttpDate(since)
  if (timeMs === undefined) {
    throw new BadRequestError(`header ${HEADER.ifModifiedSince} is no HTTP date`)
  }
  // The wire excludes the second itself, the store includes it.
  return { kind: 'time', ts: Math.floor(timeMs / 1000) + 1 }
}

/** The order in which ranges are read: as in the etag; without such an etag all are equal. */
export function turnOf(
  start: RequestedStart,
  { number, parents }: Pick<RangeRecord, 'number' | 'parents'>,
): number {
  if (start.kind !== 'positions') return 0
  return [...start.positions.keys()].findIndex((key) => key === number || parents.includes(key))
}

/** The LSN after which a reader begins. */
export async function startLsn(
  { engine, record }: OpenCollection,
  {
    range,
    start,
    mode,
  }: { readonly range: FeedRange; readonly start: SingleStart; readonly mode: FeedMode },
): Promise<number> {
  if (start.kind === 'lsn') return start.lsn
  if (start.kind === 'beginning') return 0
  const { lsn } = await engine.resolveStart({ collection: record, range, start, mode })
  return lsn
}

/** The etag of a position, with its quotes. */
export function positionEtag(lsn: number): string {
  return `"${lsn}"`
}

function etagPosition(etag: string): number {
  const match = /^(?:W\/)?"?(\d{1,16})"?$/.exec(etag)
  const lsn = Number(match?.[1])
  if (match !== null && Number.isSafeInteger(lsn)) return lsn
  throw new BadRequestError(
    `header ${HEADER.ifNoneMatch} is no etag of this feed: ${JSON.stringify(etag)}`,
  )
}
