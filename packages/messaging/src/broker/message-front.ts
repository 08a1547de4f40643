import type { Clock, Random } from '@tidemark/contracts'
import type {
  EntityCounts,
  EntityRecord,
  ListedSession,
  NewMessage,
  ReceiveMode,
  StoredMessage,
} from '@tidemark/store/messages'
import type { EntityAdministration } from '../entities/entity-administration.ts'
import type { BrokerContext } from './broker-context.ts'
import { commitTogether, type TransactionStep } from './commit-together.ts'
import type { HeldSession } from './held-session.ts'
import type { ReceiverLink } from './receiver-link.ts'
import type { Receivers } from './receivers.ts'
import { cancelScheduled, sendStored } from './send-stored.ts'

/** A session that a client of a front holds. Closing the link releases it. */
export interface SessionLink {
  readonly link: ReceiverLink
  readonly held: HeldSession
}

export interface FrontPeekOptions {
  /** Undefined: messages of all sessions. Nobody needs to hold it. */
  readonly session: string | undefined
  /** The sequence number where to begin. @unit number @range 0 or more */
  readonly fromNumber: number
  /** Maximum number of messages. @unit messages @range 1 or more */
  readonly max: number
  /** Bytes of all messages together; the first message may have more. @range 1 or more */
  readonly maxBytes: number
}

export interface AcceptLinkOptions {
  /** Whether messages are locked, or gone when they are received. */
  readonly mode: ReceiveMode
  /** Undefined: some session that is free and has messages. */
  readonly sessionId: string | undefined
  /** How long to wait for such a session. @range any number, 0 or more */
  readonly maxWaitMs: number
  readonly signal: AbortSignal
}

/** Calls of the broker that create and change what keeps texts to show. */
export type EntityWriter = Pick<
  EntityAdministration,
  | 'createQueue'
  | 'createSubscription'
  | 'createTopic'
  | 'updateQueue'
  | 'updateSubscription'
  | 'updateTopic'
>

/**
 * The broker as a front for a wire protocol sees it: messages as they are stored, under locks that the front's clients
 * renew themselves. Made by `MessageBroker.front`. Its calls reject with the errors of the broker's own.
 */
export class MessageFront {
  readonly #context: BrokerContext
  readonly #receivers: Receivers
  readonly #administration: EntityAdministration

  constructor({
    context,
    receivers,
    administration,
  }: {
    readonly context: BrokerContext
    readonly receivers: Receivers
    readonly administration: EntityAdministration
  }) {
    this.#context = context
    this.#receivers = receivers
    this.#administration = administration
  }

  /** Creates and changes entities as the broker does; they keep these texts for who shows them again. */
  administration(shown: Readonly<Record<string, string>>): EntityWriter {
    return this.#administration.showing(shown)
  }

  get clock(): Clock {
    return this.#context.clock
  }

  get random(): Random {
    return this.#context.random
  }

  /** Rejects with ERR_MESSAGING_ENTITY_NOT_FOUND. */
  entity(path: string): Promise<EntityRecord> {
    return this.#context.whileOpen(() => this.#context.commands(path).record())
  }

  /** All as they are stored now. Those that are idle are deleted first. */
  entities(): Promise<readonly EntityRecord[]> {
    return this.#context.whileOpen(() => this.#context.storedEntities())
  }

  /** What is in an entity now. Rejects with ERR_MESSAGING_ENTITY_NOT_FOUND. */
  count(entity: EntityRecord): Promise<EntityCounts> {
    return this.#context.whileOpen(() => this.#context.count(entity))
  }

  /** Id of the database that is the namespace. */
  get namespaceName(): string {
    return this.#context.database.id
  }

  /** Together: all or none. Resolves with their numbers when they are durable; a duplicate has none. */
  send(path: string, messages: readonly NewMessage[]): Promise<readonly (number | undefined)[]> {
    return this.#context.whileOpen(() =>
      sendStored(this.#context.commands(path), messages, undefined),
    )
  }

  /** All of it, or nothing. Rejects with the error of what could not be done. */
  commit(steps: readonly TransactionStep[]): Promise<void> {
    return this.#context.whileOpen(() => commitTogether(this.#context, steps))
  }

  /** For messages that are scheduled in a transaction. No other message gets these numbers. */
  reserveNumbers(path: string, count: number): Promise<readonly number[]> {
    return this.#context.whileOpen(async () => {
      const { answer } = await this.#context.commands(path).perform('reserve', { count })
      return Array.from({ length: count }, (_, at) => answer.first + at)
    })
  }

  /** All of them, or none. Rejects with ERR_MESSAGE_NOT_FOUND. */
  cancelScheduled(path: string, numbers: readonly number[]): Promise<void> {
    return this.#context.whileOpen(() => cancelScheduled(this.#context.commands(path), numbers))
  }

  /** In the order of numbers, whatever their state; of a topic, those that are scheduled. */
  peek(path: string, options: FrontPeekOptions): Promise<readonly StoredMessage[]> {
    return this.#context.whileOpen(async () => {
      const { answer } = await this.#context.commands(path).perform('peek', options)
      return answer.messages
    })
  }

  /** In the order of names, after this one: sessions that have messages or a state. */
  listSessions(path: string, after: string, max: number): Promise<readonly ListedSession[]> {
    return this.#context.whileOpen(async () => {
      const { answer } = await this.#context.commands(path).perform('listSessions', { after, max })
      return answer.sessions
    })
  }

  /** Of an entity without sessions, or of a dead-letter queue. Does no I/O. It can settle without being a listener. */
  openLink(path: string, mode: ReceiveMode): ReceiverLink {
    return this.#receivers.openLink(path, { mode, held: undefined })
  }

  /** Rejects with ERR_SESSION_CANNOT_BE_LOCKED, or ERR_SERVICE_TIMEOUT when no session was free in time. */
  async acceptSession(
    path: string,
    { mode, sessionId, maxWaitMs, signal }: AcceptLinkOptions,
  ): Promise<SessionLink> {
    const options = {
      receiveMode: mode,
      prefetchCount: 0,
      maxAutoLockRenewalDurationInMs: 0,
      maxWaitTimeInMs: maxWaitMs,
      signal,
    }
    const held =
      sessionId === undefined
        ? await this.#receivers.holdNextSession(path, options)
        : await this.#receivers.holdSession(path, sessionId, options)
    return { link: this.#receivers.openLink(path, { mode, held }), held }
  }
}
