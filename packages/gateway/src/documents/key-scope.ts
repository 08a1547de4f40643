import type { PartitionKeyComponent } from '@tidemark/contracts'
import type { EncodedPartitionKey, RangeRecord } from '@tidemark/store/engine'
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
    assertIntended(request, found.open.record)
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
  const budget = `${open.record.rid}/${range.number}`
  budgets.admit(budget)
  const { status, charge, lsn, etag, serverTimeMs, headers, body } = await act()
  budgets.spend(budget, charge)
  if (lsn !== undefined) sessions.saw(open, range, lsn)
  const all: Record<string, string> = {
    [HEADER.requestCharge]: chargeText(charge),
    [HEADER.contentPath]: open.record.rid,
    [HEADER.altContentPath]: containerPath(request.path.raw),
  }
  if (lsn !== undefined) {
    all[HEADER.sessionToken] = sessionToken(range.number, lsn, request.header(HEADER.version))
    all[HEADER.lsn] = String(lsn)
  }
  if (etag !== undefined) all[HEADER.etag] = etag
  if (serverTimeMs !== undefined) all[OWN_HEADER.serverTimeMs] = String(serverTimeMs)
  if (headers !== undefined) Object.assign(all, headers)
  return { status, headers: all, body }
}

/** `dbs/…/colls/…`, as the client wrote it. */
function containerPath(raw: string): string {
  let end = -1
  for (let parts = 0; parts < CONTAINER_PARTS; parts++) {
    end = raw.indexOf('/', end + 1)
    if (end === -1) return raw
  }
  return raw.slice(0, end)
}

const CONTAINER_PARTS = 4
