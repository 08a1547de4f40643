import type { OpenCollection, RangeRecord } from '@tidemark/store/engine'
import type { RangeOutcome } from '../documents/key-scope.ts'
import { HEADER } from '../protocol/header-names.ts'
import { listBody } from '../protocol/list-body.ts'
import { pageCharge } from '../protocol/request-charge.ts'
import { positionEtag } from './feed-start.ts'
import type { PositionedPage } from './waiting-read.ts'

/**
 * A page of either feed: never an empty 200, and always with the position as etag. The session token says how far the
 * range is, not the page, as at the service: the estimators of its clients take a page's first `_lsn` from it.
 */
export function feedOutcome(
  { record }: OpenCollection,
  range: RangeRecord,
  { items, lsn, newestLsn }: PositionedPage,
): RangeOutcome {
  const headers = {
    [HEADER.pkRangeId]: String(range.number),
    // Clients for .NET read it of a 304 as well.
    [HEADER.itemCount]: String(items.length),
  }
  const etag = positionEtag(lsn)
  if (items.length === 0)
    return { status: 304, charge: pageCharge(0), etag, lsn: newestLsn, headers }
  let chars = 0
  for (const item of items) chars += item.length
  return {
    status: 200,
    charge: pageCharge(chars),
    etag,
    lsn: newestLsn,
    headers,
    body: listBody({ rid: record.rid, name: 'Documents' }, items),
  }
}
