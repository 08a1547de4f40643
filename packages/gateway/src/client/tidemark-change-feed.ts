import {
  divideRange,
  errorCode,
  lsn,
  type ChangeFeedSource,
  type DivideRangeRequest,
  type DocumentBody,
  type FeedLag,
  type FeedLagRequest,
  type FeedPage,
  type FeedPageRequest,
  type FeedPosition,
  type FeedRange,
  type FeedStartRequest,
  type FeedSupport,
  type FeedWaitRequest,
  type GroupPositions,
  type JoinPositionsRequest,
  type PositionAtRequest,
  type SourceRange,
} from '@tidemark/contracts'
import { PresentPkRanges, isJsonRecord } from '@tidemark/contracts/internal'
import type { ExtensionCall } from '../protocol/extension-wire.ts'
import {
  NOTHING_CAME,
  callExtension,
  callForText,
  callWaiting,
  notOurs,
  positionOf,
  type CallOptions,
} from './call-extension.ts'
import { BroughtPages, type PageWanted } from './brought-pages.ts'
import type { ResolvedFeedOptions } from './feed-options.ts'
import { pageOf } from './decode-rows.ts'
import type { ContainerFacts, RemoteContainer } from './remote-container.ts'
import { RemotePositions } from './remote-positions.ts'

/**
 * The feed of a collection behind our gateway: all that the store's own has, by the same continuations, so that
 * workers beside the store and workers elsewhere can share a group's leases.
 */
export class TidemarkChangeFeed<T extends DocumentBody> implements ChangeFeedSource<T> {
  readonly identity: string
  readonly description: string
  readonly supports: FeedSupport = {
    waiting: true,
    childrenCarryParentChanges: true,
    cuttable: true,
    allVersions: true,
  }
  readonly positions: GroupPositions
  readonly #container: RemoteContainer
  readonly #ranges: PresentPkRanges
  readonly #options: ResolvedFeedOptions
  readonly #brought = new BroughtPages<T>()
  #shape: Pick<FeedPageRequest, 'maxItemCount' | 'pendingDeletes'> = {}

  constructor(container: RemoteContainer, facts: ContainerFacts, options: ResolvedFeedOptions) {
    this.identity = facts.identity
    this.description = container.description
    this.positions = new RemotePositions(container)
    this.#container = container
    this.#ranges = new PresentPkRanges((signal) => container.readPkRanges(signal))
    this.#options = options
  }

  async readRid({ signal }: { signal?: AbortSignal | undefined } = {}): Promise<string> {
    return (await this.#container.facts(signal)).rid
  }

  async readFeedRanges({ signal }: { signal?: AbortSignal | undefined } = {}): Promise<
    readonly SourceRange[]
  > {
    return this.#ranges.refresh(signal)
  }

  async divideRange({ range, count }: DivideRangeRequest): Promise<readonly FeedRange[]> {
    return divideRange(range, count, this.#container.present.partitionKey)
  }

  async resolveStart({ mode, ...request }: FeedStartRequest): Promise<FeedPosition> {
    const { range, start, signal } = request
    const call = { call: 'resolveStart', range: plain(range), start, mode: mode ?? LATEST } as const
    return positionOf(await this.#call(call, { range, signal }))
  }

  async positionAt({
    range,
    lsn: at,
    mode,
    page,
    signal,
  }: PositionAtRequest): Promise<FeedPosition> {
    const call = { call: 'positionAt', range: plain(range), lsn: at, mode: mode ?? LATEST, page }
    return positionOf(await this.#call({ ...call, call: 'positionAt' }, { range, signal }))
  }

  async measureLag(request: FeedLagRequest): Promise<FeedLag> {
    const { range, continuation, limit, mode = LATEST, pendingDeletes = true, signal } = request
    const call = { call: 'measureLag', continuation, limit, mode, pendingDeletes } as const
    return lagOf(await this.#call({ ...call, range: plain(range) }, { range, signal }))
  }

  async readPage(request: FeedPageRequest): Promise<FeedPage<T>> {
    const { signal } = request
    const wanted = this.#wanted(request)
    signal?.throwIfAborted()
    this.#shape = { maxItemCount: wanted.maxItemCount, pendingDeletes: wanted.pendingDeletes }
    const brought = this.#brought.take(wanted)
    if (brought !== undefined) return brought
    const { range } = wanted
    const { sessionToken } = this.#options
    const text = await this.#named({ range, signal }, () =>
      callForText(
        this.#container,
        { call: 'readPage', ...wanted },
        { range, signal, sessionToken },
      ),
    )
    return pageOf<T>(text)
  }

  /** What has come is brought along, as the page that was read last would have it, for the next read of this position. */
  async waitForChanges(request: FeedWaitRequest): Promise<boolean> {
    const { timeoutMs, signal } = request
    const wanted = this.#wanted({ ...request, ...this.#shape })
    const { range } = wanted
    const { pollIntervalMs: restMs, sessionToken } = this.#options
    const text = await this.#named({ range, signal }, () =>
      callWaiting(
        this.#container,
        (waitMs) => ({ call: 'awaitPage', ...wanted, timeoutMs: waitMs }),
        { timeoutMs, restMs, signal, range, sessionToken },
      ),
    )
    if (text === NOTHING_CAME) return false
    this.#brought.put(wanted, pageOf<T>(text))
    return true
  }

  #wanted(request: FeedPageRequest): PageWanted {
    const { range, continuation, mode = LATEST, pendingDeletes = true } = request
    const { maxItemCount = this.#options.maxItemCount } = request
    return { range: plain(range), continuation, mode, maxItemCount, pendingDeletes }
  }

  async joinPositions(request: JoinPositionsRequest): Promise<FeedPosition | undefined> {
    const { mode = LATEST, signal } = request
    const positions = request.positions.map(({ range, continuation }) => {
      return { range: plain(range), continuation }
    })
    const joined = await this.#call({ call: 'joinPositions', mode, positions }, { signal })
    return joined === null ? undefined : positionOf(joined)
  }

  #call(call: ExtensionCall, options: CallOptions): Promise<unknown> {
    return this.#named(options, () => callExtension(this.#container, call, options))
  }

  /** ERR_RANGE_GONE names successors, which the wire does not: they are looked up. */
  async #named<Result>(
    {
      range,
      signal,
    }: { readonly range?: FeedRange | undefined; readonly signal?: AbortSignal | undefined },
    act: () => Promise<Result>,
  ): Promise<Result> {
    try {
      return await act()
    } catch (error) {
      if (errorCode(error) !== 'ERR_RANGE_GONE' || range === undefined) throw error
      throw await this.#ranges.gone(range, signal)
    }
  }
}

const LATEST = 'latestVersion'

/** Without what else a caller's object has. */
function plain({ minInclusive, maxExclusive }: FeedRange): FeedRange {
  return { minInclusive, maxExclusive }
}

function lagOf(value: unknown): FeedLag {
  if (isJsonRecord(value)) {
    const { newestLsn, remainingChanges, isExact, oldestChangeMs } = value
    if (
      typeof newestLsn === 'number' &&
      typeof remainingChanges === 'number' &&
      typeof isExact === 'boolean'
    ) {
      return {
        newestLsn: lsn(newestLsn),
        remainingChanges,
        isExact,
        oldestChangeMs: typeof oldestChangeMs === 'number' ? oldestChangeMs : undefined,
      }
    }
  }
  throw notOurs('lag')
}
