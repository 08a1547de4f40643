import type { CorrelationRuleFilter, SqlRuleFilter } from '@azure/service-bus'
import { MAX_DURATION } from '@tidemark/messaging'
import { expect, test } from 'vitest'
import { administration, all, refusal, type Administration } from './administration.fixture.ts'

/* The unmodified administration client of @azure/service-bus: topics, subscriptions and rules. */

const NEVER = MAX_DURATION
const NAME = { topic: 'news', subscription: 'all' }

/** With a topic and a subscription. */
async function withSubscription(): Promise<Administration> {
  const space = await administration()
  await space.client.createTopic('news')
  await space.client.createSubscription('news', 'all')
  return space
}

test('a new topic has the defaults of the service', async () => {
  await using space = await administration()
  const { _response, ...topic } = await space.client.createTopic('news')
  expect(_response.status).toBe(201)
  expect(topic).toEqual({
    name: 'news',
    defaultMessageTimeToLive: NEVER,
    maxSizeInMegabytes: 1024,
    maxMessageSizeInKilobytes: 1024,
    requiresDuplicateDetection: false,
    duplicateDetectionHistoryTimeWindow: 'PT10M',
    enableBatchedOperations: true,
    authorizationRules: undefined,
    status: 'Active',
    userMetadata: undefined,
    supportOrdering: true,
    autoDeleteOnIdle: NEVER,
    enablePartitioning: false,
    enableExpress: false,
    availabilityStatus: 'Available',
  })
})

test('a topic has every option that it was created with, and changes with an update', async () => {
  await using space = await administration()
  const options = {
    defaultMessageTimeToLive: 'P7D',
    maxSizeInMegabytes: 2048,
    maxMessageSizeInKilobytes: 256,
    requiresDuplicateDetection: true,
    duplicateDetectionHistoryTimeWindow: 'PT1H',
    status: 'SendDisabled',
    userMetadata: 'mine',
    autoDeleteOnIdle: 'PT10M',
  } as const
  const topic = await space.client.createTopic('news', { ...options, supportOrdering: false })
  expect(topic).toMatchObject({ ...options, supportOrdering: false })
  expect(await space.broker.getTopic('news')).toMatchObject(options)
  const changed = { ...topic, status: 'Active' as const, autoDeleteOnIdle: NEVER }
  expect(await space.client.updateTopic(changed)).toMatchObject({ status: 'Active' })
  expect(await space.client.getTopic('news')).toMatchObject({
    ...options,
    status: 'Active',
    autoDeleteOnIdle: NEVER,
  })
})

test('a topic with partitions is refused', async () => {
  await using space = await administration()
  expect(await refusal(space.client.createTopic('news', { enablePartitioning: true }))).toEqual({
    status: 400,
    code: 'ServiceError',
    detail: 'EnablePartitioning cannot be true: partitioned entities are not offered.',
  })
})

test('topicExists says whether there is one', async () => {
  await using space = await administration()
  await space.client.createTopic('news')
  await space.client.createQueue('orders')
  expect(await space.client.topicExists('news')).toBe(true)
  expect(await space.client.topicExists('none')).toBe(false)
  expect(await space.client.topicExists('orders')).toBe(false)
})

test('what is no topic is not updated as one', async () => {
  await using space = await administration()
  const topic = await space.client.createTopic('news')
  await space.client.createQueue('orders')
  const code = 'MessageEntityNotFoundError'
  const queue = { ...topic, name: 'orders' }
  expect(await refusal(space.client.updateTopic(queue))).toMatchObject({ code })
})

test('runtime properties of a topic count its subscriptions and what is scheduled', async () => {
  await using space = await withSubscription()
  await space.client.createSubscription('news', 'more')
  await using sender = space.broker.createSender('news')
  await sender.sendMessages({ body: 1, scheduledEnqueueTimeUtc: new Date(Date.now() + 3_600_000) })
  const runtime = await space.client.getTopicRuntimeProperties('news')
  expect(runtime).toMatchObject({ name: 'news', subscriptionCount: 2, scheduledMessageCount: 1 })
  expect(runtime.sizeInBytes).toBeGreaterThan(0)
  const [listed] = await all(space.client.listTopicsRuntimeProperties())
  expect(listed).toMatchObject({ name: 'news', subscriptionCount: 2, scheduledMessageCount: 1 })
})

test('topics are listed without queues, page by page', async () => {
  await using space = await administration()
  for (const name of ['a', 'b', 'c']) await space.client.createTopic(name)
  await space.client.createQueue('orders')
  const pages = await all(space.client.listTopics().byPage({ maxPageSize: 2 }))
  expect(pages.map((page) => page.map(({ name }) => name))).toEqual([['a', 'b'], ['c']])
})

test('TMP-12 a deleted topic takes its subscriptions along', async () => {
  await using space = await withSubscription()
  await space.client.deleteTopic('news')
  expect(await space.client.topicExists('news')).toBe(false)
  expect(await space.client.subscriptionExists('news', 'all')).toBe(false)
  await space.client.createTopic('news')
  expect(await all(space.client.listSubscriptions('news'))).toEqual([])
})

test('a new subscription has the defaults of the service', async () => {
  await using space = await administration()
  await space.client.createTopic('news')
  const { _response, ...subscription } = await space.client.createSubscription('news', 'all')
  expect(_response.status).toBe(201)
  expect(subscription).toEqual({
    topicName: 'news',
    subscriptionName: 'all',
    lockDuration: 'PT1M',
    requiresSession: false,
    defaultMessageTimeToLive: NEVER,
    deadLetteringOnMessageExpiration: false,
    deadLetteringOnFilterEvaluationExceptions: true,
    maxDeliveryCount: 10,
    enableBatchedOperations: true,
    status: 'Active',
    forwardTo: undefined,
    forwardDeadLetteredMessagesTo: undefined,
    userMetadata: undefined,
    autoDeleteOnIdle: NEVER,
    availabilityStatus: 'Available',
  })
})

test('a subscription has every option that it was created with, and changes with an update', async () => {
  await using space = await administration()
  await space.client.createTopic('eu/news')
  await space.client.createQueue('target')
  const options = {
    lockDuration: 'PT20S',
    requiresSession: false,
    defaultMessageTimeToLive: 'PT2H',
    deadLetteringOnMessageExpiration: true,
    deadLetteringOnFilterEvaluationExceptions: false,
    maxDeliveryCount: 2,
    status: 'ReceiveDisabled',
    userMetadata: 'mine',
    autoDeleteOnIdle: 'PT1H',
  } as const
  const created = await space.client.createSubscription('eu/news', 'all', {
    ...options,
    forwardTo: 'target',
    forwardDeadLetteredMessagesTo: 'target',
  })
  const address = `sb://localhost:${space.server.port}/target`
  const shown = { ...options, forwardTo: address, forwardDeadLetteredMessagesTo: address }
  expect(created).toMatchObject({ topicName: 'eu/news', subscriptionName: 'all', ...shown })
  expect(await space.client.getSubscription('eu/news', 'all')).toMatchObject(shown)
  const { forwardTo, ...rest } = created
  const changed = { ...rest, maxDeliveryCount: 5 }
  expect(await space.client.updateSubscription(changed)).toMatchObject({ maxDeliveryCount: 5 })
  expect(await space.broker.getSubscription({ ...NAME, topic: 'eu/news' })).toMatchObject({
    ...options,
    maxDeliveryCount: 5,
    forwardTo: undefined,
    forwardDeadLetteredMessagesTo: 'target',
  })
  expect(forwardTo).toBe(address)
})

test('SES-10 a subscription with sessions is one, and stays one', async () => {
  await using space = await administration()
  await space.client.createTopic('news')
  const made = await space.client.createSubscription('news', 'all', { requiresSession: true })
  expect(made).toMatchObject({ requiresSession: true })
  const changed = space.client.updateSubscription({ ...made, requiresSession: false })
  expect(await refusal(changed)).toMatchObject({ status: 400, code: 'ServiceError' })
})

test('SET-15 a subscription of no topic, or none of a topic, is not found', async () => {
  await using space = await withSubscription()
  const { client } = space
  const code = 'MessageEntityNotFoundError'
  expect(await refusal(client.createSubscription('none', 'all'))).toMatchObject({ code })
  expect(await refusal(client.getSubscription('news', 'none'))).toEqual({
    status: 404,
    code,
    detail: "The messaging entity 'news/Subscriptions/none' could not be found.",
  })
  const runtime = client.getSubscriptionRuntimeProperties('news', 'none')
  expect(await refusal(runtime)).toMatchObject({ code })
  const other = { ...(await client.getSubscription('news', 'all')), subscriptionName: 'none' }
  expect(await refusal(client.updateSubscription(other))).toMatchObject({ code })
  expect(await refusal(client.deleteSubscription('news', 'none'))).toMatchObject({ code })
  expect(await refusal(all(client.listSubscriptions('none')))).toMatchObject({ code })
})

test('a subscription that exists is not created again', async () => {
  await using space = await withSubscription()
  expect(await refusal(space.client.createSubscription('NEWS', 'ALL'))).toMatchObject({
    status: 409,
    code: 'MessageEntityAlreadyExistsError',
  })
})

test.each(['a/b', 'x'.repeat(51), 'a b'])(
  'a subscription does not get the name %j',
  async (name) => {
    await using space = await administration()
    await space.client.createTopic('news')
    const found = await refusal(space.client.createSubscription('news', name))
    expect(found).toMatchObject({ code: expect.stringMatching(/Error$/) })
    expect(await all(space.client.listSubscriptions('news'))).toEqual([])
  },
)

test('subscriptions of one topic are listed page by page, also with what is in them', async () => {
  await using space = await administration()
  for (const topic of ['news', 'other']) await space.client.createTopic(topic)
  for (const name of ['a', 'b', 'c']) await space.client.createSubscription('news', name)
  await space.client.createSubscription('other', 'x')
  const pages = await all(space.client.listSubscriptions('news').byPage({ maxPageSize: 2 }))
  const names = pages.map((page) => page.map(({ subscriptionName }) => subscriptionName))
  expect(names).toEqual([['a', 'b'], ['c']])
  await using sender = space.broker.createSender('news')
  await sender.sendMessages({ body: 1 })
  const runtime = await all(space.client.listSubscriptionsRuntimeProperties('news'))
  expect(runtime.map(({ totalMessageCount }) => totalMessageCount)).toEqual([1, 1, 1])
})

test('runtime properties of a subscription count its messages', async () => {
  await using space = await withSubscription()
  await using sender = space.broker.createSender('news')
  await sender.sendMessages([{ body: 1 }, { body: 2 }])
  await using receiver = space.broker.createReceiver(NAME)
  const [message] = await receiver.receiveMessages(1)
  await receiver.deadLetterMessage(message!)
  expect(await space.client.getSubscriptionRuntimeProperties('news', 'all')).toMatchObject({
    topicName: 'news',
    subscriptionName: 'all',
    totalMessageCount: 2,
    activeMessageCount: 1,
    deadLetterMessageCount: 1,
    transferMessageCount: 0,
    transferDeadLetterMessageCount: 0,
    createdAt: expect.any(Date),
    modifiedAt: expect.any(Date),
    accessedAt: expect.any(Date),
  })
})

test('a deleted subscription is gone, and its topic stays', async () => {
  await using space = await withSubscription()
  await space.client.deleteSubscription('news', 'all')
  expect(await space.client.subscriptionExists('news', 'all')).toBe(false)
  expect(await space.client.topicExists('news')).toBe(true)
})

test('TOP-02 a new subscription has the rule $Default, which matches everything', async () => {
  await using space = await withSubscription()
  const rules = await all(space.client.listRules('news', 'all'))
  expect(rules).toEqual([
    {
      name: '$Default',
      filter: { sqlExpression: '1=1', sqlParameters: undefined },
      action: { sqlExpression: undefined, sqlParameters: undefined },
    },
  ])
  expect(await space.client.getRule('news', 'all', '$Default')).toMatchObject(rules[0]!)
})

test('TOP-02 a subscription may be created with a rule of its own instead', async () => {
  await using space = await administration()
  await space.client.createTopic('news')
  await space.client.createSubscription('news', 'all', {
    defaultRuleOptions: {
      name: 'red',
      filter: { subject: 'red' },
      action: { sqlExpression: "SET color = 'red'" },
    },
  })
  expect(await space.broker.listRules(NAME)).toMatchObject([
    { name: 'red', filter: { subject: 'red' }, action: { sqlExpression: "SET color = 'red'" } },
  ])
})

test('a wrong rule of a new subscription is refused with it', async () => {
  await using space = await administration()
  await space.client.createTopic('news')
  const defaultRuleOptions = { name: 'r', filter: { sqlExpression: 'a = = 1' } }
  const created = space.client.createSubscription('news', 'all', { defaultRuleOptions })
  expect(await refusal(created)).toMatchObject({ status: 400, code: 'ServiceError' })
  expect(await space.client.subscriptionExists('news', 'all')).toBe(false)
})

const FILTERS: readonly (readonly [string, SqlRuleFilter | CorrelationRuleFilter])[] = [
  ['TOP-05 SQL', { sqlExpression: `n > 1 AND sys.Label <> 'a<b>&"c"'` }],
  [
    'TOP-04 every property of a message',
    {
      correlationId: 'c',
      messageId: 'm',
      to: 't',
      replyTo: 'r',
      subject: 's',
      sessionId: 'i',
      replyToSessionId: 'j',
      contentType: 'text/plain',
    },
  ],
  [
    'TOP-04 application properties of each type',
    {
      applicationProperties: {
        text: 'a <b> & c',
        whole: 5,
        half: -0.5,
        yes: true,
        no: false,
        at: new Date(1_700_000_000_123),
      },
    },
  ],
  ['one application property', { applicationProperties: { color: 'red' } }],
]

test.each(FILTERS)(
  'a rule with the filter %s comes back as it was created',
  async (_name, filter) => {
    await using space = await withSubscription()
    const created = await space.client.createRule('news', 'all', 'r', filter)
    expect(created).toMatchObject({ name: 'r', filter })
    expect(await space.client.getRule('news', 'all', 'r')).toMatchObject({ name: 'r', filter })
    const [, stored] = await space.broker.listRules(NAME)
    expect(stored).toMatchObject({ name: 'r', filter })
  },
)

test('TOP-06 a rule with an action comes back with it', async () => {
  await using space = await withSubscription()
  const action = { sqlExpression: "SET n = 2; REMOVE color; SET sys.Label = 'x'" }
  await space.client.createRule('news', 'all', 'r', { sqlExpression: 'n = 1' }, action)
  expect(await space.client.getRule('news', 'all', 'r')).toMatchObject({ action })
})

test('TOP-07 a rule works from its creation to its deletion', async () => {
  await using space = await withSubscription()
  const { client } = space
  await client.deleteRule('news', 'all', '$Default')
  await client.createRule('news', 'all', 'red', { applicationProperties: { n: 1 } })
  await using sender = space.broker.createSender('news')
  const send = (n: number): Promise<void> =>
    sender.sendMessages({ body: n, applicationProperties: { n } })
  await send(1)
  await send(2)
  await client.deleteRule('news', 'all', 'red')
  await send(1)
  const runtime = await client.getSubscriptionRuntimeProperties('news', 'all')
  expect(runtime.activeMessageCount).toBe(1)
  expect(await all(client.listRules('news', 'all'))).toEqual([])
})

test('TOP-07 an update replaces a rule: what is taken away is gone', async () => {
  await using space = await withSubscription()
  const action = { sqlExpression: 'SET n = 2' }
  await space.client.createRule('news', 'all', 'r', { sqlExpression: 'n = 1' }, action)
  const rule = await space.client.getRule('news', 'all', 'r')
  const filter = { subject: 'red' }
  const updated = await space.client.updateRule('news', 'all', { ...rule, filter, action: {} })
  expect(updated._response.status).toBe(200)
  expect(updated).toMatchObject({ name: 'r', filter })
  const [, stored] = await space.broker.listRules(NAME)
  expect(stored).toEqual({ name: 'r', filter, createdAtUtc: expect.any(Date) })
})

test('TOP-07 a rule that exists is not created again, and one that does not is not found', async () => {
  await using space = await withSubscription()
  const { client } = space
  const filter = { subject: 'x' }
  expect(await refusal(client.createRule('news', 'all', '$default', filter))).toMatchObject({
    status: 409,
    code: 'MessageEntityAlreadyExistsError',
  })
  const notFound = {
    status: 404,
    code: 'MessageEntityNotFoundError',
    detail: "The messaging entity 'news/Subscriptions/all/Rules/r' could not be found.",
  }
  const rule = { ...(await client.getRule('news', 'all', '$Default')), name: 'r' }
  expect(await refusal(client.getRule('news', 'all', 'r'))).toEqual(notFound)
  expect(await refusal(client.updateRule('news', 'all', rule))).toEqual(notFound)
  expect(await refusal(client.deleteRule('news', 'all', 'r'))).toEqual(notFound)
  expect(await client.ruleExists('news', 'all', 'r')).toBe(false)
  expect(await client.ruleExists('news', 'all', '$Default')).toBe(true)
  const code = 'MessageEntityNotFoundError'
  expect(await refusal(client.createRule('news', 'none', 'r', filter))).toMatchObject({ code })
  expect(await refusal(all(client.listRules('news', 'none')))).toMatchObject({ code })
})

test.each([
  ['an expression that cannot be read', 'r', { sqlExpression: 'a = = 1' }],
  ['an expression above the limit', 'r', { sqlExpression: `a = '${'x'.repeat(1024)}'` }],
  ['no such parameter', 'r', { sqlExpression: 'a = @p', sqlParameters: { '@q': 1 } }],
  ['nothing to compare', 'r', {}],
  ['a long name', 'x'.repeat(51), { subject: 'x' }],
  ['a name with a dollar sign', '$Other', { subject: 'x' }],
])('a rule with %s is refused', async (_name, rule, filter) => {
  await using space = await withSubscription()
  const created = space.client.createRule('news', 'all', rule, filter)
  expect(await refusal(created)).toMatchObject({ status: 400, code: 'ServiceError' })
  expect(await all(space.client.listRules('news', 'all'))).toHaveLength(1)
})

test('TOP-05 TOP-06 parameters of filters and actions stand for their values, and come back', async () => {
  await using space = await withSubscription()
  const filter = { sqlExpression: 'n = @n AND s = @s', sqlParameters: { '@n': 5, '@s': 'x' } }
  const action = { sqlExpression: 'SET n = @n + @half', sqlParameters: { '@n': 5, '@half': 0.5 } }
  await space.client.deleteRule('news', 'all', '$Default')
  await space.client.createRule('news', 'all', 'r', filter, action)
  expect(await space.client.getRule('news', 'all', 'r')).toMatchObject({ filter, action })
  for (const n of [5, 6]) {
    await space.broker
      .createSender('news')
      .sendMessages({ body: n, applicationProperties: { n, s: 'x' } })
  }
  const copies = await space.broker.createReceiver(NAME).peekMessages(10)
  expect(copies).toMatchObject([{ body: 5, applicationProperties: { n: 5.5 } }])
})

test('rules are listed page by page', async () => {
  await using space = await withSubscription()
  for (const name of ['a', 'b']) {
    await space.client.createRule('news', 'all', name, { subject: name })
  }
  const pages = await all(space.client.listRules('news', 'all').byPage({ maxPageSize: 2 }))
  expect(pages.map((page) => page.map(({ name }) => name))).toEqual([['$Default', 'a'], ['b']])
})

test('a rule with an integer of 64 bits, which this client does not send, is shown with its value', async () => {
  await using space = await withSubscription()
  await space.broker.createRule(NAME, { name: 'r', filter: { applicationProperties: { n: 5n } } })
  expect(await space.client.getRule('news', 'all', 'r')).toMatchObject({
    filter: { applicationProperties: { n: 5 } },
  })
})
