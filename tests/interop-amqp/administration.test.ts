import { MAX_DURATION } from '@tidemark/messaging'
import { expect, test } from 'vitest'
import { administration, all, KEY, refusal, ROOT } from './administration.fixture.ts'

/* The unmodified administration client of @azure/service-bus: the namespace, queues, lists, rights. */

const NEVER = MAX_DURATION

test('a new queue has the defaults of the service', async () => {
  await using space = await administration()
  const { _response, ...queue } = await space.client.createQueue('orders')
  expect(_response.status).toBe(201)
  expect(queue).toEqual({
    name: 'orders',
    lockDuration: 'PT1M',
    maxSizeInMegabytes: 1024,
    maxMessageSizeInKilobytes: 1024,
    requiresDuplicateDetection: false,
    requiresSession: false,
    defaultMessageTimeToLive: NEVER,
    deadLetteringOnMessageExpiration: false,
    duplicateDetectionHistoryTimeWindow: 'PT10M',
    maxDeliveryCount: 10,
    enableBatchedOperations: true,
    authorizationRules: undefined,
    status: 'Active',
    forwardTo: undefined,
    forwardDeadLetteredMessagesTo: undefined,
    userMetadata: undefined,
    autoDeleteOnIdle: NEVER,
    enablePartitioning: false,
    enableExpress: false,
    availabilityStatus: 'Available',
  })
})

test('a queue has every option that it was created with, at once and later', async () => {
  await using space = await administration()
  await space.client.createQueue('target')
  const options = {
    lockDuration: 'PT45S',
    maxSizeInMegabytes: 2048,
    maxMessageSizeInKilobytes: 512,
    requiresDuplicateDetection: true,
    requiresSession: false,
    defaultMessageTimeToLive: 'P3DT2H',
    deadLetteringOnMessageExpiration: true,
    duplicateDetectionHistoryTimeWindow: 'PT25S',
    maxDeliveryCount: 3,
    status: 'SendDisabled',
    userMetadata: 'a <b> & "c" \u00e9\u4e16 ',
    autoDeleteOnIdle: 'PT5M',
  } as const
  const created = await space.client.createQueue('orders', {
    ...options,
    forwardTo: 'target',
    forwardDeadLetteredMessagesTo: 'target',
  })
  const address = `sb://localhost:${space.server.port}/target`
  const shown = { ...options, forwardTo: address, forwardDeadLetteredMessagesTo: address }
  expect(created).toMatchObject(shown)
  expect(await space.client.getQueue('orders')).toMatchObject(shown)
  expect(await space.broker.getQueue('orders')).toMatchObject({
    ...options,
    forwardTo: 'target',
    forwardDeadLetteredMessagesTo: 'target',
  })
})

test('SES-10 a queue with sessions is one', async () => {
  await using space = await administration()
  await space.client.createQueue('orders', { requiresSession: true })
  expect(await space.broker.getQueue('orders')).toMatchObject({ requiresSession: true })
})

test('a queue with slashes in its name is managed under that name', async () => {
  await using space = await administration()
  const { name } = await space.client.createQueue('eu/west/orders.1_a-b')
  expect(name).toBe('eu/west/orders.1_a-b')
  expect(await space.client.getQueue(name)).toMatchObject({ name })
  await space.client.deleteQueue(name)
  expect(await space.client.queueExists(name)).toBe(false)
})

test('names are compared without regard to case, and shown as they were created', async () => {
  await using space = await administration()
  await space.client.createQueue('Orders')
  expect(await space.client.getQueue('oRDERS')).toMatchObject({ name: 'Orders' })
})

test('a queue that exists, under whatever case, is not created again', async () => {
  await using space = await administration()
  await space.client.createQueue('orders', { maxDeliveryCount: 3 })
  expect(await refusal(space.client.createQueue('ORDERS'))).toEqual({
    status: 409,
    code: 'MessageEntityAlreadyExistsError',
    detail: "The messaging entity 'ORDERS' already exists.",
  })
  expect(await space.client.getQueue('orders')).toMatchObject({ maxDeliveryCount: 3 })
})

test('a queue does not get the name of a topic, nor a topic that of a queue', async () => {
  await using space = await administration()
  await space.client.createTopic('news')
  await space.client.createQueue('orders')
  const code = 'MessageEntityAlreadyExistsError'
  expect(await refusal(space.client.createQueue('news'))).toMatchObject({ code })
  expect(await refusal(space.client.createTopic('orders'))).toMatchObject({ code })
})

test('SET-15 what is not there cannot be read, updated, counted or deleted', async () => {
  await using space = await administration()
  await space.client.createQueue('other')
  const { client } = space
  const notFound = {
    status: 404,
    code: 'MessageEntityNotFoundError',
    detail: "The messaging entity 'orders' could not be found.",
  }
  const queue = { ...(await client.getQueue('other')), name: 'orders' }
  expect(await refusal(client.getQueue('orders'))).toEqual(notFound)
  expect(await refusal(client.getQueueRuntimeProperties('orders'))).toEqual(notFound)
  expect(await refusal(client.updateQueue(queue))).toEqual(notFound)
  expect(await refusal(client.deleteQueue('orders'))).toEqual(notFound)
})

test('a queue is updated as it was read: what changes is changed, what is taken away is none', async () => {
  await using space = await administration()
  await space.client.createQueue('target')
  await space.client.createQueue('orders', {
    forwardTo: 'target',
    forwardDeadLetteredMessagesTo: 'target',
    userMetadata: 'mine',
    defaultMessageTimeToLive: 'PT1H',
  })
  const read = await space.client.getQueue('orders')
  read.lockDuration = 'PT10S'
  read.status = 'ReceiveDisabled'
  read.defaultMessageTimeToLive = NEVER
  expect((await space.client.updateQueue(read))._response.status).toBe(200)
  const target = `sb://localhost:${space.server.port}/target`
  const kept = { forwardTo: target, forwardDeadLetteredMessagesTo: target, userMetadata: 'mine' }
  const changed = {
    lockDuration: 'PT10S',
    status: 'ReceiveDisabled',
    defaultMessageTimeToLive: NEVER,
  }
  expect(await space.client.getQueue('orders')).toMatchObject({ ...changed, ...kept })
  const { forwardTo, forwardDeadLetteredMessagesTo, userMetadata, ...rest } = read
  expect(forwardTo).toBe(target)
  const without = await space.client.updateQueue({ ...rest, userMetadata: undefined as never })
  expect(without).toMatchObject(changed)
  expect(await space.broker.getQueue('orders')).toMatchObject({
    forwardTo: undefined,
    forwardDeadLetteredMessagesTo: undefined,
    userMetadata: '',
  })
  expect([forwardDeadLetteredMessagesTo, userMetadata]).toEqual([target, 'mine'])
})

test.each([
  ['requiresSession', { requiresSession: true }],
  ['requiresDuplicateDetection', { requiresDuplicateDetection: true }],
])('%s cannot change', async (name, change) => {
  await using space = await administration()
  const queue = await space.client.createQueue('orders')
  expect(await refusal(space.client.updateQueue({ ...queue, ...change }))).toEqual({
    status: 400,
    code: 'ServiceError',
    detail: `${name} cannot change after creation`,
  })
})

test('EXP-22 an update of the default time to live is one of the entity', async () => {
  await using space = await administration()
  const queue = await space.client.createQueue('orders')
  await space.client.updateQueue({ ...queue, defaultMessageTimeToLive: 'PT1.5S' })
  const { defaultMessageTimeToLive } = await space.broker.getQueue('orders')
  expect(defaultMessageTimeToLive).toBe('PT1.5S')
})

test('TMP-12 a deleted queue is gone with what was in it', async () => {
  await using space = await administration()
  await space.client.createQueue('orders')
  await using sender = space.broker.createSender('orders')
  await sender.sendMessages({ body: 1 })
  expect((await space.client.deleteQueue('orders'))._response.status).toBe(200)
  await space.client.createQueue('orders')
  const { totalMessageCount } = await space.client.getQueueRuntimeProperties('orders')
  expect(totalMessageCount).toBe(0)
})

test('queueExists says whether there is one', async () => {
  await using space = await administration()
  await space.client.createQueue('orders')
  await space.client.createTopic('news')
  expect(await space.client.queueExists('orders')).toBe(true)
  expect(await space.client.queueExists('none')).toBe(false)
  expect(await space.client.queueExists('news')).toBe(false)
})

test('runtime properties count messages by where they are', async () => {
  await using space = await administration()
  await space.client.createQueue('orders')
  await using sender = space.broker.createSender<number>('orders')
  await sender.sendMessages([1, 2, 3, 4].map((body) => ({ body })))
  await sender.sendMessages({ body: 5, scheduledEnqueueTimeUtc: new Date(Date.now() + 3_600_000) })
  await using receiver = space.broker.createReceiver<number>('orders')
  const [first, second] = await receiver.receiveMessages(2)
  await receiver.deadLetterMessage(first!)
  await receiver.deferMessage(second!)
  const runtime = await space.client.getQueueRuntimeProperties('orders')
  expect(runtime).toMatchObject({
    name: 'orders',
    totalMessageCount: 5,
    activeMessageCount: 2,
    deadLetterMessageCount: 1,
    scheduledMessageCount: 1,
    transferMessageCount: 0,
    transferDeadLetterMessageCount: 0,
  })
  expect(runtime.sizeInBytes).toBeGreaterThan(0)
  const { createdAt, modifiedAt, accessedAt } = runtime
  expect(createdAt.getTime()).toBeGreaterThan(Date.now() - 600_000)
  expect(modifiedAt.getTime()).toBeGreaterThanOrEqual(createdAt.getTime())
  expect(accessedAt.getTime()).toBeGreaterThanOrEqual(createdAt.getTime())
})

test('lists are empty where nothing is', async () => {
  await using space = await administration()
  expect(await all(space.client.listQueues())).toEqual([])
  expect(await all(space.client.listTopics())).toEqual([])
})

test('a list goes over all pages, in the order of names, and has each queue once', async () => {
  await using space = await administration()
  const names = Array.from({ length: 205 }, (_, index) => `q${String(index).padStart(3, '0')}`)
  await Promise.all(names.map((name) => space.broker.createQueue(name)))
  await space.broker.createTopic('news')
  const listed = await all(space.client.listQueues())
  expect(listed.map(({ name }) => name)).toEqual(names)
  const runtime = await all(space.client.listQueuesRuntimeProperties())
  expect(runtime.map(({ name }) => name)).toEqual(names)
})

test('pages have the size that was asked for, and a token that goes on', async () => {
  await using space = await administration()
  for (const name of ['a', 'b', 'c', 'd', 'e']) await space.broker.createQueue(name)
  const pages = await all(space.client.listQueues().byPage({ maxPageSize: 2 }))
  expect(pages.map((page) => page.map(({ name }) => name))).toEqual([['a', 'b'], ['c', 'd'], ['e']])
  const continuationToken = pages[0]!.continuationToken!
  const rest = await all(space.client.listQueues().byPage({ continuationToken, maxPageSize: 10 }))
  expect(rest.map((page) => page.map(({ name }) => name))).toEqual([['c', 'd', 'e']])
  expect(rest[0]!.continuationToken).toBeUndefined()
})

test('a page that ends with the last queue has no next one', async () => {
  await using space = await administration()
  for (const name of ['a', 'b']) await space.broker.createQueue(name)
  const pages = await all(space.client.listQueues().byPage({ maxPageSize: 2 }))
  expect(pages.map((page) => page.length)).toEqual([2])
})

test('past the end a page is empty', async () => {
  await using space = await administration()
  await space.broker.createQueue('a')
  const pages = await all(space.client.listQueues().byPage({ continuationToken: '7' }))
  expect(pages.map((page) => page.length)).toEqual([0])
})

test.each(['Basic', 'Standard', 'Premium'] as const)(
  'the namespace says its tier: %s',
  async (tier) => {
    await using space = await administration({ namespace: { tier } })
    const { createdAt } = await space.broker
      .createQueue('orders')
      .then(() => space.client.getQueueRuntimeProperties('orders'))
    const properties = await space.client.getNamespaceProperties()
    expect(properties).toEqual({
      name: 'shop',
      messagingSku: tier,
      messagingUnits: tier === 'Premium' ? 1 : undefined,
      createdAt,
      modifiedAt: createdAt,
    })
  },
)

test('EXP-23 in the tier Basic never is 14 days, and there are no topics', async () => {
  await using space = await administration({ namespace: { tier: 'Basic' } })
  const queue = await space.client.createQueue('orders', { defaultMessageTimeToLive: NEVER })
  expect(queue.defaultMessageTimeToLive).toBe('P14D')
  expect(await refusal(space.client.createTopic('news'))).toMatchObject({ status: 400 })
})

test('TMP-03 under the resource lock nothing is deleted by call', async () => {
  await using space = await administration({ namespace: { resourceLock: 'CanNotDelete' } })
  await space.client.createQueue('orders')
  expect(await refusal(space.client.deleteQueue('orders'))).toMatchObject({
    status: 403,
    code: 'InvalidOperationError',
  })
  expect(await space.client.queueExists('orders')).toBe(true)
})

test.each([
  ['TMP-02', { autoDeleteOnIdle: 'PT4M59S' }, 'autoDeleteOnIdle must be at least PT5M'],
  ['a lock of 6 minutes', { lockDuration: 'PT6M' }, 'lockDuration must be PT5S to PT5M'],
  ['no duration', { lockDuration: 'soon' }, 'lockDuration must be a duration of ISO 8601'],
  ['months', { defaultMessageTimeToLive: 'P1M' }, 'months and years have no fixed length'],
  ['no delivery', { maxDeliveryCount: 0 }, 'maxDeliveryCount must be an integer from 1'],
  ['half a delivery', { maxDeliveryCount: 1.5 }, 'MaxDeliveryCount must be an integer'],
  ['too much metadata', { userMetadata: 'x'.repeat(1025) }, 'userMetadata must have at most 1024'],
  ['an unknown status', { status: 'Renaming' as const }, 'Status must be Active or'],
  ['partitions', { enablePartitioning: true }, 'partitioned entities are not offered'],
  ['SET-13 a destination that is not there', { forwardTo: 'none' }, 'forwardTo must be the path'],
  ['SET-13 itself', { forwardTo: 'orders' }, 'forwardTo must be'],
  [
    'sessions that are forwarded',
    { requiresSession: true, forwardTo: 'target' },
    'forwardTo cannot stand beside requiresSession',
  ],
  [
    'keys of its own',
    {
      authorizationRules: [
        {
          claimType: 'SharedAccessKey',
          accessRights: ['Send' as const],
          keyName: 'k',
          primaryKey: KEY,
          secondaryKey: KEY,
        },
      ],
    },
    'AuthorizationRules must be empty',
  ],
])('a queue with %s is refused, and not created', async (_name, options, text) => {
  await using space = await administration()
  await space.client.createQueue('target')
  expect(await refusal(space.client.createQueue('orders', options))).toEqual({
    status: 400,
    code: 'ServiceError',
    detail: expect.stringContaining(text),
  })
  expect(await space.client.queueExists('orders')).toBe(false)
})

test.each([
  'a b',
  'a%b',
  'a%2zb',
  'x'.repeat(261),
  'a//b',
  '$DeadLetterQueue',
  'a/$DeadLetterQueue',
])('a queue does not get the name %j', async (name) => {
  await using space = await administration()
  expect(await refusal(space.client.createQueue(name))).toMatchObject({
    status: 400,
    code: 'ServiceError',
  })
  expect(await space.broker.listQueues()).toEqual([])
})

test.each([true, false])(
  'enableBatchedOperations: %s is shown; calls always are',
  async (value) => {
    await using space = await administration()
    const queue = await space.client.createQueue('orders', {
      enableBatchedOperations: value,
      enableExpress: value,
    })
    expect(queue).toMatchObject({ enableBatchedOperations: value, enableExpress: false })
  },
)

test('forwarding may name the address of a queue, under whatever name of the namespace', async () => {
  await using space = await administration()
  await space.client.createQueue('eu/target')
  const queue = await space.client.createQueue('orders', { forwardTo: 'https://me/eu/target' })
  expect(queue.forwardTo).toBe('https://me/eu/target')
  expect(await space.broker.getQueue('orders')).toMatchObject({ forwardTo: 'eu/target' })
})

test('the older version of the protocol is served, too', async () => {
  await using space = await administration()
  const older = space.connect(ROOT, { serviceVersion: '2017-04' })
  await older.createQueue('orders')
  expect(await all(older.listQueues())).toMatchObject([{ name: 'orders' }])
})

test('without a certificate a client is served that a policy turns to http', async () => {
  await using space = await administration({ tls: undefined })
  const client = space.connect(ROOT, { tlsOptions: {} })
  client.pipeline.addPolicy({
    name: 'plain http',
    sendRequest: (request, next) => {
      request.url = request.url.replace(/^https:/, 'http:')
      request.allowInsecureConnection = true
      return next(request)
    },
  })
  await client.createQueue('orders')
  expect(await client.queueExists('orders')).toBe(true)
})

test.each([
  ['a wrong key', { ...ROOT, keys: [Buffer.alloc(32, 8).toString('base64')] }],
  ['another name', { ...ROOT, name: 'Other' }],
])('with %s a client is refused, and told nothing', async (_name, policy) => {
  await using space = await administration()
  await space.broker.createQueue('orders')
  const stranger = space.connect(policy)
  const unauthorized = {
    status: 401,
    code: 'UnauthorizedRequestError',
    detail:
      'Unauthorized access: the signature of the token is wrong: no policy has this name and key.',
  }
  expect(await refusal(stranger.getQueue('orders'))).toEqual(unauthorized)
  expect(await refusal(stranger.getQueue('none'))).toEqual(unauthorized)
  expect(await refusal(stranger.createQueue('mine'))).toEqual(unauthorized)
  expect(await refusal(stranger.deleteQueue('orders'))).toEqual(unauthorized)
  expect(await refusal(stranger.getNamespaceProperties())).toEqual(unauthorized)
  expect(await space.client.queueExists('orders')).toBe(true)
})

test('a key without Manage reads and changes no entity; Listen is enough for rules', async () => {
  const listen = { name: 'Listener', keys: ['listen'], rights: ['Listen' as const] }
  const send = { name: 'Sender', keys: ['send'], rights: ['Send' as const] }
  await using space = await administration({ policies: [ROOT, listen, send] })
  await space.client.createTopic('news')
  await space.client.createSubscription('news', 'all')
  const [listener, sender] = [space.connect(listen), space.connect(send)]
  const code = 'UnauthorizedRequestError'
  for (const client of [listener, sender]) {
    expect(await refusal(client.getTopic('news'))).toMatchObject({ code })
    expect(await refusal(client.getSubscription('news', 'all'))).toMatchObject({ code })
    expect(await refusal(client.createQueue('orders'))).toMatchObject({ code })
    expect(await refusal(all(client.listQueues()))).toMatchObject({ code })
    expect(await refusal(client.deleteTopic('news'))).toMatchObject({ code })
  }
  await listener.createRule('news', 'all', 'red', { sqlExpression: "color = 'red'" })
  expect(await all(listener.listRules('news', 'all'))).toHaveLength(2)
  await listener.deleteRule('news', 'all', 'red')
  expect(await refusal(sender.getRule('news', 'all', '$Default'))).toMatchObject({ code })
})

test('a key that was replaced is refused from then on, and the new one serves', async () => {
  await using space = await administration()
  const next = { ...ROOT, keys: ['next'] }
  space.server.replacePolicies([next])
  expect(await refusal(space.client.createQueue('orders'))).toMatchObject({ status: 401 })
  await space.connect(next).createQueue('orders')
})

test('with the emulator’s key a client on this machine is served', async () => {
  const emulator = { ...ROOT, keys: ['SAS_KEY_VALUE'] }
  await using space = await administration({ policies: [emulator] })
  const client = space.connect(emulator)
  await client.createQueue('orders')
  expect(await client.queueExists('orders')).toBe(true)
})

test('a stopped server refuses connections, and what was created is there after it', async () => {
  await using space = await administration()
  await space.client.createQueue('orders')
  await space.server.stop()
  await space.server.stop()
  expect(await refusal(space.client.getQueue('orders'))).toMatchObject({
    code: expect.stringMatching(/^ECONN(?:REFUSED|RESET)$/),
  })
  expect(await space.broker.getQueue('orders')).toMatchObject({ name: 'orders' })
})

test('a failure of the store is a 500 that says nothing of it, and is reported', async () => {
  await using space = await administration()
  await using closed = await administration()
  await closed.broker.close()
  expect(await refusal(closed.client.getQueue('orders'))).toMatchObject({
    status: 503,
    code: 'ServerBusyError',
  })
  expect(closed.failures).toEqual([])
  await space.client.createQueue('orders')
  space.broker.deleteQueue = () => Promise.reject(new Error('secret'))
  const found = await refusal(space.client.deleteQueue('orders'))
  expect(found).toMatchObject({ status: 500, code: 'InternalServerError' })
  expect(JSON.stringify(found)).not.toContain('secret')
  expect(space.failures).toMatchObject([{ method: 'DELETE', path: '/orders' }])
})
