import {
  AllVersionsOffError,
  checkedStart,
  continuationPosition,
  encodeContinuation,
  FULL_RANGE,
  lsn,
  rangeContainsEpk,
  type ChangeFeedSource,
  type DocumentBody,
  type DocumentChange,
  type FeedLag,
  type FeedLagRequest,
  type FeedMode,
  type FeedPage,
  type FeedPageRequest,
  type FeedPosition,
  type FeedRange,
  type FeedStartRequest,
  type FeedSupport,
  type FeedWaitRequest,
  type SourceRange,
} from '@tidemark/contracts'
import { changeEpk } from '@tidemark/contracts/internal'
import {
  readChanges,
  type EntityRecord,
  type PeekedMessage,
  type StoredMessage,
} from '@tidemark/store/messages'
import { deadLetterPath, isDeadLetterPath } from '../entities/entity-names.ts'
import { decodeMessage } from '../messages/message-codec.ts'
import type { ReceivedMessage } from '../messages/message.ts'
import type { BrokerContext } from './broker-context.ts'
import type { EntityCommands } from './entity-commands.ts'

/** A dead letter as an observer gets it: the document of a change. */
export interface DeadLetteredMessage<Body = unknown> extends DocumentBody {
  /** The sequence number in the dead-letter queue, as text. */
  readonly id: string
  /** Path of the dead-letter queue. */
  readonly entityPath: string
  readonly message: ReceivedMessage<Body>
  /** `TTLExpiredException` of a message that expired. Undefined when its receiver gave none. */
  readonly reason: string | undefined
  readonly description: string | undefined
  /** By the store's clock, epoch ms. */
  readonly deadLetteredAtMs: number
}

const DEFAULT_PAGE = 100
const DEFAULT_LAG_LIMIT = 1_000
/** Messages, and about the bytes, that one look reads. */
const PIECE = 100
const PIECE_BYTES = 4 * 1024 * 1024
/** Messages have one history: numbers continue above all earlier ones, also in a restored store. */
const EPOCH = 1

interface Peeked {
  readonly messages: readonly PeekedMessage[]
  /** Every number up to here was given before the look; what is not shown of it is gone. */
  readonly newest: number
}

interface ReadRequest {
  readonly range: FeedRange
  readonly continuation: string
  readonly mode?: FeedMode | undefined
}

/**
 * What goes to the dead-letter queue of an entity, expired messages included, as a change feed: for observers under a
 * `ChangeFeedProcessorHost`. Reading takes nothing away. One range has all keys; the LSN is the sequence number in the
 * dead-letter queue, which is given in the commit, so the order is exact and nothing appears below a position. The
 * partition key is the session, or the message's id.
 *
 * A message that was removed before it was read (completed, redriven, forwarded) does not come. Expired messages come when
 * they leave the entity: with `deadLetteringOnMessageExpiration`, and when somebody listens.
 */
export class DeadLetterFeed<Body = unknown> implements ChangeFeedSource<DeadLetteredMessage<Body>> {
  readonly description: string
  readonly supports: FeedSupport = { waiting: true, childrenCarryParentChanges: true }
  readonly #context: BrokerContext
  readonly #commands: EntityCommands
  #incarnation: string | undefined

  /** Made by the broker. */
  constructor(context: BrokerContext, path: string) {
    this.description = isDeadLetterPath(path) ? path : deadLetterPath(path)
    this.#context = context
    this.#commands = context.commands(this.description)
  }

  /** Another one after the entity was created again. By its path before the first call. */
  get identity(): string {
    const entity = this.#incarnation ?? this.description.toLowerCase()
    return `${this.#context.database.identity}/messages/${entity}`
  }

  /** Rejects with ERR_MESSAGING_ENTITY_NOT_FOUND, as every call. */
  async readFeedRanges(): Promise<readonly SourceRange[]> {
    await this.#open(undefined)
    return [FULL_RANGE]
  }

  /** A date means what was dead-lettered in its second and later. */
  async resolveStart(request: FeedStartRequest): Promise<FeedPosition> {
    const { range, mode, signal } = request
    const start = checkedStart('start', request.start)
    signal?.throwIfAborted()
    const { incarnation } = await this.#open(mode)
    if (start === 'beginning') return positionAt(incarnation, range, 0)
    if (start === 'now') {
      const { newest } = await this.#peek(Number.MAX_SAFE_INTEGER, 1)
      return positionAt(incarnation, range, newest)
    }
    const at =
      'continuation' in start
        ? await this.#positionOf({ ...start, range, mode })
        : (await this.#firstSince(start.getTime())) - 1
    return positionAt(incarnation, range, at)
  }

  async readPage(request: FeedPageRequest): Promise<FeedPage<DeadLetteredMessage<Body>>> {
    const { range, maxItemCount = -1, signal } = request
    signal?.throwIfAborted()
    const { incarnation, record } = await this.#open(request.mode)
    const after = await this.#positionOf(request)
    const max = maxItemCount === -1 ? DEFAULT_PAGE : maxItemCount
    const { messages, newest } = await this.#peek(after + 1, max)
    const changes = messages
      .map((message) => changeOf<Body>(message, record))
      .filter((change) => isIn(range, change))
    // Numbers above the last one may be in the next piece. Without any message, all of them are gone.
    const end = messages.at(-1)?.number ?? Math.max(after, newest)
    return { ...positionAt(incarnation, range, end), changes, caughtUp: end >= newest }
  }

  async waitForChanges(request: FeedWaitRequest): Promise<boolean> {
    const { timeoutMs, signal } = request
    signal.throwIfAborted()
    const { record } = await this.#open(request.mode)
    const after = await this.#positionOf(request)
    const engine = await this.#context.engine()
    const news = new AbortController()
    const endWatch = engine.watch((entities) => {
      if (entities?.includes(record.number) !== false) news.abort()
    })
    try {
      // What was committed before the watch began rings no bell.
      const { newest } = await this.#peek(Number.MAX_SAFE_INTEGER, 1)
      if (newest > after) return true
      const either = AbortSignal.any([signal, news.signal])
      await this.#context.clock.sleep(timeoutMs, either, { purpose: 'background' })
      return false
    } catch (error) {
      signal.throwIfAborted()
      if (news.signal.aborted) return true
      throw error
    } finally {
      endWatch()
    }
  }

  async measureLag(request: FeedLagRequest): Promise<FeedLag> {
    const { range, limit = DEFAULT_LAG_LIMIT, signal } = request
    const { record } = await this.#open(request.mode)
    let after = await this.#positionOf(request)
    let remainingChanges = 0
    let oldestChangeMs: number | undefined
    for (;;) {
      signal?.throwIfAborted()
      const { messages, newest } = await this.#peek(
        after + 1,
        Math.min(PIECE, limit - remainingChanges),
      )
      for (const message of messages) {
        const change = changeOf<Body>(message, record)
        if (!isIn(range, change)) continue
        remainingChanges += 1
        oldestChangeMs ??= change.committedAtMs
      }
      after = messages.at(-1)?.number ?? newest
      const isExact = messages.length === 0
      if (!isExact && remainingChanges < limit) continue
      return { newestLsn: lsn(newest), remainingChanges, isExact, oldestChangeMs }
    }
  }

  async #open(
    mode: FeedMode | undefined,
  ): Promise<{ readonly record: EntityRecord; readonly incarnation: string }> {
    if (mode === 'allVersions') throw new AllVersionsOffError(this.description)
    const record = await this.#context.whileOpen(() => this.#commands.record())
    const incarnation = `${record.number}-${record.createdMs}`
    this.#incarnation = incarnation
    return { record, incarnation }
  }

  /** @throws ERR_INVALID_CONTINUATION also when the entity was created again */
  async #positionOf({ range, continuation, mode = 'latestVersion' }: ReadRequest): Promise<number> {
    const { incarnation: collectionRid } = await this.#open(mode)
    return continuationPosition(continuation, { collectionRid, mode, range }).lsn
  }

  async #peek(fromNumber: number, max: number): Promise<Peeked> {
    const { answer } = await this.#context.whileOpen(() =>
      this.#commands.perform('peek', {
        session: undefined,
        fromNumber,
        max,
        maxBytes: PIECE_BYTES,
      }),
    )
    const { messages, next } = answer
    return { messages, newest: Math.max(next - 1, messages.at(-1)?.number ?? 0) }
  }

  /** The number of the first message that died in this second or later, or one above all. They died in the order of numbers. */
  async #firstSince(ms: number): Promise<number> {
    const secondMs = Math.floor(ms / 1000) * 1000
    let low = 1
    let high = (await this.#peek(Number.MAX_SAFE_INTEGER, 1)).newest + 1
    while (low < high) {
      const middle = Math.floor((low + high) / 2)
      const { messages } = await this.#peek(middle, 1)
      const [found] = messages
      if (found === undefined || diedMs(found) >= secondMs) high = middle
      else low = found.number + 1
    }
    return low
  }
}

function positionAt(incarnation: string, range: FeedRange, number: number): FeedPosition {
  const at = lsn(number)
  const continuation = encodeContinuation({
    collectionRid: incarnation,
    mode: 'latestVersion',
    positions: [{ range, epoch: EPOCH, lsn: at, purgeStamp: undefined }],
  })
  return { continuation, lsn: at }
}

function changeOf<Body>(
  stored: StoredMessage,
  { path, number: entity }: EntityRecord,
): DocumentChange<DeadLetteredMessage<Body>> {
  const message = decodeMessage<Body>(stored, undefined)
  const at = lsn(stored.number)
  const deadLetteredAtMs = diedMs(stored)
  const id = String(at)
  return {
    kind: 'document',
    id,
    partitionKey: message.sessionId ?? message.messageId,
    lsn: at,
    committedAtMs: deadLetteredAtMs,
    document: {
      id,
      entityPath: path,
      message,
      reason: message.deadLetterReason,
      description: message.deadLetterErrorDescription,
      deadLetteredAtMs,
      _rid: `${entity}-${id}`,
      _self: `${path}/${id}`,
      _etag: `"${id}"`,
      _ts: Math.floor(deadLetteredAtMs / 1000),
      _lsn: at,
    },
  }
}

/** Releases before this one did not note it. */
function diedMs({ changes, enqueuedMs }: StoredMessage): number {
  return readChanges(changes).diedMs ?? enqueuedMs
}

function isIn(range: FeedRange, change: DocumentChange): boolean {
  return rangeContainsEpk(range, changeEpk(change, 2))
}
