import { HorizonPassedError, BadRequestError } from '@tidemark/contracts'
import { parsePartitionKeyText, type VersionRow } from '@tidemark/contracts/internal'
import { feedDocumentText } from '../documents/document-text.ts'
import type { OpenCollection } from '@tidemark/store/engine'
import type { GatewayRequest, Operation } from '../requests/gateway-request.ts'
import type { RequestedStart } from './feed-start.ts'
import { MAX_FEED_CHARS, assertNotBeyond, feedItemCount } from './feed-limits.ts'
import { readFeed, type FeedFrom } from './read-feed.ts'
import type { PositionedPage } from './waiting-read.ts'

/** GET …/docs with `A-IM: Full-Fidelity Feed`: every create, replace and delete, from now or from an etag on. */
export const readFullFidelityFeed: Operation = (request, context) =>
  readFeed(request, context, { mode: 'allVersions', checkStart, read: readFrom })

function checkStart({ kind }: RequestedStart): void {
  if (kind === 'beginning') {
    throw new BadRequestError(
      "Start from beginning is not supported with 'All Versions and Deletes' mode. " +
        'You must read the change feed from within the retention period.',
    )
  }
  if (kind === 'time') {
    throw new BadRequestError(
      "Start from a time is not supported with 'All Versions and Deletes' mode.",
    )
  }
}

async function readFrom(request: GatewayRequest, from: FeedFrom): Promise<PositionedPage> {
  const { open, scope } = from
  const { record: collection } = open
  const maxItems = feedItemCount(request)
  const { keys: range, partitionKey } = scope
  const { signal } = request
  let { afterLsn } = from
  for (;;) {
    if (open.turns.due) await open.turns.take()
    const query = { collection, range, afterLsn, maxItems, maxChars: MAX_FEED_CHARS, signal }
    const { rows, lsn, newestLsn, caughtUp, horizon } = await open.engine.readVersionPage(query)
    assertNotBeyond(afterLsn, lsn)
    if (afterLsn < horizon) throw new HorizonPassedError({ range, lsn: afterLsn, horizon })
    const items = rows
      .filter((row) => partitionKey === undefined || row.partitionKey === partitionKey)
      .map((row) => versionText(row, open))
    for (const item of items) open.turns.spend(item.length)
    if (items.length > 0 || caughtUp) return { items, lsn, newestLsn }
    afterLsn = lsn
  }
}

/** One version as the wire has it. */
export function versionText(
  row: VersionRow,
  { record, stamp }: Pick<OpenCollection, 'record' | 'stamp'>,
): string {
  const { paths } = record.definition.partitionKey
  const { operation, current, previous, lsn, commitMs } = row
  const isDelete = operation === 'delete' || operation === 'expire'
  const metadata = {
    lsn,
    crts: Math.floor(commitMs / 1000),
    operationType: isDelete ? 'delete' : operation,
    previousImageLSN: previous?.lsn ?? 0,
    timeToLiveExpired: operation === 'expire',
    ...(isDelete && { id: row.id, partitionKey: keyProperties(row.partitionKey, paths) }),
  }
  const image =
    isDelete && previous !== undefined ? `,"previous":${feedDocumentText(stamp, previous)}` : ''
  const present = current === undefined ? '{}' : feedDocumentText(stamp, current)
  return `{"current":${present}${image},"metadata":${JSON.stringify(metadata)}}`
}

/** A partition key value by the names of its paths; a part that the document did not have is left out. */
function keyProperties(text: string, paths: readonly string[]): Readonly<Record<string, unknown>> {
  const components = parsePartitionKeyText(text)
  return Object.fromEntries(
    paths.flatMap((path, index) => {
      const component = components[index]
      return component === undefined ? [] : [[path.slice(1), component]]
    }),
  )
}
