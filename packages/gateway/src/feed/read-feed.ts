import { InvalidContinuationError, type FeedMode, BadRequestError } from '@tidemark/contracts'
import type { OpenCollection } from '@tidemark/store/engine'
import { inRange } from '../documents/key-scope.ts'
import { assertSession } from '../documents/session-check.ts'
import type { Answer } from '../protocol/answer.ts'
import { HEADER } from '../protocol/header-names.ts'
import { chargeText } from '../protocol/request-charge.ts'
import { collectionNames } from '../resources/resource-names.ts'
import type { GatewayContext, GatewayRequest } from '../requests/gateway-request.ts'
import { feedOutcome } from './feed-outcome.ts'
import { feedScopes, type FeedScope } from './feed-scope.ts'
import { requestedStart, startLsn, turnOf, type RequestedStart } from './feed-start.ts'
import { positionIn, rangesEtag } from './range-positions.ts'
import { readUntilChange, waitTimeMs, type PositionedPage } from './waiting-read.ts'

/** What a page is read from. */
export interface FeedFrom {
  readonly open: OpenCollection
  readonly scope: FeedScope
  readonly afterLsn: number
}

/** What one of the two feeds has of its own. */
export interface Feed {
  readonly mode: FeedMode
  /** @throws ERR_BAD_REQUEST for a start that this feed has not */
  readonly checkStart?: ((start: RequestedStart) => void) | undefined
  /** One page; looks on through stretches where nothing is for this reader. */
  readonly read: (request: GatewayRequest, from: FeedFrom) => Promise<PositionedPage>
}

/** A page of a feed, from what the request names; without a name of all pkranges in turn. */
export function readFeed(
  request: GatewayRequest,
  context: GatewayContext,
  feed: Feed,
): Promise<Answer> {
  return context.collections.use(collectionNames(request.path), async ({ open }) => {
    const scopes = await feedScopes(request, context, open)
    const start = requestedStart(request)
    feed.checkStart?.(start)
    const [only] = scopes
    if (only === undefined || scopes.length > 1) {
      return readInTurn(request, context, { open, feed, scopes, start })
    }
    const afterLsn = (): Promise<number> => positionOf(open, feed, { scope: only, start })
    return (await readScope(request, context, { open, feed, scope: only, afterLsn })).answer
  })
}

interface ScopeAnswer {
  readonly answer: Answer
  readonly lsn: number
}

async function readScope(
  request: GatewayRequest,
  context: GatewayContext,
  {
    open,
    feed,
    scope,
    afterLsn,
  }: Omit<FeedFrom, 'afterLsn'> & {
    readonly feed: Feed
    readonly afterLsn: () => Promise<number>
  },
): Promise<ScopeAnswer> {
  const { range, keys } = scope
  let lsn = 0
  const answer = await inRange(request, context, { open, range }, async () => {
    await assertSession(request, context, { open, ranges: [range], keys })
    const page = await readUntilChange(request, context, {
      open,
      scope,
      afterLsn: await afterLsn(),
      read: (after) => feed.read(request, { open, scope, afterLsn: after }),
    })
    lsn = page.lsn
    return feedOutcome(open, range, page)
  })
  return { answer, lsn }
}

/**
 * The first page that one of several pkranges has, with an etag that holds the position in all of them. The range that
 * had it comes last the next time.
 */
async function readInTurn(
  request: GatewayRequest,
  context: GatewayContext,
  {
    open,
    feed,
    scopes,
    start,
  }: {
    readonly open: OpenCollection
    readonly feed: Feed
    readonly scopes: readonly FeedScope[]
    readonly start: RequestedStart
  },
): Promise<Answer> {
  if (waitTimeMs(request, context) > 0) {
    throw new BadRequestError(
      `a read that waits needs one pkrange, named by header ${HEADER.pkRangeId}`,
    )
  }
  if (start.kind === 'lsn') assertOneOrigin(scopes)
  const turns = scopes.toSorted((a, b) => turnOf(start, a.range) - turnOf(start, b.range))
  // Also of those that are not read now: "now" and a time stay where they were at the first request.
  const positions = new Map<number, number>()
  for (const scope of turns) {
    positions.set(scope.range.number, await positionOf(open, feed, { scope, start }))
  }
  let charge = 0
  const tokens: string[] = []
  let last: Answer = { status: 304, headers: {} }
  for (const scope of turns) {
    const { number } = scope.range
    const afterLsn = async (): Promise<number> => positions.get(number) ?? 0
    const { answer, lsn } = await readScope(request, context, { open, feed, scope, afterLsn })
    last = answer
    charge += Number(answer.headers[HEADER.requestCharge])
    const token = answer.headers[HEADER.sessionToken]
    if (token !== undefined) tokens.push(token)
    positions.delete(number)
    positions.set(number, lsn)
    if (answer.status === 200) break
  }
  return {
    ...last,
    headers: {
      ...last.headers,
      [HEADER.etag]: rangesEtag(positions),
      [HEADER.requestCharge]: chargeText(charge),
      [HEADER.sessionToken]: tokens.join(','),
    },
  }
}

/**
 * A plain position without the name of a pkrange is of a time when there was one: all that are there now came of it.
 *
 * @throws ERR_INVALID_CONTINUATION
 */
function assertOneOrigin(scopes: readonly FeedScope[]): void {
  const isShared = (parent: number): boolean =>
    scopes.every(({ range }) => range.parents.includes(parent))
  if (scopes[0]?.range.parents.some(isShared) === true) return
  throw new InvalidContinuationError(
    `the etag is a position in one pkrange: name that by header ${HEADER.pkRangeId}`,
  )
}

/** The LSN after which a reader of one pkrange begins. */
async function positionOf(
  open: OpenCollection,
  { mode }: Feed,
  { scope, start }: { readonly scope: FeedScope; readonly start: RequestedStart },
): Promise<number> {
  if (start.kind === 'positions') return positionIn(start.positions, scope.range)
  return startLsn(open, { range: scope.keys, start, mode })
}
