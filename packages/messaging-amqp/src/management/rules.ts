import {
  MessagingNotAllowedError,
  type RuleOptions,
  type SubscriptionName,
} from '@tidemark/messaging'
import { typedProperties, type EntityRecord } from '@tidemark/messaging/front'
import type { ManagementCall, ManagementContext } from './management-call.ts'
import type { RequestFields } from './request-fields.ts'
import { describedRule } from './rule-on-wire.ts'
import { MAX_INT } from './wire-values.ts'

/** Rules in one answer, and their texts together. The first may be longer. */
const MAX_RULES = 1_000
const MAX_ANSWER_CHARACTERS = 1024 * 1024

export async function addRule({ fields, context }: ManagementCall): Promise<object> {
  const name = fields.text('rule-name')
  const description = readDescription(fields.map('rule-description'))
  const { subscription } = await findSubscription(context)
  await context.broker.createRule(subscription, { name, ...description })
  return {}
}

export async function removeRule({ fields, context }: ManagementCall): Promise<object> {
  const name = fields.text('rule-name')
  const { subscription } = await findSubscription(context)
  await context.broker.deleteRule(subscription, name)
  return {}
}

/** In the order in which they were added. Past the end there is nothing: the official client asks until then. */
export async function listRules({ fields, context }: ManagementCall): Promise<object | undefined> {
  const skip = fields.number('skip', { min: 0, max: MAX_INT })
  const top = fields.number('top', { min: 1, max: MAX_RULES })
  const { record } = await findSubscription(context)
  const rules: object[] = []
  let characters = 0
  for (const rule of record.rules.slice(skip, skip + top)) {
    characters += JSON.stringify(rule).length
    if (rules.length > 0 && characters > MAX_ANSWER_CHARACTERS) break
    rules.push({ 'rule-description': describedRule(rule) })
  }
  return rules.length === 0 ? undefined : { rules }
}

/** As it is stored now, whatever this process remembers of it. */
async function findSubscription({ front, path }: ManagementContext): Promise<{
  readonly record: EntityRecord
  readonly subscription: SubscriptionName
}> {
  const { number } = await front.entity(path)
  const all = await front.entities()
  const record = all.find((one) => one.number === number)
  const topic = all.find((one) => one.number === record?.parent)
  if (record?.kind !== 'subscription' || topic === undefined) {
    throw new MessagingNotAllowedError(`'${path}' has no rules: it is not a subscription`)
  }
  const name = record.path.slice(record.path.lastIndexOf('/') + 1)
  return { record, subscription: { topic: topic.path, subscription: name } }
}

function readDescription(description: RequestFields): Omit<RuleOptions, 'name'> {
  const action = description.optionalMap('sql-rule-action')
  return {
    filter: readFilter(description),
    ...(action === undefined ? {} : { action: { sqlExpression: action.text('expression') } }),
  }
}

function readFilter(description: RequestFields): NonNullable<RuleOptions['filter']> {
  const sql = description.optionalMap('sql-filter')
  if (sql !== undefined) return { sqlExpression: sql.text('expression') }
  const filter = description.map('correlation-filter')
  const properties = filter.properties('properties')
  return {
    correlationId: filter.optionalText('correlation-id'),
    messageId: filter.optionalText('message-id'),
    to: filter.optionalText('to'),
    replyTo: filter.optionalText('reply-to'),
    subject: filter.optionalText('label'),
    sessionId: filter.optionalText('session-id'),
    replyToSessionId: filter.optionalText('reply-to-session-id'),
    contentType: filter.optionalText('content-type'),
    applicationProperties: properties && typedProperties(properties),
  }
}
