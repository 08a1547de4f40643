import { errorCode } from '@tidemark/contracts'
import { MessagingEntityNotFoundError, type SubscriptionName } from '@tidemark/messaging'
import {
  queueProperties,
  receivingRuntimeProperties,
  runtimeProperties,
  subscriptionProperties,
  topicProperties,
  type EntityRecord,
  type MessageFront,
} from '@tidemark/messaging/front'
import type { Entry } from '../atom/entry.ts'
import { knownTo } from '../descriptions/api-versions.ts'
import {
  queueDescription,
  subscriptionDescription,
  topicDescription,
  type ReceivingRuntime,
  type TopicRuntime,
} from '../descriptions/entity-descriptions.ts'
import { resourceUrl, type ReachedAt } from './resource-urls.ts'

/** The entities of a namespace at one moment. */
export class StoredResources {
  readonly #front: MessageFront
  readonly #all: readonly EntityRecord[]

  private constructor(front: MessageFront, all: readonly EntityRecord[]) {
    this.#front = front
    this.#all = all
  }

  static async read(front: MessageFront): Promise<StoredResources> {
    return new StoredResources(front, await front.entities())
  }

  /** When the first of them was created, and the last changed. Undefined when there is none. */
  get span(): { readonly createdMs: number; readonly updatedMs: number } | undefined {
    if (this.#all.length === 0) return undefined
    const createdMs = this.#all.reduce((least, one) => Math.min(least, one.createdMs), Infinity)
    return {
      createdMs,
      updatedMs: this.#all.reduce((most, one) => Math.max(most, one.updatedMs), 0),
    }
  }

  /** In the order of their paths. */
  ofKind(kind: 'queue' | 'topic'): readonly EntityRecord[] {
    return inOrder(this.#all.filter((record) => record.kind === kind))
  }

  /** Of a topic. @throws ERR_MESSAGING_ENTITY_NOT_FOUND */
  subscriptions(topic: string): readonly EntityRecord[] {
    const { number } = this.#find(topic, ['topic'])
    return inOrder(
      this.#all.filter(({ kind, parent }) => kind === 'subscription' && parent === number),
    )
  }

  /** A queue or topic. @throws ERR_MESSAGING_ENTITY_NOT_FOUND */
  entity(path: string): EntityRecord {
    return this.#find(path, ['queue', 'topic'])
  }

  /** @throws ERR_MESSAGING_ENTITY_NOT_FOUND */
  subscription({ topic, subscription }: SubscriptionName): EntityRecord {
    return this.#find(`${topic}/Subscriptions/${subscription}`, ['subscription'])
  }

  /** With what is in the entity now. Rejects with ERR_MESSAGING_ENTITY_NOT_FOUND when it is gone. */
  async entry(record: EntityRecord, reached: ReachedAt): Promise<Entry> {
    const { origin, apiVersion } = reached
    const { shown } = record.settings
    const place = {
      url: resourceUrl(reached, record.path),
      author: this.#front.namespaceName,
      publishedMs: record.createdMs,
      updatedMs: record.updatedMs,
    }
    const { path } = record
    if (record.kind === 'topic') {
      const counts = await this.#front.count(record)
      const subscriptions = this.subscriptions(path)
      const runtime = {
        ...runtimeProperties(record, counts),
        subscriptionCount: subscriptions.length,
        filters: filterCounts(subscriptions),
      }
      const description = topicDescription(topicProperties(record), { origin, shown, runtime })
      return { ...place, title: path, description: knownTo(apiVersion, description) }
    }
    const runtime = await this.#receivingRuntime(record)
    if (record.kind === 'queue') {
      const description = queueDescription(queueProperties(record), { origin, shown, runtime })
      return { ...place, title: path, description: knownTo(apiVersion, description) }
    }
    const topic = this.#all.find(({ number }) => number === record.parent)
    if (topic === undefined) throw new MessagingEntityNotFoundError(path)
    const properties = subscriptionProperties(record, topic)
    const description = subscriptionDescription(properties, { origin, shown, runtime })
    return { ...place, title: properties.subscriptionName, description }
  }

  /** Without those that were deleted meanwhile. */
  async entries(records: readonly EntityRecord[], reached: ReachedAt): Promise<readonly Entry[]> {
    const entries = await Promise.all(
      records.map(async (record) => {
        try {
          return await this.entry(record, reached)
        } catch (error) {
          if (errorCode(error) === 'ERR_MESSAGING_ENTITY_NOT_FOUND') return undefined
          throw error
        }
      }),
    )
    return entries.filter((entry) => entry !== undefined)
  }

  async #receivingRuntime(record: EntityRecord): Promise<ReceivingRuntime> {
    const dead = this.#all.find(
      ({ kind, parent }) => kind === 'deadLetter' && parent === record.number,
    )
    if (dead === undefined) throw new MessagingEntityNotFoundError(record.path)
    const [ownCounts, deadCounts] = await Promise.all([
      this.#front.count(record),
      this.#front.count(dead),
    ])
    return receivingRuntimeProperties(record, { own: ownCounts, dead: deadCounts })
  }

  #find(path: string, kinds: readonly EntityRecord['kind'][]): EntityRecord {
    const name = path.toLowerCase()
    const found = this.#all.find(
      (record) => kinds.includes(record.kind) && record.path.toLowerCase() === name,
    )
    if (found === undefined) throw new MessagingEntityNotFoundError(path)
    return found
  }
}

/** A filter that takes everything or nothing is an SQL filter, too, as in the service. */
function filterCounts(subscriptions: readonly EntityRecord[]): TopicRuntime['filters'] {
  const kinds = subscriptions.flatMap(({ rules }) => rules.map(({ filter }) => filter.kind))
  const correlation = kinds.filter((kind) => kind === 'correlation').length
  return { sql: kinds.length - correlation, correlation }
}

function inOrder(records: readonly EntityRecord[]): readonly EntityRecord[] {
  return records.toSorted((a, b) => (a.path < b.path ? -1 : 1))
}
