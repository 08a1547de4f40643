import {
  option,
  optionGroup,
  optionOf,
  optionRule,
  requiredOption,
  type OptionRules,
} from '@tidemark/contracts/internal'
import { DURATION } from './namespace.ts'
import type {
  CorrelationRuleFilter,
  QueueOptions,
  RuleOptions,
  SqlRuleFilter,
  SubscriptionOptions,
  TopicOptions,
} from './options.ts'

type Entity = Omit<TopicOptions, keyof DuplicateDetection>
type DuplicateDetection = Pick<
  TopicOptions,
  'requiresDuplicateDetection' | 'duplicateDetectionHistoryTimeWindow'
>
type Receiving = Omit<QueueOptions, keyof TopicOptions>

const LIST = optionRule('a list', (value) => Array.isArray(value))

const ENTITY: OptionRules<Entity> = {
  defaultMessageTimeToLive: DURATION,
  autoDeleteOnIdle: DURATION,
  maxSizeInMegabytes: option.number,
  maxMessageSizeInKilobytes: option.number,
  status: optionOf('Active', 'Disabled', 'SendDisabled', 'ReceiveDisabled'),
  userMetadata: option.text,
}

const RECEIVING: OptionRules<Receiving> = {
  lockDuration: DURATION,
  maxDeliveryCount: option.number,
  deadLetteringOnMessageExpiration: option.flag,
  expires: optionOf('always', 'whileListening'),
  requiresSession: option.flag,
  forwardTo: option.text,
  forwardDeadLetteredMessagesTo: option.text,
}

const DUPLICATE_DETECTION: OptionRules<DuplicateDetection> = {
  requiresDuplicateDetection: option.flag,
  duplicateDetectionHistoryTimeWindow: DURATION,
}

export const QUEUE_RULES: OptionRules<QueueOptions> = {
  ...ENTITY,
  ...RECEIVING,
  ...DUPLICATE_DETECTION,
}

export const TOPIC_RULES: OptionRules<TopicOptions> = { ...ENTITY, ...DUPLICATE_DETECTION }

export const SUBSCRIPTION_RULES: OptionRules<SubscriptionOptions> = {
  ...ENTITY,
  ...RECEIVING,
  deadLetteringOnFilterEvaluationExceptions: option.flag,
  rules: LIST,
}

const PROPERTIES = optionRule(
  'an object of properties',
  (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
)

export const SQL_RULES: OptionRules<SqlRuleFilter> = {
  sqlExpression: requiredOption(option.text),
  parameters: PROPERTIES,
}

export const CORRELATION_RULES: OptionRules<CorrelationRuleFilter> = {
  correlationId: option.text,
  messageId: option.text,
  to: option.text,
  replyTo: option.text,
  subject: option.text,
  sessionId: option.text,
  replyToSessionId: option.text,
  contentType: option.text,
  applicationProperties: PROPERTIES,
}

export const RULE_RULES: OptionRules<RuleOptions> = {
  name: requiredOption(option.text),
  filter: optionRule(
    'an object with sqlExpression, or with properties to compare, or false',
    (value) => value === false || (typeof value === 'object' && value !== null),
  ),
  action: optionGroup(SQL_RULES),
}
