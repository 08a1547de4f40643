import { MessagingEntityNotFoundError, type MessageBroker } from '@tidemark/messaging'
import type { EntityRecord, RuleRecord } from '@tidemark/messaging/front'
import { assertNever } from '@tidemark/contracts/internal'
import {
  description,
  entryElement,
  feedElement,
  instant,
  property,
  type Entry,
} from '../atom/entry.ts'
import type { XmlElement } from '../atom/xml-element.ts'
import { ruleDescription } from '../descriptions/rule-description.ts'
import { readPage } from './page.ts'
import type { ResourceAddress } from './resource-address.ts'
import { resourceUrl, type ReachedAt } from './resource-urls.ts'
import { StoredResources } from './stored-resources.ts'

/** A read, as it came. */
export interface ReadRequest {
  readonly broker: MessageBroker
  readonly reached: ReachedAt
  readonly query: URLSearchParams
}

/** What a list shows, and where its next page is read. */
interface Listed<Item> {
  readonly path: string
  readonly title: string
  readonly items: readonly Item[]
  readonly entries: (items: readonly Item[]) => Promise<readonly Entry[]>
}

/** An entry, or a feed. Rejects with ERR_MESSAGING_ENTITY_NOT_FOUND. */
export async function getResource(
  address: ResourceAddress,
  request: ReadRequest,
): Promise<XmlElement> {
  const { broker, reached } = request
  const stored = await StoredResources.read(broker.front())
  const entities = (
    path: string,
    title: string,
    items: readonly EntityRecord[],
  ): Promise<XmlElement> => {
    return feedOf(request, { path, title, items, entries: (some) => stored.entries(some, reached) })
  }
  switch (address.kind) {
    case 'namespace':
      return namespaceEntry(request, stored)
    case 'queues':
      return entities('$Resources/queues', 'Queues', stored.ofKind('queue'))
    case 'topics':
      return entities('$Resources/topics', 'Topics', stored.ofKind('topic'))
    case 'entity':
      return entryElement(await stored.entry(stored.entity(address.path), reached))
    case 'subscriptions': {
      const { topic } = address
      return entities(`${topic}/Subscriptions`, 'Subscriptions', stored.subscriptions(topic))
    }
    case 'subscription':
      return entryElement(await stored.entry(stored.subscription(address.name), reached))
    case 'rules': {
      const { path, rules } = stored.subscription(address.name)
      return feedOf(request, {
        path: `${path}/Rules`,
        title: 'Rules',
        items: rules,
        entries: (some) => Promise.resolve(some.map((rule) => ruleEntry(request, path, rule))),
      })
    }
    case 'rule': {
      const { path, rules } = stored.subscription(address.name)
      return entryElement(ruleEntry(request, path, findRule(rules, path, address.rule)))
    }
    default:
      return assertNever(address)
  }
}

export function ruleEntry(
  { broker, reached }: Pick<ReadRequest, 'broker' | 'reached'>,
  subscription: string,
  rule: RuleRecord,
): Entry {
  return {
    url: resourceUrl(reached, rulePath(subscription, rule.name)),
    title: rule.name,
    author: broker.front().namespaceName,
    publishedMs: rule.createdMs,
    updatedMs: rule.createdMs,
    description: ruleDescription(rule),
  }
}

/** @throws ERR_MESSAGING_ENTITY_NOT_FOUND */
export function findRule(
  rules: readonly RuleRecord[],
  subscription: string,
  name: string,
): RuleRecord {
  const found = rules.find((rule) => rule.name.toLowerCase() === name.toLowerCase())
  if (found === undefined) throw new MessagingEntityNotFoundError(rulePath(subscription, name))
  return found
}

async function feedOf<Item>(
  { broker, reached, query }: ReadRequest,
  { path, title, items, entries }: Listed<Item>,
): Promise<XmlElement> {
  const { skip, top } = readPage(query)
  const url = resourceUrl(reached, path)
  const hasMore = items.length > skip + top
  return feedElement({
    url,
    title,
    updatedMs: broker.front().clock.wallMs(),
    next: hasMore ? `${url}&$skip=${skip + top}&$top=${top}` : undefined,
    entries: await entries(items.slice(skip, skip + top)),
  })
}

/** The store does not know when a namespace was made: shown are its oldest entity, and the last change of one. */
function namespaceEntry({ broker, reached }: ReadRequest, stored: StoredResources): XmlElement {
  const { clock, namespaceName } = broker.front()
  const { tier } = broker.getNamespaceProperties()
  const { span = { createdMs: clock.wallMs(), updatedMs: clock.wallMs() } } = stored
  return entryElement({
    url: resourceUrl(reached, '$namespaceinfo'),
    title: namespaceName,
    author: namespaceName,
    publishedMs: span.createdMs,
    updatedMs: span.updatedMs,
    description: description('NamespaceInfo', [
      instant('CreatedTime', span.createdMs),
      property('MessagingSKU', tier),
      property('MessagingUnits', tier === 'Premium' ? 1 : undefined),
      instant('ModifiedTime', span.updatedMs),
      property('Name', namespaceName),
      property('NamespaceType', 'Messaging'),
    ]),
  })
}

function rulePath(subscription: string, rule: string): string {
  return `${subscription}/Rules/${rule}`
}
