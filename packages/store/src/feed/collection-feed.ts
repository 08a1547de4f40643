import {
  type DocumentBody,
  type FeedLag,
  type FeedLagRequest,
  type FeedMode,
  type FeedPage,
  type FeedPageRequest,
  type FeedPosition,
  type FeedStartRequest,
  type FeedSupport,
  type FeedWaitRequest,
  type JoinPositionsRequest,
  type PositionAtRequest,
  divideRange,
  type DivideRangeRequest,
  type FeedRange,
} from '@tidemark/contracts'
import type { OpenCollection } from '../documents/open-collection.ts'
import {
  checkedFeedMode,
  resolveChangesOptions,
  type ChangesOptions,
  type ChangesPage,
} from './changes-options.ts'
import { FeedReader } from './feed-reader.ts'
import { iterateChanges } from './iterate-changes.ts'
import { joinPositions } from './join-positions.ts'
import { measureLag } from './measure-lag.ts'
import { positionAt } from './position-at.ts'
import {
  feedPosition,
  readPage,
  readRowsPage,
  readTextPage,
  type FeedRowsPage,
  type FeedTextPage,
} from './read-page.ts'

export const FEED_SUPPORT: FeedSupport = {
  waiting: true,
  childrenCarryParentChanges: true,
  cuttable: true,
  allVersions: true,
}

/** One collection's feed by continuations, in both modes. See the methods of the same names of `Collection`. */
export class CollectionFeed<T extends DocumentBody> {
  readonly #open: () => Promise<OpenCollection>
  readonly #readers = new Map<FeedMode, FeedReader<T>>()

  constructor(open: () => Promise<OpenCollection>) {
    this.#open = open
  }

  async divideRange(request: DivideRangeRequest): Promise<readonly FeedRange[]> {
    request.signal?.throwIfAborted()
    const { record } = await this.#open()
    return divideRange(request.range, request.count, record.definition.partitionKey)
  }

  async resolveStart({ range, start, mode, signal }: FeedStartRequest): Promise<FeedPosition> {
    const reader = await this.#reader(mode, signal)
    return feedPosition(reader, await reader.start(range, start))
  }

  async positionAt(request: PositionAtRequest): Promise<FeedPosition> {
    const reader = await this.#reader(request.mode, request.signal)
    return feedPosition(reader, await positionAt(reader, request))
  }

  async measureLag(request: FeedLagRequest): Promise<FeedLag> {
    return measureLag(await this.#reader(request.mode, request.signal), request)
  }

  async readPage(request: FeedPageRequest): Promise<FeedPage<T>> {
    return readPage(await this.#reader(request.mode, request.signal), request)
  }

  async readPageText(request: FeedPageRequest): Promise<FeedTextPage> {
    return readTextPage(await this.#reader(request.mode, request.signal), request)
  }

  async readPageRows(request: FeedPageRequest): Promise<FeedRowsPage> {
    return readRowsPage(await this.#reader(request.mode, request.signal), request)
  }

  async waitForChanges(request: FeedWaitRequest): Promise<boolean> {
    const reader = await this.#reader(request.mode, undefined)
    const position = reader.position(request.continuation, request.range)
    return reader.wait(position, request.timeoutMs, request.signal)
  }

  async joinPositions(request: JoinPositionsRequest): Promise<FeedPosition | undefined> {
    const reader = await this.#reader(request.mode, request.signal)
    const joined = await joinPositions(reader, request.positions)
    return joined && feedPosition(reader, joined)
  }

  /** @throws ERR_INVALID_OPTION at once */
  changes(options: ChangesOptions<T>): AsyncGenerator<ChangesPage<T>, void, undefined> {
    const resolved = resolveChangesOptions(options)
    return iterateChanges(() => this.#reader(resolved.mode, undefined), resolved)
  }

  async #reader(
    wanted: FeedMode | undefined,
    signal: AbortSignal | undefined,
  ): Promise<FeedReader<T>> {
    signal?.throwIfAborted()
    const mode = checkedFeedMode(wanted)
    const made = this.#readers.get(mode)
    if (made !== undefined) return made
    const reader = new FeedReader<T>(await this.#open(), mode)
    this.#readers.set(mode, reader)
    return reader
  }
}
