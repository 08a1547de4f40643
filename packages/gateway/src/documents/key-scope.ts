import type { PartitionKeyComponent } from '@tidemark/contracts'
import type { EncodedPartitionKey, RangeRecord } from '@tidemark/store'
import type { FoundCollection } from '../collections/collection-directory.ts'
import type { Answer } from '../protocol/answer.ts'
import { OWN_HEADER } from '../protocol/extension-wire.ts'
import { HEADER } from '../protocol/header-names.ts'
import { assertIntended } from '../protocol/intended-container.ts'
import { chargeText } from '../protocol/request-charge.ts'
import { sessionToken } from '../protocol/session-token.ts'
import { collectionNames } from '../resources/resource-names.ts'
import type { GatewayContext, GatewayRequest } from '../requests/gateway-request.ts'
import { requiredPartitionKey } from './partition-key-header.ts'

/** One partition key value of a collection, and the range that holds it. */
export interface KeyScope extends FoundCollection {
  readonly partitionKey: readonly PartitionKeyComponent[]
  readonly key: EncodedPartitionKey
  readonly range: RangeRecord
}

/** What an operation on documents of one range comes to. */
export interface RangeOutcome {
  readonly status: number
  readonly charge: number
  /** What the session has seen of the range from now on; undefined when nothing new. */
  readonly lsn?: number | undefined
  readonly etag?: string | undefined
  /** The store's clock, epoch ms: for our own client. */
  readonly serverTimeMs?: number | undefined
  readonly headers?: Readonly<Record<string, string>> | undefined
  readonly body?: readonly string[] | undefined
}

/** Acts on the partition key value that the request names, within the budget of its range. */
export function inKeyScope(
  request: GatewayRequest,
  context: GatewayContext,
  act: (scope: KeyScope) => Promise<RangeOutcome>,
): Promise<Answer> {
  return context.collections.use(collectionNames(request.path), async (found) => {
    const partitionKey = requiredPartitionKey(request, found.open)
    const key = found.open.encoder.encodeKey(partitionKey)
    const range = await context.ranges.holding(found.open, key.epk)
    return inRange(request, context, { ...found, range }, () =>
      act({ ...found, partitionKey, key, range }),
    )
  })
}

/** Acts within the budget of one range, and answers with what every answer of a range has. */
export async function inRange(
  request: GatewayRequest,
  { budgets, sessions }: GatewayContext,
  { open, range }: Pick<KeyScope, 'open' | 'range'>,
  act: () => Promise<RangeOutcome>,
): Promise<Answer> {
  assertIntended(request, open.record)
  const budget = `${open.record.rid}/${range.number}`
  budgets.admit(budget)
  const { status, charge, lsn, etag, serverTimeMs, headers, body } = await act()
  budgets.spend(budget, charge)
  if (lsn !== undefined) sessions.saw(open, range, lsn)
  return {
    status,
    headers: {
      [HEADER.requestCharge]: chargeText(charge),
      [HEADER.contentPath]: open.record.rid,
      [HEADER.altContentPath]: request.path.raw.split('/').slice(0, 4).join('/'),
      ...(lsn !== undefined && {
        [HEADER.sessionToken]: sessionToken(range.number, lsn),
        [HEADER.lsn]: String(lsn),
      }),
      ...(etag !== undefined && { [HEADER.etag]: etag }),
      ...(serverTimeMs !== undefined && { [OWN_HEADER.serverTimeMs]: String(serverTimeMs) }),
      ...headers,
    },
    body,
  }
}
