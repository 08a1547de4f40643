import {
  assertNever,
  checkOptions,
  option,
  requiredOption,
  type OptionRules,
} from '@tidemark/contracts/internal'
import type { EntityRecord, EntitySettings, RuleRecord } from '@tidemark/store/messages'
import {
  MessagingEntityExistsError,
  MessagingEntityNotFoundError,
} from '../errors/messaging-entity-errors.ts'
import { MessagingNotAllowedError } from '../errors/messaging-not-allowed-error.ts'
import { applyConfig } from './apply-config.ts'
import {
  deadLetterPath,
  isDeadLetterPath,
  isSameName,
  subscriptionName,
  subscriptionPath,
} from './entity-names.ts'
import {
  queueProperties,
  receivingRuntimeProperties,
  ruleProperties,
  runtimeProperties,
  subscriptionProperties,
  topicProperties,
} from './entity-properties.ts'
import type { NamespaceProperties, ResolvedNamespace } from './namespace.ts'
import { checkOneEntity, type GivenEntity } from './new-entity.ts'
import { QUEUE_RULES, SUBSCRIPTION_RULES, TOPIC_RULES } from './option-rules.ts'
import type {
  QueueOptions,
  QueueProperties,
  QueueRuntimeProperties,
  RuleOptions,
  RuleProperties,
  SubscriptionName,
  SubscriptionOptions,
  SubscriptionProperties,
  SubscriptionRuntimeProperties,
  TopicOptions,
  TopicProperties,
  TopicRuntimeProperties,
} from './options.ts'
import { checkNextRule, readRule, readRules } from './rule-records.ts'
import {
  findIn,
  StoredEntities,
  type AdministrationContext,
  type GivenKind,
} from './stored-entities.ts'

/** Creates, changes, shows and deletes entities. Every call reads what is stored now. */
export class EntityAdministration {
  readonly #context: AdministrationContext
  readonly #stored: StoredEntities
  /** A configuration may change it. */
  #namespace: ResolvedNamespace
  #shown: EntitySettings['shown']

  constructor(context: AdministrationContext, namespace: ResolvedNamespace) {
    this.#context = context
    this.#namespace = namespace
    this.#stored = new StoredEntities(context)
  }

  /** The same, but what it creates and changes keeps these texts (see `EntitySettings`). */
  showing(shown: EntitySettings['shown']): EntityAdministration {
    const administration = new EntityAdministration(this.#context, this.#namespace)
    administration.#shown = shown
    return administration
  }

  async createQueue(name: string, options: QueueOptions = {}): Promise<QueueProperties> {
    checkOptions(options, QUEUE_RULES)
    return queueProperties(await this.#create({ kind: 'queue', name, path: name, options }))
  }

  async getQueue(name: string): Promise<QueueProperties> {
    return queueProperties(await this.#stored.find('queue', name))
  }

  async listQueues(): Promise<readonly QueueProperties[]> {
    return (await this.#list('queue')).map((record) => queueProperties(record))
  }

  async updateQueue(name: string, changes: QueueOptions): Promise<QueueProperties> {
    checkOptions(changes, QUEUE_RULES)
    return queueProperties(
      await this.#change({ kind: 'queue', name, path: name, options: changes }),
    )
  }

  async deleteQueue(name: string): Promise<void> {
    await this.#delete('queue', name)
  }

  async getQueueRuntimeProperties(name: string): Promise<QueueRuntimeProperties> {
    const record = await this.#stored.find('queue', name)
    return { name: record.path, ...(await this.#receivingRuntime(record)) }
  }

  async createTopic(name: string, options: TopicOptions = {}): Promise<TopicProperties> {
    checkOptions(options, TOPIC_RULES)
    return topicProperties(await this.#create({ kind: 'topic', name, path: name, options }))
  }

  async getTopic(name: string): Promise<TopicProperties> {
    return topicProperties(await this.#stored.find('topic', name))
  }

  async listTopics(): Promise<readonly TopicProperties[]> {
    return (await this.#list('topic')).map((record) => topicProperties(record))
  }

  async updateTopic(name: string, changes: TopicOptions): Promise<TopicProperties> {
    checkOptions(changes, TOPIC_RULES)
    return topicProperties(
      await this.#change({ kind: 'topic', name, path: name, options: changes }),
    )
  }

  async deleteTopic(name: string): Promise<void> {
    await this.#delete('topic', name)
  }

  async getTopicRuntimeProperties(name: string): Promise<TopicRuntimeProperties> {
    const all = await this.#stored.all()
    const record = findIn(all, 'topic', name)
    return {
      name: record.path,
      ...runtimeProperties(record, await this.#stored.count(record)),
      subscriptionCount: subscriptionsOf(record, all).length,
    }
  }

  async createSubscription(
    name: SubscriptionName,
    options: SubscriptionOptions = {},
  ): Promise<SubscriptionProperties> {
    const path = checkedPath(name)
    checkOptions(options, SUBSCRIPTION_RULES)
    const { rules, ...settings } = options
    const topic = await this.#stored.find('topic', name.topic)
    const record = await this.#create(
      { kind: 'subscription', name: name.subscription, path, options: settings },
      { topic: topic.path, rules: readRules(rules, await this.#nowMs()) },
    )
    return subscriptionProperties(record, topic)
  }

  async getSubscription(name: SubscriptionName): Promise<SubscriptionProperties> {
    const { topic, record } = await this.#findSubscription(name)
    return subscriptionProperties(record, topic)
  }

  async listSubscriptions(topic: string): Promise<readonly SubscriptionProperties[]> {
    const all = await this.#stored.all()
    const record = findIn(all, 'topic', topic)
    return subscriptionsOf(record, all).map((one) => subscriptionProperties(one, record))
  }

  /** `rules` replaces all rules. */
  async updateSubscription(
    name: SubscriptionName,
    changes: SubscriptionOptions,
  ): Promise<SubscriptionProperties> {
    const path = checkedPath(name)
    checkOptions(changes, SUBSCRIPTION_RULES)
    const { rules, ...options } = changes
    const replaced = rules === undefined ? undefined : readRules(rules, await this.#nowMs())
    const { topic } = await this.#findSubscription(name)
    const given = { kind: 'subscription', name: name.subscription, path, options } as const
    return subscriptionProperties(await this.#change(given, replaced), topic)
  }

  async deleteSubscription(name: SubscriptionName): Promise<void> {
    await this.#delete('subscription', checkedPath(name))
  }

  async getSubscriptionRuntimeProperties(
    name: SubscriptionName,
  ): Promise<SubscriptionRuntimeProperties> {
    const { topic, record } = await this.#findSubscription(name)
    const runtime = await this.#receivingRuntime(record)
    const subscription = subscriptionName(record.path)
    return { topicName: topic.path, subscriptionName: subscription, ...runtime }
  }

  async createRule(name: SubscriptionName, rule: RuleOptions): Promise<RuleProperties> {
    const path = checkedPath(name)
    const created = readRule(rule, await this.#nowMs())
    await this.#stored.change('subscription', path, ({ settings, rules }) => {
      if (hasRule(rules, created.name))
        throw new MessagingEntityExistsError(rulePath(path, rule.name))
      return { settings, rules: [...rules, checkNextRule(created, rules)] }
    })
    return ruleProperties(created)
  }

  /** Replaces the rule of this name, which keeps its age. */
  async updateRule(name: SubscriptionName, rule: RuleOptions): Promise<RuleProperties> {
    const path = checkedPath(name)
    const given = readRule(rule, await this.#nowMs())
    const replaced = (old: RuleRecord): RuleRecord => ({
      ...given,
      name: old.name,
      createdMs: old.createdMs,
    })
    const { rules } = await this.#stored.change(
      'subscription',
      path,
      ({ settings, rules: present }) => {
        if (!hasRule(present, given.name)) {
          throw new MessagingEntityNotFoundError(rulePath(path, given.name))
        }
        return {
          settings,
          rules: present.map((one) => (isSameName(one.name, given.name) ? replaced(one) : one)),
        }
      },
    )
    return ruleProperties(rules.find((one) => isSameName(one.name, given.name)) ?? given)
  }

  async listRules(name: SubscriptionName): Promise<readonly RuleProperties[]> {
    const { record } = await this.#findSubscription(name)
    return record.rules.map((rule) => ruleProperties(rule))
  }

  async deleteRule(name: SubscriptionName, rule: string): Promise<void> {
    const path = checkedPath(name)
    await this.#stored.change('subscription', path, ({ settings, rules }) => {
      if (!hasRule(rules, rule)) throw new MessagingEntityNotFoundError(rulePath(path, rule))
      return { settings, rules: rules.filter((one) => !isSameName(one.name, rule)) }
    })
  }

  getNamespaceProperties(): NamespaceProperties {
    const { tier, resourceLock } = this.#namespace
    return { tier, resourceLock }
  }

  /** Creates what a `Config.json` has and what is not there, and takes on its namespace. */
  async applyConfig(config: unknown): Promise<void> {
    this.#namespace = await applyConfig(config, {
      stored: this.#stored,
      namespace: this.#namespace,
      nowMs: await this.#nowMs(),
    })
  }

  async #list(kind: GivenKind): Promise<readonly EntityRecord[]> {
    return (await this.#stored.all()).filter((record) => record.kind === kind)
  }

  async #findSubscription(
    name: SubscriptionName,
  ): Promise<{ readonly topic: EntityRecord; readonly record: EntityRecord }> {
    const path = checkedPath(name)
    const all = await this.#stored.all()
    const topic = findIn(all, 'topic', name.topic)
    return { topic, record: findIn(all, 'subscription', path) }
  }

  async #create(
    entity: GivenEntity,
    { topic, rules = [] }: { readonly topic?: string; readonly rules?: readonly RuleRecord[] } = {},
  ): Promise<EntityRecord> {
    const { kind, path } = entity
    const settings = checkOneEntity(this.#withShown(entity), {
      namespace: this.#namespace,
      current: undefined,
      destinations: await this.#stored.all(),
    })
    const answer = await this.#stored.create([{ kind, path, topic, settings, rules }])
    switch (answer.kind) {
      case 'created':
        return findIn(answer.entities, kind, path)
      case 'exists':
        throw new MessagingEntityExistsError(answer.path)
      case 'missing':
        throw new MessagingEntityNotFoundError(answer.path)
      default:
        return assertNever(answer)
    }
  }

  async #change(entity: GivenEntity, rules?: readonly RuleRecord[]): Promise<EntityRecord> {
    return this.#stored.change(entity.kind, entity.path, (record, all) => ({
      settings: checkOneEntity(this.#withShown(entity), {
        namespace: this.#namespace,
        current: record.settings,
        destinations: all,
      }),
      rules: rules ?? record.rules,
    }))
  }

  #withShown(entity: GivenEntity): GivenEntity {
    return { ...entity, options: { ...entity.options, shown: this.#shown } }
  }

  async #delete(kind: GivenKind, path: string): Promise<void> {
    if (isDeadLetterPath(path)) {
      throw new MessagingNotAllowedError(
        `The dead-letter queue '${path}' is deleted with its entity, and not by itself.`,
      )
    }
    if (this.#namespace.resourceLock === 'CanNotDelete') {
      throw new MessagingNotAllowedError(
        `The namespace has the resource lock CanNotDelete, so '${path}' cannot be deleted by call.`,
      )
    }
    await this.#stored.delete(kind, path)
  }

  async #receivingRuntime(record: EntityRecord): Promise<Omit<QueueRuntimeProperties, 'name'>> {
    const all = await this.#stored.all()
    const dead = findIn(all, 'deadLetter', deadLetterPath(record.path))
    return receivingRuntimeProperties(record, {
      own: await this.#stored.count(record),
      dead: await this.#stored.count(dead),
    })
  }

  async #nowMs(): Promise<number> {
    return (await this.#context.engine()).nowMs()
  }
}

const SUBSCRIPTION_NAME: OptionRules<SubscriptionName> = {
  topic: requiredOption(option.text),
  subscription: requiredOption(option.text),
}

function checkedPath(name: SubscriptionName): string {
  checkOptions(name, SUBSCRIPTION_NAME)
  return subscriptionPath(name.topic, name.subscription)
}

function subscriptionsOf(
  topic: EntityRecord,
  all: readonly EntityRecord[],
): readonly EntityRecord[] {
  return all.filter(({ kind, parent }) => kind === 'subscription' && parent === topic.number)
}

function hasRule(rules: readonly RuleRecord[], name: string): boolean {
  return rules.some((rule) => isSameName(rule.name, name))
}

function rulePath(subscription: string, rule: string): string {
  return `${subscription}/Rules/${rule}`
}
