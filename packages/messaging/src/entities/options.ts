import type { PropertyValue } from '../messages/message.ts'
import type { Duration } from './duration.ts'

interface EntityOptions {
  /**
   * TTL of messages that have none, and the ceiling for all.
   * @unit ISO 8601 duration, or ms @range PT0.001S or more; of tier Basic at most P14D @default never (in a namespace
   * of tier Basic: P14D)
   */
  readonly defaultMessageTimeToLive?: Duration | undefined
  /**
   * Unused for this long, the entity deletes itself.
   * @unit ISO 8601 duration, or ms @range PT5M or more @default never
   */
  readonly autoDeleteOnIdle?: Duration | undefined
  /**
   * Maximum size of all its messages. When it is full, senders get ERR_QUOTA_EXCEEDED.
   * @unit MiB @range 1 to 1_048_576 @default 1024
   */
  readonly maxSizeInMegabytes?: number | undefined
  /** Maximum size of one message. @unit KiB @range 1 to 102_400 @default 1024 (1 MiB) */
  readonly maxMessageSizeInKilobytes?: number | undefined
  /** Whether it takes messages, and hands them out. @default 'Active' */
  readonly status?: 'Active' | 'Disabled' | 'SendDisabled' | 'ReceiveDisabled' | undefined
  /** Your own text, at most 1024 characters. @default '' */
  readonly userMetadata?: string | undefined
}

interface ReceivingOptions {
  /**
   * How long a receiver has a message to itself, unless it renews the lock.
   * @unit ISO 8601 duration, or ms @range PT5S to PT5M @default PT1M
   */
  readonly lockDuration?: Duration | undefined
  /** Deliveries until a message goes to the dead-letter queue. @unit deliveries @range 1 to 2_147_483_647 @default 10 */
  readonly maxDeliveryCount?: number | undefined
  /** On: expired messages go to the dead-letter queue; off: they are dropped. @default false */
  readonly deadLetteringOnMessageExpiration?: boolean | undefined
  /**
   * When an expired message leaves: only while somebody listens, as in the service; or always, while a broker runs that
   * knows the entity. @default 'whileListening'
   */
  readonly expires?: 'always' | 'whileListening' | undefined
  /** Every message belongs to a session, and receivers take whole sessions. Cannot change later. @default false */
  readonly requiresSession?: boolean | undefined
  /** Messages move on to the queue or topic of this path, which must exist. @default none */
  readonly forwardTo?: string | undefined
  /** Dead letters move on to the queue or topic of this path, which must exist. @default none */
  readonly forwardDeadLetteredMessagesTo?: string | undefined
}

interface DuplicateDetectionOptions {
  /** Drops a message whose id was sent before, within the window. Cannot change later. @default false */
  readonly requiresDuplicateDetection?: boolean | undefined
  /** How long ids are remembered. @unit ISO 8601 duration, or ms @range PT20S to P7D @default PT10M */
  readonly duplicateDetectionHistoryTimeWindow?: Duration | undefined
}

/** A subscription: the path of its topic, and its name. */
export interface SubscriptionName {
  readonly topic: string
  readonly subscription: string
}

/** What a queue is created with. */
export interface QueueOptions extends EntityOptions, ReceivingOptions, DuplicateDetectionOptions {}
/** What a topic is created with. */
export interface TopicOptions extends EntityOptions, DuplicateDetectionOptions {}
export interface SubscriptionOptions extends EntityOptions, ReceivingOptions {
  /** A filter that fails: on, the message goes to the dead-letter queue; off, there is no match. @default true */
  readonly deadLetteringOnFilterEvaluationExceptions?: boolean | undefined
  /** Which messages of the topic it gets. @default one rule `$Default` that matches everything */
  readonly rules?: readonly RuleOptions[] | undefined
}

/**
 * Matches messages for which the expression is true.
 *
 * @example { sqlExpression: 'price > @least', parameters: { '@least': 100 } }
 */
export interface SqlRuleFilter {
  /** A condition of a filter, or the steps of an action. */
  readonly sqlExpression: string
  /** What each `@name` of the expression stands for, by its name with the `@`. @default none */
  readonly parameters?: Readonly<Record<string, PropertyValue>> | undefined
}

/** Matches messages that have all of these values. */
export interface CorrelationRuleFilter {
  /** Value that the message must have. @default any */
  readonly correlationId?: string | undefined
  /** Value that the message must have. @default any */
  readonly messageId?: string | undefined
  /** Value that the message must have. @default any */
  readonly to?: string | undefined
  /** Value that the message must have. @default any */
  readonly replyTo?: string | undefined
  /** Value that the message must have. @default any */
  readonly subject?: string | undefined
  /** Value that the message must have. @default any */
  readonly sessionId?: string | undefined
  /** Value that the message must have. @default any */
  readonly replyToSessionId?: string | undefined
  /** Value that the message must have. @default any */
  readonly contentType?: string | undefined
  /** Properties with the values that the message must have. @default any */
  readonly applicationProperties?: Readonly<Record<string, PropertyValue>> | undefined
}

export interface RuleOptions {
  /** Name of the rule, unique in its subscription. */
  readonly name: string
  /** The messages that match it; false: none. @default everything */
  readonly filter?: SqlRuleFilter | CorrelationRuleFilter | false | undefined
  /** Changes the copy of a message that matched. @default none */
  readonly action?: SqlRuleFilter | undefined
}

/** Every option with its value; durations as ISO 8601. */
type Shown<Options> = {
  readonly [Name in keyof Options]-?: Duration extends NonNullable<Options[Name]>
    ? string
    : NonNullable<Options[Name]>
}

/** Undefined: never. */
interface ShownPeriods {
  readonly defaultMessageTimeToLive: string | undefined
  readonly autoDeleteOnIdle: string | undefined
}

/** Undefined: none. */
interface ShownDestinations {
  readonly forwardTo: string | undefined
  readonly forwardDeadLetteredMessagesTo: string | undefined
}

/** What was given, and every default. */
export interface QueueProperties
  extends
    Shown<Omit<QueueOptions, keyof ShownPeriods | keyof ShownDestinations>>,
    ShownPeriods,
    ShownDestinations {
  readonly name: string
}

/** What was given, and every default. */
export interface TopicProperties
  extends Shown<Omit<TopicOptions, keyof ShownPeriods>>, ShownPeriods {
  readonly name: string
}

/** What was given, and every default. Rules are listed by `listRules`. */
export interface SubscriptionProperties
  extends
    Shown<Omit<SubscriptionOptions, keyof ShownPeriods | keyof ShownDestinations | 'rules'>>,
    ShownPeriods,
    ShownDestinations {
  readonly topicName: string
  readonly subscriptionName: string
}

/** A rule as it is stored. A filter that nothing matches is shown as `1=0`. */
export interface RuleProperties extends RuleOptions {
  readonly filter?: SqlRuleFilter | CorrelationRuleFilter | undefined
  readonly createdAtUtc: Date
}

/** When an entity was made, changed and used, and how large it is. */
export interface RuntimeProperties {
  readonly createdAtUtc: Date
  readonly modifiedAtUtc: Date
  readonly accessedAtUtc: Date
  readonly sizeInBytes: number
  readonly scheduledMessageCount: number
}

export interface QueueRuntimeProperties extends RuntimeProperties {
  readonly name: string
  /** All, with the dead-letter queue. */
  readonly totalMessageCount: number
  /** Active messages, locked ones included. */
  readonly activeMessageCount: number
  readonly lockedMessageCount: number
  readonly deferredMessageCount: number
  readonly deadLetterMessageCount: number
  /** Active messages that have expired and that no listener has made leave. */
  readonly expiredMessageCount: number
  readonly oldestEnqueuedTimeUtc: Date | undefined
}

/** Counts of a subscription. */
export interface SubscriptionRuntimeProperties extends Omit<QueueRuntimeProperties, 'name'> {
  readonly topicName: string
  readonly subscriptionName: string
}

/** Counts of a topic. */
export interface TopicRuntimeProperties extends RuntimeProperties {
  readonly name: string
  readonly subscriptionCount: number
}
