import type { HttpCalls, HttpReply } from './http-calls.ts'

export const DOCUMENTS_PATH = '/dbs/shop/colls/orders/docs'
const PAGE = 1_000

/** One page of a pkrange's feed after an etag; from the beginning without one. */
export function readFeedPage(
  calls: HttpCalls,
  { range, etag }: { readonly range: string; readonly etag: string | undefined },
): Promise<HttpReply> {
  return calls.call({
    method: 'GET',
    path: DOCUMENTS_PATH,
    headers: {
      'a-im': 'Incremental feed',
      'x-ms-documentdb-partitionkeyrangeid': range,
      'x-ms-max-item-count': String(PAGE),
      ...(etag !== undefined && { 'if-none-match': etag }),
    },
  })
}

/** Ids of the pkranges that are there. */
export async function readRangeIds(calls: HttpCalls): Promise<readonly string[]> {
  const { body } = await calls.call({ method: 'GET', path: '/dbs/shop/colls/orders/pkranges' })
  const { PartitionKeyRanges: ranges } = JSON.parse(body.toString()) as {
    readonly PartitionKeyRanges: readonly { readonly id: string }[]
  }
  return ranges.map(({ id }) => id)
}
