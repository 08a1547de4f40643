import type { PropertyValue } from '../messages/message.ts'
import type { Duration } from './duration.ts'

interface EntityOptions {
  /** TTL of messages that have none, and the ceiling for all. @default never (in a namespace of tier Basic: P14D) */
  readonly defaultMessageTimeToLive?: Duration | undefined
  /** Unused for so long, the entity deletes itself. At least PT5M. @default never */
  readonly autoDeleteOnIdle?: Duration | undefined
  /** @default 1024 */
  readonly maxSizeInMegabytes?: number | undefined
  /** @default 1024 (1 MiB) */
  readonly maxMessageSizeInKilobytes?: number | undefined
  /** @default 'Active' */
  readonly status?: 'Active' | 'Disabled' | 'SendDisabled' | 'ReceiveDisabled' | undefined
  /** Your own text, at most 1024 characters. @default '' */
  readonly userMetadata?: string | undefined
}

interface ReceivingOptions {
  /** PT5S to PT5M. @default PT1M */
  readonly lockDuration?: Duration | undefined
  /** Deliveries until a message goes to the dead-letter queue. @default 10 */
  readonly maxDeliveryCount?: number | undefined
  /** Off: expired messages are dropped. @default false */
  readonly deadLetteringOnMessageExpiration?: boolean | undefined
  /** Cannot change later. @default false */
  readonly requiresSession?: boolean | undefined
  /** Path of a queue or topic that exists. @default none */
  readonly forwardTo?: string | undefined
  /** As `forwardTo`. @default none */
  readonly forwardDeadLetteredMessagesTo?: string | undefined
}

interface DuplicateDetectionOptions {
  /** Cannot change later. @default false */
  readonly requiresDuplicateDetection?: boolean | undefined
  /** PT20S to P7D. @default PT10M */
  readonly duplicateDetectionHistoryTimeWindow?: Duration | undefined
}

/** A subscription: the path of its topic, and its name. */
export interface SubscriptionName {
  readonly topic: string
  readonly subscription: string
}

export interface QueueOptions extends EntityOptions, ReceivingOptions, DuplicateDetectionOptions {}
export interface TopicOptions extends EntityOptions, DuplicateDetectionOptions {}
export interface SubscriptionOptions extends EntityOptions, ReceivingOptions {
  /** A filter that fails: on, the message goes to the dead-letter queue; off, there is no match. @default true */
  readonly deadLetteringOnFilterEvaluationExceptions?: boolean | undefined
  /** @default one rule `$Default` that matches everything */
  readonly rules?: readonly RuleOptions[] | undefined
}

export interface SqlRuleFilter {
  readonly sqlExpression: string
}

/** Matches messages that have all of these values. */
export interface CorrelationRuleFilter {
  readonly correlationId?: string | undefined
  readonly messageId?: string | undefined
  readonly to?: string | undefined
  readonly replyTo?: string | undefined
  readonly subject?: string | undefined
  readonly sessionId?: string | undefined
  readonly replyToSessionId?: string | undefined
  readonly contentType?: string | undefined
  readonly applicationProperties?: Readonly<Record<string, PropertyValue>> | undefined
}

export interface RuleOptions {
  readonly name: string
  /** @default everything */
  readonly filter?: SqlRuleFilter | CorrelationRuleFilter | undefined
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

export interface RuleProperties extends RuleOptions {
  readonly createdAtUtc: Date
}

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

export interface SubscriptionRuntimeProperties extends Omit<QueueRuntimeProperties, 'name'> {
  readonly topicName: string
  readonly subscriptionName: string
}

export interface TopicRuntimeProperties extends RuntimeProperties {
  readonly name: string
  readonly subscriptionCount: number
}
