import { murmur3x86 } from '@tidemark/contracts/internal'
import { HEADER } from '../protocol/header-names.ts'
import { assertIntended } from '../protocol/intended-container.ts'
import { listBody } from '../protocol/list-body.ts'
import { METADATA_CHARGE, chargeText } from '../protocol/request-charge.ts'
import { itemCount } from '../protocol/request-values.ts'
import type { Operation } from '../requests/gateway-request.ts'
import { collectionNames } from './resource-names.ts'

/** Old clients read the list in pages of this kind of schema. */
const SCHEMA_VERSION = '1.1'

/**
 * GET /dbs/{db}/colls/{coll}/pkranges: the ranges that are present, in EPK order. Read incrementally (`A-IM` and the
 * etag of the time before) it is 304 while none was split or merged.
 */
export const readPkRanges: Operation = async (request, { collections, ranges }) =>
  collections.use(collectionNames(request.path), async ({ collection, open }) => {
    assertIntended(request, open.record)
    const present = await ranges.refresh(open)
    const etag = `"${listVersion(present.map(({ number }) => number))}"`
    const headers = {
      [HEADER.requestCharge]: chargeText(METADATA_CHARGE),
      [HEADER.etag]: etag,
      [HEADER.contentPath]: open.record.rid,
      [HEADER.altContentPath]: request.path.raw.split('/').slice(0, 4).join('/'),
      [HEADER.schemaVersion]: SCHEMA_VERSION,
    }
    const isIncremental = request.header(HEADER.aIm) !== undefined
    if (isIncremental && request.header(HEADER.ifNoneMatch) === etag) {
      return { status: 304, headers }
    }
    const page = await collection.readPartitionKeyRanges({
      maxItemCount: itemCount(HEADER.maxItemCount, request.header(HEADER.maxItemCount)),
      continuation: request.header(HEADER.continuation),
      signal: request.signal,
    })
    const items = page.ranges.map((range) =>
      JSON.stringify({
        ...range,
        ridPrefix: Number(range.id),
        throughputFraction: 1 / present.length,
      }),
    )
    return {
      status: 200,
      headers: {
        ...headers,
        [HEADER.itemCount]: String(items.length),
        ...(page.continuation !== undefined && { [HEADER.continuation]: page.continuation }),
      },
      body: listBody({ rid: open.record.rid, name: 'PartitionKeyRanges' }, items),
    }
  })

/** Numbers are never given twice, so that a list is known by them. */
function listVersion(numbers: readonly number[]): string {
  const hash = murmur3x86(new TextEncoder().encode(numbers.join(',')))
  return `${Math.max(...numbers)}-${hash.toString(16)}`
}
