import { errorCode } from '@tidemark/contracts'
import { expect, test } from 'vitest'
import { EntityAdministration } from './entity-administration.ts'
import { resolveNamespace, type NamespaceOptions } from './namespace.ts'
import { FakeEntities } from './stored-entities.fixture.ts'

const ALL = { topic: 'news', subscription: 'all' }

function open(namespace?: NamespaceOptions): {
  readonly entities: FakeEntities
  readonly admin: EntityAdministration
} {
  const entities = new FakeEntities()
  return { entities, admin: new EntityAdministration(entities, resolveNamespace(namespace)) }
}

/** Code and message of a rejection. */
async function refusal(call: Promise<unknown>): Promise<string> {
  try {
    await call
    return 'none'
  } catch (error) {
    return `${errorCode(error)}: ${error instanceof Error ? error.message : String(error)}`
  }
}

test('a queue shows what was given and every default', async () => {
  const { admin } = open()
  const created = await admin.createQueue('orders', { lockDuration: 'PT30S', forwardTo: '' })
  expect(created).toEqual({
    name: 'orders',
    lockDuration: 'PT30S',
    maxDeliveryCount: 10,
    defaultMessageTimeToLive: undefined,
    autoDeleteOnIdle: undefined,
    deadLetteringOnMessageExpiration: false,
    expires: 'whileListening',
    requiresSession: false,
    requiresDuplicateDetection: false,
    duplicateDetectionHistoryTimeWindow: 'PT10M',
    forwardTo: undefined,
    forwardDeadLetteredMessagesTo: undefined,
    maxSizeInMegabytes: 1024,
    maxMessageSizeInKilobytes: 1024,
    status: 'Active',
    userMetadata: '',
  })
  expect(await admin.getQueue('ORDERS')).toEqual(created)
})

test('a topic and a subscription show theirs', async () => {
  const { admin } = open()
  expect(await admin.createTopic('news', { requiresDuplicateDetection: true })).toEqual({
    name: 'news',
    defaultMessageTimeToLive: undefined,
    autoDeleteOnIdle: undefined,
    requiresDuplicateDetection: true,
    duplicateDetectionHistoryTimeWindow: 'PT10M',
    maxSizeInMegabytes: 1024,
    maxMessageSizeInKilobytes: 1024,
    status: 'Active',
    userMetadata: '',
  })
  expect(await admin.createSubscription(ALL, { autoDeleteOnIdle: 'PT5M' })).toEqual({
    topicName: 'news',
    subscriptionName: 'all',
    defaultMessageTimeToLive: undefined,
    autoDeleteOnIdle: 'PT5M',
    lockDuration: 'PT1M',
    maxDeliveryCount: 10,
    deadLetteringOnMessageExpiration: false,
    expires: 'whileListening',
    deadLetteringOnFilterEvaluationExceptions: true,
    requiresSession: false,
    forwardTo: undefined,
    forwardDeadLetteredMessagesTo: undefined,
    maxSizeInMegabytes: 1024,
    maxMessageSizeInKilobytes: 1024,
    status: 'Active',
    userMetadata: '',
  })
})

test('lists have the entities of one kind, by name', async () => {
  const { admin } = open()
  for (const name of ['b', 'a']) await admin.createQueue(name)
  await admin.createTopic('news')
  await admin.createTopic('old')
  await admin.createSubscription(ALL)
  expect((await admin.listQueues()).map(({ name }) => name)).toEqual(['a', 'b'])
  expect((await admin.listTopics()).map(({ name }) => name)).toEqual(['news', 'old'])
  const subscriptions = await admin.listSubscriptions('News')
  expect(subscriptions.map(({ subscriptionName }) => subscriptionName)).toEqual(['all'])
  expect(await admin.listSubscriptions('old')).toEqual([])
})

test('SET-15 what does not exist is not found, also under another kind', async () => {
  const { admin } = open()
  await admin.createQueue('orders')
  await admin.createTopic('news')
  const text = (path: string) =>
    `ERR_MESSAGING_ENTITY_NOT_FOUND: The messaging entity '${path}' could not be found.`
  expect(await refusal(admin.getQueue('none'))).toBe(text('none'))
  expect(await refusal(admin.getQueue('news'))).toBe(text('news'))
  expect(await refusal(admin.getTopic('orders'))).toBe(text('orders'))
  expect(await refusal(admin.updateQueue('none', {}))).toBe(text('none'))
  expect(await refusal(admin.deleteTopic('none'))).toBe(text('none'))
  expect(await refusal(admin.getQueueRuntimeProperties('none'))).toBe(text('none'))
  expect(await refusal(admin.getQueue('orders/$DeadLetterQueue'))).toBe(
    text('orders/$DeadLetterQueue'),
  )
  expect(await refusal(admin.createSubscription({ topic: 'none', subscription: 's' }))).toBe(
    text('none'),
  )
  const subscription = text('news/Subscriptions/all')
  expect(await refusal(admin.getSubscription(ALL))).toBe(subscription)
  expect(await refusal(admin.createRule(ALL, { name: 'r' }))).toBe(subscription)
  expect(await refusal(admin.listRules(ALL))).toBe(subscription)
})

test('a name is given once, whatever its case', async () => {
  const { admin } = open()
  await admin.createQueue('orders')
  await admin.createTopic('news')
  await admin.createSubscription(ALL)
  const text = (path: string) =>
    `ERR_MESSAGING_ENTITY_EXISTS: The messaging entity '${path}' already exists.`
  expect(await refusal(admin.createQueue('ORDERS'))).toBe(text('ORDERS'))
  expect(await refusal(admin.createTopic('orders'))).toBe(text('orders'))
  expect(await refusal(admin.createSubscription(ALL))).toBe(text('news/Subscriptions/all'))
})

test.each([
  [{ lockDuraton: 5 }, 'there is no option lockDuraton; did you mean lockDuration?'],
  [{ lockDuration: true }, 'lockDuration must be a duration, such as "PT1M30S", got true'],
  [
    { lockDuration: 1, maxDeliveryCount: 0 },
    'lockDuration must be PT5S to PT5M, got 1; maxDeliveryCount must be an integer from 1 to 2147483647, got 0',
  ],
  [{ forwardTo: 'none' }, 'forwardTo must be the path of a queue or topic that exists, got "none"'],
  [
    { forwardDeadLetteredMessagesTo: 'news/Subscriptions/all' },
    'forwardDeadLetteredMessagesTo must be the path of a queue or topic that exists, got "news/Subscriptions/all"',
  ],
])('%j is refused at creation and at change', async (options, message) => {
  const { admin, entities } = open()
  await admin.createTopic('news')
  await admin.createSubscription(ALL)
  await admin.createQueue('orders')
  const before = entities.records
  const text = `ERR_INVALID_OPTION: ${message}`
  expect(await refusal(admin.createQueue('b', options as never))).toBe(text)
  expect(await refusal(admin.updateQueue('orders', options as never))).toBe(text)
  expect(entities.records).toEqual(before)
})

test('names that nothing can have are refused', async () => {
  const { admin } = open()
  await admin.createTopic('news')
  expect(await refusal(admin.createQueue('a b'))).toBe(
    'ERR_INVALID_OPTION: name may have letters, digits and . - _ / ~ only, got "a b"',
  )
  expect(await refusal(admin.createSubscription({ topic: 'news', subscription: 'a/b' }))).toBe(
    'ERR_INVALID_OPTION: name may have letters, digits and . - _ only, got "a/b"',
  )
  expect(await refusal(admin.createQueue(undefined as never))).toBe(
    'ERR_INVALID_OPTION: name must be a text, got undefined',
  )
  expect(await refusal(admin.getSubscription('news' as never))).toBe(
    'ERR_INVALID_OPTION: options must be an object, got "news"',
  )
})

test('SET-13 a destination is kept by the name that it has, and need not exist for ever', async () => {
  const { admin } = open()
  await admin.createQueue('Target')
  const { forwardTo } = await admin.createQueue('source', { forwardTo: 'TARGET' })
  expect(forwardTo).toBe('Target')
  await admin.deleteQueue('target')
  expect(await admin.updateQueue('source', { userMetadata: 'x' })).toMatchObject({
    forwardTo: 'Target',
    userMetadata: 'x',
  })
  expect((await admin.updateQueue('source', { forwardTo: '' })).forwardTo).toBeUndefined()
})

test('a change is made again when another broker has changed the entity meanwhile', async () => {
  const { admin, entities } = open()
  await admin.createQueue('orders')
  entities.meanwhile = () =>
    entities.change('orders', ({ settings }) => ({ settings: { ...settings, userMetadata: 'y' } }))
  const changed = await admin.updateQueue('orders', { maxDeliveryCount: 3 })
  expect(changed).toMatchObject({ maxDeliveryCount: 3, userMetadata: 'y' })
})

test('a change of an entity that is deleted meanwhile finds nothing', async () => {
  const { admin, entities } = open()
  await admin.createQueue('orders')
  entities.meanwhile = () => {
    entities.remove('orders')
  }
  expect(await refusal(admin.updateQueue('orders', { maxDeliveryCount: 3 }))).toBe(
    "ERR_MESSAGING_ENTITY_NOT_FOUND: The messaging entity 'orders' could not be found.",
  )
})

test('what the broker remembers is renewed after each change', async () => {
  const { admin, entities } = open()
  await admin.createQueue('orders')
  await admin.updateQueue('orders', {})
  await admin.deleteQueue('orders')
  expect(entities.changes).toBe(3)
  await admin.listQueues()
  expect(entities.changes).toBe(3)
})

test('TMP-12 a deletion goes on until nothing is left', async () => {
  const { admin, entities } = open()
  await admin.createTopic('news')
  await admin.createSubscription(ALL)
  entities.purges = 3
  await admin.deleteTopic('NEWS')
  expect(entities.records).toEqual([])
  expect(entities.commands.slice(-4).map(({ kind }) => kind)).toEqual([
    'delete',
    'purge',
    'purge',
    'purge',
  ])
})

test('TMP-03 a namespace with a resource lock deletes nothing by call', async () => {
  const { admin } = open({ resourceLock: 'CanNotDelete' })
  await admin.createQueue('orders')
  await admin.createTopic('news')
  await admin.createSubscription(ALL)
  const text = (path: string) =>
    `ERR_MESSAGING_NOT_ALLOWED: The namespace has the resource lock CanNotDelete, so '${path}' cannot be deleted by call.`
  expect(await refusal(admin.deleteQueue('orders'))).toBe(text('orders'))
  expect(await refusal(admin.deleteTopic('news'))).toBe(text('news'))
  expect(await refusal(admin.deleteSubscription(ALL))).toBe(text('news/Subscriptions/all'))
  await admin.createRule(ALL, { name: 'r' })
  await admin.deleteRule(ALL, 'r')
})

test('a dead-letter queue is not deleted by itself', async () => {
  const { admin } = open()
  await admin.createQueue('orders')
  expect(await refusal(admin.deleteQueue('orders/$deadletterqueue'))).toBe(
    "ERR_MESSAGING_NOT_ALLOWED: The dead-letter queue 'orders/$deadletterqueue' is deleted with its entity, and not by itself.",
  )
})

test('tier Basic has no topics', async () => {
  const { admin } = open({ tier: 'Basic' })
  expect((await admin.createQueue('orders')).defaultMessageTimeToLive).toBe('P14D')
  expect(await refusal(admin.createTopic('news'))).toBe(
    'ERR_INVALID_OPTION: name cannot be that of a topic: tier Basic has queues only',
  )
})

test('TOP-02 a subscription has the default rule unless it is given others', async () => {
  const { admin, entities } = open()
  await admin.createTopic('news')
  await admin.createSubscription(ALL)
  expect(await admin.listRules(ALL)).toEqual([
    {
      name: '$Default',
      filter: { sqlExpression: '1=1' },
      createdAtUtc: new Date(entities.nowMs),
    },
  ])
  const none = { topic: 'news', subscription: 'none' }
  await admin.createSubscription(none, { rules: [] })
  expect(await admin.listRules(none)).toEqual([])
  const some = { topic: 'news', subscription: 'some' }
  await admin.createSubscription(some, { rules: [{ name: 'a' }, { name: 'b' }] })
  expect((await admin.listRules(some)).map(({ name }) => name)).toEqual(['a', 'b'])
})

test('TOP-07 rules are added, listed and removed', async () => {
  const { admin } = open()
  await admin.createTopic('news')
  await admin.createSubscription(ALL)
  const filter = {
    subject: 'x',
    applicationProperties: { n: 1, big: 2n, at: new Date(5), no: null },
  }
  const sql = { filter: { sqlExpression: 'n = 1' }, action: { sqlExpression: 'SET n = 2' } }
  expect(await admin.createRule(ALL, { name: 'equal', filter })).toMatchObject({ filter })
  expect(await admin.createRule(ALL, { name: 'sql', ...sql })).toMatchObject(sql)
  await admin.deleteRule(ALL, '$default')
  expect(await admin.listRules(ALL)).toMatchObject([
    { name: 'equal', filter },
    { name: 'sql', ...sql },
  ])
  expect(await refusal(admin.createRule(ALL, { name: 'SQL' }))).toBe(
    "ERR_MESSAGING_ENTITY_EXISTS: The messaging entity 'news/Subscriptions/all/Rules/SQL' already exists.",
  )
  expect(await refusal(admin.deleteRule(ALL, 'none'))).toBe(
    "ERR_MESSAGING_ENTITY_NOT_FOUND: The messaging entity 'news/Subscriptions/all/Rules/none' could not be found.",
  )
})

test('TOP-04 a correlation filter has a bound, because all rules are read before each send', async () => {
  const { admin } = open()
  await admin.createTopic('news')
  await admin.createSubscription(ALL)
  const filterOf = (length: number) => ({
    subject: 'x'.repeat(4000),
    applicationProperties: { a: 'y'.repeat(length) },
  })
  await admin.createRule(ALL, { name: 'fits', filter: filterOf(4000) })
  expect(await refusal(admin.createRule(ALL, { name: 'not', filter: filterOf(5000) }))).toBe(
    'ERR_INVALID_OPTION: filter must have at most 8192 characters as JSON, got 9047',
  )
})

test('TOP-07 a rule is replaced in its place: what is not given is not kept, its name and age are', async () => {
  const { admin } = open()
  await admin.createTopic('news')
  const sql = { filter: { sqlExpression: 'n = 1' }, action: { sqlExpression: 'SET n = 2' } }
  await admin.createSubscription(ALL, { rules: [{ name: 'One', ...sql }, { name: 'two' }] })
  const [{ createdAtUtc } = {}] = await admin.listRules(ALL)
  const filter = { subject: 'x' }
  const replaced = await admin.updateRule(ALL, { name: 'one', filter })
  expect(replaced).toEqual({ name: 'One', filter, createdAtUtc })
  expect(await admin.listRules(ALL)).toMatchObject([replaced, { name: 'two' }])
})

test('a rule that is not there, or a wrong one, replaces none', async () => {
  const { admin, entities } = open()
  await admin.createTopic('news')
  await admin.createSubscription(ALL)
  const before = entities.records
  expect(await refusal(admin.updateRule(ALL, { name: 'none' }))).toBe(
    "ERR_MESSAGING_ENTITY_NOT_FOUND: The messaging entity 'news/Subscriptions/all/Rules/none' could not be found.",
  )
  expect(await refusal(admin.updateRule(ALL, { name: '$Default', filter: {} }))).toBe(
    'ERR_INVALID_OPTION: filter must have a property to compare',
  )
  expect(entities.records).toEqual(before)
})

test.each([
  [{}, 'ERR_INVALID_OPTION: name must be a text, got undefined'],
  [{ name: '' }, 'ERR_INVALID_OPTION: name must have 1 to 50 characters, got 0'],
  [{ name: 'r', filer: {} }, 'ERR_INVALID_OPTION: there is no option filer; did you mean filter?'],
  [
    { name: 'r', filter: 'a = 1' },
    'ERR_INVALID_OPTION: filter must be an object with sqlExpression, or with properties to compare, or false, got "a = 1"',
  ],
  [{ name: 'r', filter: {} }, 'ERR_INVALID_OPTION: filter must have a property to compare'],
  [{ name: 'r', filter: { label: 'x' } }, 'ERR_INVALID_OPTION: there is no option filter.label'],
  [
    { name: 'r', filter: { subject: 5 } },
    'ERR_INVALID_OPTION: filter.subject must be a text, got 5',
  ],
  [
    { name: 'r', filter: { applicationProperties: { a: [] } } },
    'ERR_INVALID_OPTION: the property "a" must be a text, a number, a 64-bit integer, true, false, a date, bytes or null, got an object (Array)',
  ],
  [
    { name: 'r', action: { sqlExpression: 5 } },
    'ERR_INVALID_OPTION: action.sqlExpression must be a text, got 5',
  ],
])('the rule %j is refused', async (rule, text) => {
  const { admin, entities } = open()
  await admin.createTopic('news')
  await admin.createSubscription(ALL)
  const before = entities.records
  expect(await refusal(admin.createRule(ALL, rule as never))).toBe(text)
  const other = { topic: 'news', subscription: 'other' }
  const [code, message] = text.split(/: (.*)/)
  expect(await refusal(admin.createSubscription(other, { rules: [rule as never] }))).toBe(
    `${code}: rules[0]: ${message}`,
  )
  expect(entities.records).toEqual(before)
})

test('rules of one subscription have different names, and are not endless', async () => {
  const { admin } = open()
  await admin.createTopic('news')
  expect(
    await refusal(admin.createSubscription(ALL, { rules: [{ name: 'a' }, { name: 'A' }] })),
  ).toBe('ERR_INVALID_OPTION: rules[1]: name "A" is used by another rule')
  const rules = Array.from({ length: 1000 }, (_, index) => ({ name: `r${index}` }))
  await admin.createSubscription(ALL, { rules })
  expect(await refusal(admin.createRule(ALL, { name: 'more' }))).toBe(
    'ERR_INVALID_OPTION: a subscription has at most 1000 rules',
  )
})

test('an update of a subscription replaces its rules only if it names them', async () => {
  const { admin } = open()
  await admin.createTopic('news')
  await admin.createSubscription(ALL)
  await admin.updateSubscription(ALL, { maxDeliveryCount: 3 })
  expect((await admin.listRules(ALL)).map(({ name }) => name)).toEqual(['$Default'])
  await admin.updateSubscription(ALL, { rules: [{ name: 'b' }] })
  expect((await admin.listRules(ALL)).map(({ name }) => name)).toEqual(['b'])
  expect((await admin.getSubscription(ALL)).maxDeliveryCount).toBe(3)
})

test('two rules that are added at once are both there', async () => {
  const { admin, entities } = open()
  await admin.createTopic('news')
  await admin.createSubscription(ALL)
  const theirs = {
    name: 'theirs',
    filter: { kind: 'true' },
    action: undefined,
    createdMs: 1,
  } as const
  entities.meanwhile = () =>
    entities.change('news/Subscriptions/all', ({ rules }) => ({ rules: [...rules, theirs] }))
  await admin.createRule(ALL, { name: 'ours' })
  expect((await admin.listRules(ALL)).map(({ name }) => name)).toEqual([
    '$Default',
    'theirs',
    'ours',
  ])
})

test('counts stand beside those of the dead-letter queue', async () => {
  const { admin, entities } = open()
  await admin.createQueue('orders')
  await admin.createTopic('news')
  await admin.createSubscription(ALL)
  const own = {
    active: 5,
    locked: 2,
    deferred: 3,
    scheduled: 4,
    expired: 1,
    bytes: 100,
    oldestEnqueuedMs: 7,
  }
  const dead = { ...own, active: 10, deferred: 1, scheduled: 0, bytes: 50, oldestEnqueuedMs: 3 }
  for (const path of ['orders', 'news/Subscriptions/all']) {
    entities.counts.set(path, own)
    entities.counts.set(`${path}/$DeadLetterQueue`, dead)
  }
  entities.counts.set('news', { ...own, active: 0, scheduled: 6 })
  const at = new Date(entities.nowMs)
  const expected = {
    createdAtUtc: at,
    modifiedAtUtc: at,
    accessedAtUtc: at,
    sizeInBytes: 150,
    scheduledMessageCount: 4,
    totalMessageCount: 23,
    activeMessageCount: 5,
    lockedMessageCount: 2,
    deferredMessageCount: 3,
    deadLetterMessageCount: 11,
    expiredMessageCount: 1,
    oldestEnqueuedTimeUtc: new Date(7),
  }
  expect(await admin.getQueueRuntimeProperties('orders')).toEqual({ name: 'orders', ...expected })
  expect(await admin.getSubscriptionRuntimeProperties(ALL)).toEqual({
    topicName: 'news',
    subscriptionName: 'all',
    ...expected,
  })
  expect(await admin.getTopicRuntimeProperties('news')).toEqual({
    name: 'news',
    createdAtUtc: at,
    modifiedAtUtc: at,
    accessedAtUtc: at,
    sizeInBytes: 100,
    scheduledMessageCount: 6,
    subscriptionCount: 1,
  })
})
