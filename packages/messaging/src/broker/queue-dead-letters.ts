import {
  errorCode,
  InvalidOptionError,
  rangeContainsEpk,
  type DeadLetter,
  type DeadLetterSink,
  type DocumentBody,
  type FeedRange,
  type RecordedError,
  type RequestOptions,
  type SinkCallOptions,
} from '@tidemark/contracts'
import { checkOptions, optionOf, optionRule, type OptionRules } from '@tidemark/contracts/internal'
import {
  ACTIVE,
  deadLetterPath,
  type DeadLetterReason,
  type PeekedMessage,
} from '@tidemark/store/messages'
import {
  letterAddress,
  letterMessage,
  letterSession,
  parseLetter,
  type LetterAddress,
} from '../messages/letter-message.ts'
import { encodeMessage, headOf } from '../messages/message-codec.ts'
import type { ReceivedMessage } from '../messages/message.ts'
import type { BrokerContext } from './broker-context.ts'
import type { EntityCommands } from './entity-commands.ts'
import type { Receivers } from './receivers.ts'
import { assertSize, sendRefusal } from './send-refusals.ts'
import type { SessionReceiver } from './session-receiver.ts'

export interface QueueDeadLettersOptions {
  /**
   * Version of the hash of the monitored collection's partition key: it decides which lease a letter that is sent back
   * belongs to. @default 2 (what collections have unless a wire client asked for 1)
   */
  readonly partitionKeyVersion?: 1 | 2 | undefined
  /**
   * How long what was seen of letters that were sent back serves all leases of a host, in ms. Each lease asks every
   * `redrivePollMs` of its host.
   * @range any number, 0 or more @default 1_000
   */
  readonly redriveCacheMs?: number | undefined
}

const RULES: OptionRules<QueueDeadLettersOptions> = {
  partitionKeyVersion: optionOf(1, 2),
  redriveCacheMs: optionRule('0 or more', (value) => typeof value === 'number' && value >= 0),
}
const REDRIVE_CACHE_MS = 1_000
/** Letters that are handed out at a time. */
const TAKE_LIMIT = 8
/**
 * How long the lock of a letter is renewed. Not long: when its lease moves to another host, nobody gives the letter back, and
 * the other host has to wait for it. A letter whose lock has ended is settled nevertheless.
 */
const RENEW_MS = 60_000
/** Messages of one letter: more than one only when its host died at the wrong moment. */
const MAX_COPIES = 10
/** Messages that one look at a queue reads, and bytes of one piece. */
const MAX_SEEN = 10_000
const PIECE = 100
const PIECE_BYTES = 4 * 1024 * 1024
/** The longest reason and description (SET-04). */
const MAX_REASON_CHARACTERS = 4096

/** A letter that was sent back and that nobody has in hand, as it was seen. */
interface WaitingLetter extends LetterAddress {
  readonly session: string
}

/** A letter under the lock of its session. */
interface HeldLetter {
  readonly receiver: SessionReceiver
  readonly messages: readonly ReceivedMessage[]
}

/**
 * A queue as a processor's dead-letter sink. A letter stands in the queue's dead-letter queue, with the error's name and message as
 * reason and description. Who moves it back to the queue (`redriveDeadLetters`) sends it back: the host that has its
 * range takes it from there. What fails again returns to the dead-letter queue, what succeeds is completed.
 *
 * Each letter is a session of its own. The session's lock sees to it that one host has a letter at a time; when it ends too early,
 * the letter comes again.
 */
export class QueueDeadLetters implements DeadLetterSink, AsyncDisposable {
  readonly description: string
  readonly #context: BrokerContext
  readonly #receivers: Receivers
  readonly #path: string
  readonly #commands: EntityCommands
  readonly #keyVersion: 1 | 2
  readonly #cacheMs: number
  readonly #held = new Map<string, HeldLetter>()
  #seen:
    | { readonly untilMs: number; readonly letters: Promise<Map<string, WaitingLetter>> }
    | undefined

  /** Made by the broker. @throws ERR_INVALID_OPTION */
  constructor(
    { context, receivers }: { readonly context: BrokerContext; readonly receivers: Receivers },
    path: string,
    options: QueueDeadLettersOptions,
  ) {
    checkOptions(options, RULES)
    const { partitionKeyVersion = 2, redriveCacheMs = REDRIVE_CACHE_MS } = options
    this.description = `dead letters in queue ${JSON.stringify(path)}`
    this.#context = context
    this.#receivers = receivers
    this.#path = path
    this.#commands = context.commands(path)
    this.#keyVersion = partitionKeyVersion
    this.#cacheMs = redriveCacheMs
  }

  /** One that is there already is not stored again, within the duplicate detection window of the queue. */
  async put(letter: DeadLetter, { signal }: RequestOptions = {}): Promise<void> {
    await this.#perform(async () => {
      const session = letterSession(letter)
      if (this.#held.has(session) && (await this.#putBack(letter, signal))) return
      if (await this.#send(letter, session, signal)) return
      // It is known. It may be gone since then, and then it must not be dropped.
      if (await this.#putBack(letter, signal)) return
      if (await this.#isDead(session)) return
      await this.#send(letter, this.#context.random.hex(16), signal)
    })
  }

  takeRedriven<T extends DocumentBody = DocumentBody>({
    group,
    range,
    signal,
  }: { readonly group: string; readonly range: FeedRange } & SinkCallOptions): Promise<
    readonly DeadLetter<T>[]
  > {
    return this.#perform(async () => {
      const letters: DeadLetter<T>[] = []
      for (const waiting of (await this.#waiting()).values()) {
        if (waiting.group !== group || !rangeContainsEpk(range, waiting.epk)) continue
        const letter = await this.#take<T>(waiting, signal)
        if (letter !== undefined) letters.push(letter)
        if (letters.length >= TAKE_LIMIT) break
      }
      return letters
    })
  }

  /** Also when its lock has ended meanwhile, unless another host has it now. */
  async settle(letter: DeadLetter, { signal }: RequestOptions = {}): Promise<void> {
    await this.#perform(() =>
      this.#end(letterSession(letter), signal, async ({ receiver, messages }) => {
        for (const message of messages) await receiver.completeMessage(message)
      }),
    )
  }

  /** Gives back the letters that it has in hand. The broker does so, too, when it is closed. */
  async close(): Promise<void> {
    for (const session of this.#held.keys()) await this.#release(session)
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  async #perform<Result>(act: () => Promise<Result>): Promise<Result> {
    return this.#context.whileOpen(async () => {
      await this.#checkQueue()
      return act()
    })
  }

  async #checkQueue(): Promise<void> {
    const { kind, path, settings } = await this.#commands.record()
    if (kind !== 'queue' || !settings.requiresSession) {
      throw new InvalidOptionError(
        `dead letters need a queue with requiresSession, '${path}' is none`,
      )
    }
    if (settings.defaultTtlMs !== undefined && !settings.deadLettersExpired) {
      throw new InvalidOptionError(
        `'${path}' would drop dead letters that were sent back: it has defaultMessageTimeToLive and no deadLetteringOnMessageExpiration`,
      )
    }
  }

  /** Straight to the dead-letter queue. False when the queue knows the id. */
  async #send(
    letter: DeadLetter,
    messageId: string,
    signal: AbortSignal | undefined,
  ): Promise<boolean> {
    const encoded = encodeMessage(letterMessage(letter, this.#keyVersion), this.#context)
    const message = { ...encoded, messageId, deadLetter: reasonOf(letter.error) }
    assertSize(await this.#commands.record(), [message])
    const answer = await this.#commands.send([message], signal)
    if (answer.kind !== 'sent') throw sendRefusal(await this.#commands.record(), answer)
    return answer.numbers[0] !== undefined
  }

  /** Undefined: it is gone, another host has it, or it cannot be read. */
  async #take<T extends DocumentBody>(
    { session }: WaitingLetter,
    signal: AbortSignal,
  ): Promise<DeadLetter<T> | undefined> {
    const held = await this.#hold(session, signal)
    const [message] = held?.messages ?? []
    try {
      return message && parseLetter<T>(message.body)
    } catch (error) {
      // It is no letter of this release, and must not be in the way of others.
      await this.#bury(
        session,
        reasonOf(error instanceof Error ? error : new Error(String(error))),
        signal,
      )
      return undefined
    }
  }

  /** A letter that was sent back returns to the dead-letter queue. False when it is not there. */
  #putBack(letter: DeadLetter, signal: AbortSignal | undefined): Promise<boolean> {
    return this.#bury(letterSession(letter), reasonOf(letter.error), signal)
  }

  #bury(
    session: string,
    { reason, description }: DeadLetterReason,
    signal: AbortSignal | undefined,
  ): Promise<boolean> {
    return this.#end(session, signal, async ({ receiver, messages }) => {
      const [first, ...others] = messages
      if (first === undefined) return
      await receiver.deadLetterMessage(first, {
        deadLetterReason: reason,
        deadLetterErrorDescription: description,
      })
      for (const message of others) await receiver.completeMessage(message)
    })
  }

  /** Settles a letter that was sent back. False when there is none, or another host has it. */
  async #end(
    session: string,
    signal: AbortSignal | undefined,
    act: (held: HeldLetter) => Promise<void>,
  ): Promise<boolean> {
    const held = await this.#hold(session, signal)
    if (held === undefined) return false
    try {
      await act(held)
      const seen = await this.#seen?.letters.catch(() => undefined)
      seen?.delete(session)
      return true
    } finally {
      await this.#release(session)
    }
  }

  /** Takes a letter that was sent back into its hand. Undefined when it is gone, or another host has it. */
  async #hold(session: string, signal: AbortSignal | undefined): Promise<HeldLetter | undefined> {
    const known = this.#held.get(session)
    if (known !== undefined) {
      const { receiver } = known
      const isHeld = receiver.sessionLockedUntilUtc.getTime() > this.#context.storeNowMs()
      if (isHeld && !receiver.isClosed) return known
      await this.#release(session)
    }
    let receiver: SessionReceiver
    try {
      receiver = await this.#receivers.acceptSession(this.#path, session, {
        maxAutoLockRenewalDurationInMs: RENEW_MS,
        signal,
      })
    } catch (error) {
      if (errorCode(error) === 'ERR_SESSION_CANNOT_BE_LOCKED') return undefined
      throw error
    }
    try {
      const messages = await receiver.receiveMessages(MAX_COPIES, { maxWaitTimeInMs: 0, signal })
      if (messages.length > 0) {
        const held = { receiver, messages }
        this.#held.set(session, held)
        return held
      }
    } catch (error) {
      await receiver.close()
      throw error
    }
    await receiver.close()
    return undefined
  }

  async #release(session: string): Promise<void> {
    const held = this.#held.get(session)
    this.#held.delete(session)
    await held?.receiver.close()
  }

  /** Letters that were sent back and that nobody has in hand, in their order, and those in this sink's own hand. */
  #waiting(): Promise<ReadonlyMap<string, WaitingLetter>> {
    const nowMs = this.#context.clock.monotonicMs()
    if (this.#seen !== undefined && nowMs < this.#seen.untilMs) return this.#seen.letters
    const letters = this.#look()
    this.#seen = { untilMs: nowMs + this.#cacheMs, letters }
    letters.catch(() => {
      this.#seen = undefined
    })
    return letters
  }

  async #look(): Promise<Map<string, WaitingLetter>> {
    const letters = new Map<string, WaitingLetter>()
    for await (const message of peeked(this.#commands)) {
      const { sessionId: session, properties } = headOf(message)
      const address = letterAddress(properties)
      if (session === undefined || address === undefined || message.state !== ACTIVE) continue
      if (message.isLocked && !this.#held.has(session)) continue
      letters.set(session, { session, ...address })
      if (letters.size >= MAX_SEEN) break
    }
    return letters
  }

  async #isDead(messageId: string): Promise<boolean> {
    const { path } = await this.#commands.record()
    for await (const message of peeked(this.#context.commands(deadLetterPath(path)))) {
      if (headOf(message).messageId === messageId) return true
    }
    return false
  }
}

/** All messages of an entity, piece by piece. */
async function* peeked(commands: EntityCommands): AsyncGenerator<PeekedMessage> {
  for (let fromNumber = 0; ;) {
    const { answer } = await commands.perform('peek', {
      session: undefined,
      fromNumber,
      max: PIECE,
      maxBytes: PIECE_BYTES,
    })
    const last = answer.messages.at(-1)
    if (last === undefined) return
    yield* answer.messages
    fromNumber = last.number + 1
  }
}

/** As the processor recorded the error, as far as a dead letter can say it. */
function reasonOf({ name, message }: Pick<RecordedError, 'name' | 'message'>): DeadLetterReason {
  const cut = (text: string): string => text.slice(0, MAX_REASON_CHARACTERS).toWellFormed()
  return { reason: cut(name), description: cut(message) }
}
