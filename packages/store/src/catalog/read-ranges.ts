import { pkRangeId, type PartitionKeyRange, type SourceRange } from '@tidemark/contracts'
import type { CollectionRecord } from '../engine/catalog.ts'
import type { DatabaseEngine } from '../engine/storage-engine.ts'
import { resolveItemCount } from '../paging/item-count.ts'
import { decodePageToken, encodePageToken } from '../paging/page-token.ts'
import { partitionKeyRange } from './partition-key-range-list.ts'

export interface RangesPage {
  readonly ranges: readonly PartitionKeyRange[]
  /** Undefined on the last page. */
  readonly continuation: string | undefined
}

/**
 * One page of a collection's pkranges, in EPK order. A continuation names the key that was reached, so it stays valid
 * when ranges are split meanwhile.
 *
 * @throws ERR_INVALID_CONTINUATION, ERR_INVALID_OPTION, ERR_NOT_FOUND
 */
export async function readRangesPage(
  { engine, record }: { readonly engine: DatabaseEngine; readonly record: CollectionRecord },
  request: {
    readonly maxItemCount?: number | undefined
    readonly continuation?: string | undefined
  },
): Promise<RangesPage> {
  const owner = { list: 'tp', rid: record.rid, scope: '' } as const
  const { continuation } = request
  const [reached = ''] = continuation === undefined ? [] : decodePageToken(continuation, owner, 1)
  const all = await engine.listRanges(record)
  // A range that begins below the reached key and ends above it is the result of a merge: list it again.
  const rest = all.filter(({ maxExclusive }) => maxExclusive > reached)
  const page = rest.slice(0, resolveItemCount(request.maxItemCount, { most: Infinity }))
  const end = page.at(-1)?.maxExclusive
  return {
    ranges: page.map((range) => partitionKeyRange(range, record)),
    continuation:
      page.length < rest.length && end !== undefined ? encodePageToken(owner, [end]) : undefined,
  }
}

/** All pkranges of a collection, as a feed lists them. */
export async function readSourceRanges({
  engine,
  record,
}: {
  readonly engine: DatabaseEngine
  readonly record: CollectionRecord
}): Promise<readonly SourceRange[]> {
  return (await engine.listRanges(record)).map(({ minInclusive, maxExclusive, number }) => {
    return { minInclusive, maxExclusive, id: pkRangeId(String(number)) }
  })
}
