import { assertNever } from '@tidemark/contracts/internal'
import {
  actionOf,
  type EntityCounts,
  type EntityRecord,
  type EntitySettings,
  type RuleFilter,
  type RuleRecord,
  type SqlText,
} from '@tidemark/store/messages'
import { fromStoredValues } from '../messages/stored-value.ts'
import { utcDate } from '../platform/utc-date.ts'
import { formatDuration, formatOptionalDuration } from './duration.ts'
import { subscriptionName } from './entity-names.ts'
import { DEFAULT_DUPLICATE_WINDOW_MS, expiresOf, KILOBYTE, MEGABYTE } from './entity-settings.ts'
import type {
  QueueProperties,
  QueueRuntimeProperties,
  RuleProperties,
  RuntimeProperties,
  SqlRuleFilter,
  SubscriptionProperties,
  TopicProperties,
} from './options.ts'

export function queueProperties({ path, settings }: EntityRecord): QueueProperties {
  return { name: path, ...queueSettings(settings) }
}

export function topicProperties({ path, settings }: EntityRecord): TopicProperties {
  return { name: path, ...topicSettings(settings) }
}

export function subscriptionProperties(
  { path, settings }: EntityRecord,
  topic: EntityRecord,
): SubscriptionProperties {
  return {
    topicName: topic.path,
    subscriptionName: subscriptionName(path),
    ...subscriptionSettings(settings),
  }
}

/** Every option of an entity by name, as it would be shown. */
export function shownSettings(
  kind: 'queue' | 'topic' | 'subscription',
  settings: EntitySettings,
): Readonly<Record<string, unknown>> {
  switch (kind) {
    case 'queue':
      return { ...queueSettings(settings) }
    case 'topic':
      return { ...topicSettings(settings) }
    case 'subscription':
      return { ...subscriptionSettings(settings) }
    default:
      return assertNever(kind)
  }
}

export function ruleProperties(rule: RuleRecord): RuleProperties {
  const { name, filter, createdMs } = rule
  const action = actionOf(rule)
  return {
    name,
    filter: ruleFilter(filter),
    ...(action === undefined ? {} : { action: sqlRule(action) }),
    createdAtUtc: utcDate(createdMs),
  }
}

/** Of an entity that has no messages of its own, but scheduled ones. */
export function runtimeProperties(record: EntityRecord, counts: EntityCounts): RuntimeProperties {
  return {
    createdAtUtc: utcDate(record.createdMs),
    modifiedAtUtc: utcDate(record.updatedMs),
    accessedAtUtc: utcDate(record.accessedMs),
    sizeInBytes: counts.bytes,
    scheduledMessageCount: counts.scheduled,
  }
}

/** Sizes and counts of dead letters stand beside those of their entity, as in the service. */
export function receivingRuntimeProperties(
  record: EntityRecord,
  counts: { readonly own: EntityCounts; readonly dead: EntityCounts },
): Omit<QueueRuntimeProperties, 'name'> {
  const { own, dead } = counts
  const deadLetterMessageCount = messageCount(dead)
  return {
    ...runtimeProperties(record, own),
    sizeInBytes: own.bytes + dead.bytes,
    totalMessageCount: messageCount(own) + deadLetterMessageCount,
    activeMessageCount: own.active,
    lockedMessageCount: own.locked,
    deferredMessageCount: own.deferred,
    deadLetterMessageCount,
    expiredMessageCount: own.expired,
    oldestEnqueuedTimeUtc:
      own.oldestEnqueuedMs === undefined ? undefined : utcDate(own.oldestEnqueuedMs),
  }
}

function messageCount({ active, deferred, scheduled }: EntityCounts): number {
  return active + deferred + scheduled
}

function queueSettings(settings: EntitySettings): Omit<QueueProperties, 'name'> {
  return { ...topicSettings(settings), ...receivingProperties(settings) }
}

function topicSettings(settings: EntitySettings): Omit<TopicProperties, 'name'> {
  return { ...entityProperties(settings), ...duplicateProperties(settings) }
}

function subscriptionSettings(
  settings: EntitySettings,
): Omit<SubscriptionProperties, 'topicName' | 'subscriptionName'> {
  return {
    ...entityProperties(settings),
    ...receivingProperties(settings),
    deadLetteringOnFilterEvaluationExceptions: settings.deadLettersFilterErrors,
  }
}

type CommonProperties = Omit<
  TopicProperties,
  'name' | 'requiresDuplicateDetection' | 'duplicateDetectionHistoryTimeWindow'
>

function entityProperties(settings: EntitySettings): CommonProperties {
  return {
    defaultMessageTimeToLive: formatOptionalDuration(settings.defaultTtlMs),
    autoDeleteOnIdle: formatOptionalDuration(settings.autoDeleteOnIdleMs),
    maxSizeInMegabytes: settings.maxBytes / MEGABYTE,
    maxMessageSizeInKilobytes: settings.maxMessageBytes / KILOBYTE,
    status: settings.status,
    userMetadata: settings.userMetadata,
  }
}

function receivingProperties(
  settings: EntitySettings,
): Omit<QueueProperties, keyof TopicProperties> {
  return {
    lockDuration: formatDuration(settings.lockDurationMs),
    maxDeliveryCount: settings.maxDeliveryCount,
    deadLetteringOnMessageExpiration: settings.deadLettersExpired,
    expires: expiresOf(settings),
    requiresSession: settings.requiresSession,
    forwardTo: settings.forwardTo,
    forwardDeadLetteredMessagesTo: settings.forwardDeadLettersTo,
  }
}

function duplicateProperties({
  duplicateWindowMs,
}: EntitySettings): Pick<
  TopicProperties,
  'requiresDuplicateDetection' | 'duplicateDetectionHistoryTimeWindow'
> {
  return {
    requiresDuplicateDetection: duplicateWindowMs !== undefined,
    duplicateDetectionHistoryTimeWindow: formatDuration(
      duplicateWindowMs ?? DEFAULT_DUPLICATE_WINDOW_MS,
    ),
  }
}

function sqlRule({ expression: sqlExpression, parameters }: SqlText): SqlRuleFilter {
  if (parameters === undefined) return { sqlExpression }
  return { sqlExpression, parameters: fromStoredValues(parameters) }
}

function ruleFilter(filter: RuleFilter): NonNullable<RuleProperties['filter']> {
  switch (filter.kind) {
    case 'true':
      return { sqlExpression: '1=1' }
    case 'false':
      return { sqlExpression: '1=0' }
    case 'sql':
      return sqlRule(filter)
    case 'correlation': {
      const { applicationProperties, ...properties } = filter.filter
      if (applicationProperties === undefined) return properties
      return { ...properties, applicationProperties: fromStoredValues(applicationProperties) }
    }
    default:
      return assertNever(filter)
  }
}
