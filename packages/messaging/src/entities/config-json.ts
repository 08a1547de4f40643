import { option, optionRule, requiredOption } from '@tidemark/contracts/internal'
import {
  keyOf,
  optionsOf,
  rulesOfKeys,
  type ConfigPlace,
  type ConfigReader,
  type KeyRules,
} from './config-reader.ts'
import { readConfigRule } from './config-rules.ts'
import { subscriptionPath } from './entity-names.ts'
import type { AnyEntityOptions } from './entity-settings.ts'
import {
  LIMIT_RULES,
  NAMESPACE_RULES,
  readLimit,
  type NamespaceLimits,
  type NamespaceOptions,
} from './namespace.ts'
import { QUEUE_RULES, SUBSCRIPTION_RULES, TOPIC_RULES } from './option-rules.ts'
import type { RuleOptions } from './options.ts'

/** An entity as a configuration describes it. */
export interface ConfigEntity {
  readonly kind: 'queue' | 'topic' | 'subscription'
  readonly name: string
  readonly path: string
  /** Path of the topic of a subscription. */
  readonly topic: string | undefined
  readonly options: AnyEntityOptions
  /** Undefined: not given. */
  readonly rules: readonly RuleOptions[] | undefined
  /** Where it stands, such as `UserConfig.Namespaces[0].Queues[2]`. */
  readonly at: string
}

export interface ConfigContents {
  /** What the configuration says of its namespace. */
  readonly namespace: NamespaceOptions
  /** Queues, then topics, each before its subscriptions. */
  readonly entities: readonly ConfigEntity[]
}

const OBJECT = optionRule(
  'an object',
  (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
)
const LIST = optionRule('a list', (value) => Array.isArray(value))
const NAME = requiredOption(option.text)

const ROOT: KeyRules = { UserConfig: requiredOption(OBJECT) }
const USER_CONFIG: KeyRules = {
  Namespaces: requiredOption(LIST),
  Logging: option.anything,
  Limits: OBJECT,
}
const LIMITS = rulesOfKeys(LIMIT_RULES)
const LIMITS_PATH = 'UserConfig.Limits'
const LIMIT_NAMES = [
  'minAutoDeleteOnIdle',
  'minLockDuration',
  'minDuplicateDetectionHistoryTimeWindow',
] as const satisfies readonly (keyof NamespaceLimits)[]
const NAMESPACE: KeyRules = {
  Name: option.text,
  Tier: NAMESPACE_RULES.tier,
  ResourceLock: NAMESPACE_RULES.resourceLock,
  Queues: LIST,
  Topics: LIST,
}
const QUEUE: KeyRules = { Name: NAME, Properties: OBJECT }
const TOPIC: KeyRules = { Name: NAME, Properties: OBJECT, Subscriptions: LIST }
const SUBSCRIPTION: KeyRules = { Name: NAME, Properties: OBJECT, Rules: LIST }

const { rules: _rules, ...SUBSCRIPTION_SETTINGS } = SUBSCRIPTION_RULES
const PROPERTIES: Readonly<Record<ConfigEntity['kind'], KeyRules>> = {
  queue: rulesOfKeys(QUEUE_RULES),
  topic: rulesOfKeys(TOPIC_RULES),
  subscription: rulesOfKeys(SUBSCRIPTION_SETTINGS),
}

/** The contents of an emulator's `Config.json`. Checks names and types of keys; values are for those who use them. */
export function readConfig(config: unknown, reader: ConfigReader): ConfigContents {
  const { UserConfig: userConfig } = reader.object(config, '', ROOT)
  if (userConfig === undefined) return { namespace: {}, entities: [] }
  const values = reader.object(userConfig, 'UserConfig', USER_CONFIG)
  const limits = readLimits(reader, values['Limits'])
  const namespaces = reader.list(values['Namespaces'], 'UserConfig.Namespaces')
  if (values['Namespaces'] !== undefined && namespaces.length !== 1) {
    reader.report('UserConfig.Namespaces', `must have one namespace, got ${namespaces.length}`)
  }
  const [first] = namespaces
  if (first === undefined) return { namespace: { limits }, entities: [] }
  return readNamespace(reader, first, limits)
}

function readLimits(reader: ConfigReader, value: unknown = {}): NamespaceLimits {
  const limits = optionsOf<NamespaceLimits>(reader.object(value, LIMITS_PATH, LIMITS))
  const isGood = LIMIT_NAMES.filter((name) => {
    const read = readLimit(name, limits[name] ?? 1)
    if ('problem' in read) reader.report(`${LIMITS_PATH}.${keyOf(name)}`, read.problem)
    return 'ms' in read
  })
  return Object.fromEntries(isGood.map((name) => [name, limits[name]]))
}

function readNamespace(
  reader: ConfigReader,
  { value, at }: ConfigPlace,
  limits: NamespaceLimits,
): ConfigContents {
  const {
    Name: _name,
    Queues: queues,
    Topics: topics,
    ...values
  } = reader.object(value, at, NAMESPACE)
  const namespace = { ...optionsOf<NamespaceOptions>(values), limits }
  return {
    namespace,
    entities: [
      ...reader.list(queues, `${at}.Queues`).flatMap((place) => readQueue(reader, place)),
      ...reader.list(topics, `${at}.Topics`).flatMap((place) => readTopic(reader, place)),
    ],
  }
}

function readQueue(reader: ConfigReader, { value, at }: ConfigPlace): readonly ConfigEntity[] {
  const { Name: name, Properties } = reader.object(value, at, QUEUE)
  const options = readProperties(reader, { value: Properties, at }, 'queue')
  if (typeof name !== 'string') return []
  return [{ kind: 'queue', name, path: name, topic: undefined, options, rules: undefined, at }]
}

function readTopic(reader: ConfigReader, { value, at }: ConfigPlace): readonly ConfigEntity[] {
  const { Name: name, Properties, Subscriptions } = reader.object(value, at, TOPIC)
  const options = readProperties(reader, { value: Properties, at }, 'topic')
  const subscriptions = reader.list(Subscriptions, `${at}.Subscriptions`)
  const topic = typeof name === 'string' ? name : ''
  const read = subscriptions.flatMap((place) => readSubscription(reader, place, topic))
  if (typeof name !== 'string') return []
  return [
    { kind: 'topic', name, path: name, topic: undefined, options, rules: undefined, at },
    ...read,
  ]
}

function readSubscription(
  reader: ConfigReader,
  { value, at }: ConfigPlace,
  topic: string,
): readonly ConfigEntity[] {
  const { Name: name, Properties, Rules } = reader.object(value, at, SUBSCRIPTION)
  const options = readProperties(reader, { value: Properties, at }, 'subscription')
  const rules = reader.list(Rules, `${at}.Rules`).map((place) => readConfigRule(reader, place))
  if (typeof name !== 'string') return []
  return [
    {
      kind: 'subscription',
      name,
      path: subscriptionPath(topic, name),
      topic,
      options,
      rules: Rules === undefined ? undefined : rules,
      at,
    },
  ]
}

function readProperties(
  reader: ConfigReader,
  { value = {}, at }: ConfigPlace,
  kind: ConfigEntity['kind'],
): AnyEntityOptions {
  return optionsOf(reader.object(value, `${at}.Properties`, PROPERTIES[kind]))
}
