import type {
  AcceptSessionOptions,
  Message,
  MessageBatch,
  MessageBroker,
  MessageReceiver,
  ReceiverOptions,
  RuleOptions,
  RuleProperties,
  SessionReceiver,
  SubscriptionName,
} from '@tidemark/messaging'

/** A queue, a topic, or a subscription. */
export type EntityName = string | SubscriptionName

/** What cases do with a receiver. */
export type TestedReceiver = AsyncDisposable &
  Pick<
    MessageReceiver,
    | 'receiveMessages'
    | 'receiveDeferredMessages'
    | 'peekMessages'
    | 'completeMessage'
    | 'abandonMessage'
    | 'deferMessage'
    | 'deadLetterMessage'
    | 'renewMessageLock'
    | 'subscribe'
    | 'isClosed'
    | 'close'
  >

/** What cases do with a session that is held. */
export type TestedSession = TestedReceiver &
  Pick<
    SessionReceiver,
    | 'sessionId'
    | 'sessionLockedUntilUtc'
    | 'renewSessionLock'
    | 'getSessionState'
    | 'setSessionState'
  >

/** Messages that are sent together. */
export type TestedBatch = Pick<
  MessageBatch,
  'tryAddMessage' | 'count' | 'sizeInBytes' | 'maxSizeInBytes'
>

/** A rule as it is listed. */
export type TestedRule = Pick<RuleProperties, 'name'> & {
  readonly [Key in 'filter' | 'action']?: unknown
}

/** What cases do with a sender. */
export interface TestedSender {
  /** A batch must be of this sender. */
  sendMessages(messages: Message | readonly Message[] | TestedBatch): Promise<void>
  createMessageBatch(): Promise<TestedBatch>
  scheduleMessages(
    messages: Message | readonly Message[],
    scheduledEnqueueTimeUtc: Date,
  ): Promise<readonly number[]>
  cancelScheduledMessages(sequenceNumbers: number | readonly number[]): Promise<void>
}

/**
 * How cases send and receive, and change rules. A broker is one as it is. Another one is a client that speaks a protocol with a server before
 * the broker; it rejects with the codes of the broker's errors.
 */
export interface MessagingClient {
  createSender(queueOrTopic: string): TestedSender
  createReceiver(name: EntityName, options?: ReceiverOptions): TestedReceiver
  acceptSession(
    name: EntityName,
    sessionId: string,
    options?: ReceiverOptions,
  ): Promise<TestedSession>
  acceptNextSession(name: EntityName, options?: AcceptSessionOptions): Promise<TestedSession>
  createRule(name: SubscriptionName, rule: RuleOptions): Promise<unknown>
  deleteRule(name: SubscriptionName, rule: string): Promise<void>
  listRules(name: SubscriptionName): Promise<readonly TestedRule[]>
}

/** A client of one namespace, and what goes with it. */
export interface ConnectedClient extends AsyncDisposable {
  readonly client: MessagingClient
}

/** A way to reach a namespace other than its broker. */
export interface MessagingDriver {
  /** Part of the name of every case. */
  readonly name: string
  /** Turns of the event loop within which what is on its way arrives, and is answered. */
  readonly turns: number
  connect(broker: MessageBroker): Promise<ConnectedClient>
}
