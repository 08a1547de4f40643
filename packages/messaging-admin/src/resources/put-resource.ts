import type { MessageBroker, SubscriptionName } from '@tidemark/messaging'
import { entryElement, readEntry } from '../atom/entry.ts'
import type { XmlElement } from '../atom/xml-element.ts'
import { assertKnown } from '../descriptions/api-versions.ts'
import {
  QUEUE_READERS,
  shownTexts,
  SUBSCRIPTION_READERS,
  TOPIC_READERS,
} from '../descriptions/entity-readers.ts'
import { readProperties } from '../descriptions/read-properties.ts'
import { readRule } from '../descriptions/rule-description.ts'
import { InvalidRequestError } from '../errors/invalid-request-error.ts'
import { findRule, ruleEntry } from './get-resource.ts'
import type { ResourceAddress } from './resource-address.ts'
import type { ReachedAt } from './resource-urls.ts'
import { StoredResources } from './stored-resources.ts'

export interface WriteRequest {
  readonly broker: MessageBroker
  readonly reached: ReachedAt
  readonly body: string
  /** `If-Match: *`: what exists is changed. Without it, what does not exist is created. */
  readonly isUpdate: boolean
}

/** What answers leave out when there is none. So an update that leaves it out wants none. */
const NO_METADATA = { userMetadata: '' } as const
const NO_DESTINATIONS = {
  ...NO_METADATA,
  forwardTo: '',
  forwardDeadLetteredMessagesTo: '',
} as const

/**
 * Creates a resource, or changes it, and answers with its entry. Undefined where nothing can be put. Rejects with what the
 * broker refuses, and with ERR_INVALID_REQUEST.
 */
export async function putResource(
  address: ResourceAddress,
  request: WriteRequest,
): Promise<XmlElement | undefined> {
  switch (address.kind) {
    case 'entity':
      return putEntity(address.path, request)
    case 'subscription':
      return putSubscription(address.name, request)
    case 'rule':
      return putRule(address, request)
    default:
      return undefined
  }
}

async function putEntity(
  path: string,
  { broker, body, isUpdate, reached }: WriteRequest,
): Promise<XmlElement> {
  const given = readEntry(body)
  assertKnown(reached.apiVersion, given)
  const administration = broker.front().administration(shownTexts(given))
  if (given.name === 'QueueDescription') {
    const options = readProperties(given, QUEUE_READERS)
    await (isUpdate
      ? administration.updateQueue(path, { ...NO_DESTINATIONS, ...options })
      : administration.createQueue(path, options))
  } else if (given.name === 'TopicDescription') {
    const options = readProperties(given, TOPIC_READERS)
    await (isUpdate
      ? administration.updateTopic(path, { ...NO_METADATA, ...options })
      : administration.createTopic(path, options))
  } else throw unexpected(given, 'QueueDescription or TopicDescription')
  const stored = await StoredResources.read(broker.front())
  return entryElement(await stored.entry(stored.entity(path), reached))
}

async function putSubscription(
  name: SubscriptionName,
  { broker, body, isUpdate, reached }: WriteRequest,
): Promise<XmlElement> {
  const given = readEntry(body)
  if (given.name !== 'SubscriptionDescription') throw unexpected(given, 'SubscriptionDescription')
  const options = readProperties(given, SUBSCRIPTION_READERS)
  if (isUpdate && options.rules !== undefined) {
    throw new InvalidRequestError(
      'DefaultRuleDescription can be given only when a subscription is created.',
    )
  }
  const administration = broker.front().administration(shownTexts(given))
  await (isUpdate
    ? administration.updateSubscription(name, { ...NO_DESTINATIONS, ...options })
    : administration.createSubscription(name, options))
  const stored = await StoredResources.read(broker.front())
  return entryElement(await stored.entry(stored.subscription(name), reached))
}

async function putRule(
  { name, rule }: { readonly name: SubscriptionName; readonly rule: string },
  request: WriteRequest,
): Promise<XmlElement> {
  const { broker, body, isUpdate } = request
  const given = readEntry(body)
  if (given.name !== 'RuleDescription') throw unexpected(given, 'RuleDescription')
  const options = readRule(given, rule)
  if (options.name.toLowerCase() !== rule.toLowerCase()) {
    throw new InvalidRequestError('Name must be that of the rule in the URL.')
  }
  await (isUpdate ? broker.updateRule(name, options) : broker.createRule(name, options))
  const { path, rules } = (await StoredResources.read(broker.front())).subscription(name)
  return entryElement(ruleEntry(request, path, findRule(rules, path, rule)))
}

function unexpected({ name }: XmlElement, expected: string): InvalidRequestError {
  return new InvalidRequestError(`The entry must have a ${expected} as content, got ${name}.`)
}
