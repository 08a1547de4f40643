import { expect, test } from 'vitest'
import { entryOf, runningAdmin, sasToken } from './running-admin.fixture.ts'

const QUEUE = entryOf('<QueueDescription/>')

test('health needs no token', async () => {
  await using admin = await runningAdmin()
  const { status, headers, text } = await admin.send('GET', 'health', { token: undefined })
  expect([status, headers.get('content-type')]).toEqual([200, 'application/json'])
  expect(JSON.parse(text)).toEqual({ status: 'healthy' })
})

test('a queue may be called health, for those with a token', async () => {
  await using admin = await runningAdmin()
  expect((await admin.send('GET', 'health')).status).toBe(404)
  expect((await admin.send('PUT', 'health', { body: QUEUE })).status).toBe(201)
  expect((await admin.send('GET', 'health')).text).toContain('<QueueDescription')
})

test('an entry has the elements of the service, in its order', async () => {
  await using admin = await runningAdmin()
  await admin.broker.createQueue('target')
  await admin.broker.createQueue('orders', {
    forwardTo: 'target',
    forwardDeadLetteredMessagesTo: 'target',
    userMetadata: 'a < b',
  })
  const { status, headers, text } = await admin.send('GET', 'orders?api-version=2021-05')
  expect(status).toBe(200)
  expect(headers.get('content-type')).toBe('application/atom+xml;type=entry;charset=utf-8')
  const { host } = new URL(admin.server.endpoint)
  const time = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g
  expect(
    text
      .replaceAll(time, 'T')
      .replaceAll(host, 'HOST')
      .replace(/<SizeInBytes>.*?<\/SizeInBytes>/, ''),
  ).toBe(
    [
      '<?xml version="1.0" encoding="utf-8"?><entry xmlns="http://www.w3.org/2005/Atom">',
      '<id>http://HOST/orders?api-version=2021-05</id><title type="text">orders</title>',
      '<published>T</published><updated>T</updated><author><name>shop</name></author>',
      '<link rel="self" href="http://HOST/orders?api-version=2021-05"></link>',
      '<content type="application/xml">',
      '<QueueDescription xmlns="http://schemas.microsoft.com/netservices/2010/10/servicebus/connect"',
      ' xmlns:i="http://www.w3.org/2001/XMLSchema-instance"><LockDuration>PT1M</LockDuration>',
      '<MaxSizeInMegabytes>1024</MaxSizeInMegabytes>',
      '<RequiresDuplicateDetection>false</RequiresDuplicateDetection>',
      '<RequiresSession>false</RequiresSession>',
      '<DefaultMessageTimeToLive>P10675199DT2H48M5.4775807S</DefaultMessageTimeToLive>',
      '<DeadLetteringOnMessageExpiration>false</DeadLetteringOnMessageExpiration>',
      '<DuplicateDetectionHistoryTimeWindow>PT10M</DuplicateDetectionHistoryTimeWindow>',
      '<MaxDeliveryCount>10</MaxDeliveryCount>',
      '<EnableBatchedOperations>true</EnableBatchedOperations>',
      '<MessageCount>0</MessageCount><IsAnonymousAccessible>false</IsAnonymousAccessible>',
      '<AuthorizationRules></AuthorizationRules><Status>Active</Status>',
      '<ForwardTo>http://HOST/target</ForwardTo><UserMetadata>a &lt; b</UserMetadata>',
      '<CreatedAt>T</CreatedAt><UpdatedAt>T</UpdatedAt>',
      '<AccessedAt>0001-01-01T00:00:00Z</AccessedAt>',
      '<CountDetails xmlns:d2p1="http://schemas.microsoft.com/netservices/2011/06/servicebus">',
      '<d2p1:ActiveMessageCount>0</d2p1:ActiveMessageCount>',
      '<d2p1:DeadLetterMessageCount>0</d2p1:DeadLetterMessageCount>',
      '<d2p1:ScheduledMessageCount>0</d2p1:ScheduledMessageCount>',
      '<d2p1:TransferMessageCount>0</d2p1:TransferMessageCount>',
      '<d2p1:TransferDeadLetterMessageCount>0</d2p1:TransferDeadLetterMessageCount></CountDetails>',
      '<AutoDeleteOnIdle>P10675199DT2H48M5.4775807S</AutoDeleteOnIdle>',
      '<EnablePartitioning>false</EnablePartitioning>',
      '<ForwardDeadLetteredMessagesTo>http://HOST/target</ForwardDeadLetteredMessagesTo>',
      '<EntityAvailabilityStatus>Available</EntityAvailabilityStatus>',
      '<EnableExpress>false</EnableExpress>',
      '<MaxMessageSizeInKilobytes>1024</MaxMessageSizeInKilobytes></QueueDescription>',
      '</content></entry>',
    ].join(''),
  )
})

test('what was read can be sent back as it stands', async () => {
  await using admin = await runningAdmin()
  await admin.broker.createTopic('news')
  await admin.broker.createSubscription({ topic: 'news', subscription: 'all' })
  await admin.broker.createQueue('orders', { forwardTo: 'news', autoDeleteOnIdle: 'PT1H' })
  for (const path of ['orders', 'news', 'news/Subscriptions/all']) {
    const read = await admin.send('GET', path)
    const put = { body: read.text, headers: { 'if-match': '*' } }
    expect([path, (await admin.send('PUT', path, put)).status]).toEqual([path, 200])
    const { text } = await admin.send('GET', path)
    const properties = (entry: string): string =>
      entry.replaceAll(/<(updated|UpdatedAt|AccessedAt)>.*?<\/\1>/g, '')
    expect(properties(text)).toBe(properties(read.text))
  }
})

test('what changes nothing is shown as it was given, until something else is', async () => {
  await using admin = await runningAdmin()
  for (const name of ['a', 'b']) await admin.broker.createQueue(name)
  const put = async (
    path: string,
    description: string,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<string> =>
    (await admin.send('PUT', path, { body: entryOf(description), headers })).text
  const update = { 'if-match': '*' }
  const batched = '<EnableBatchedOperations>false</EnableBatchedOperations>'
  const window = '<DuplicateDetectionHistoryTimeWindow>PT5M</DuplicateDetectionHistoryTimeWindow>'
  const ordering = '<SupportOrdering>false</SupportOrdering>'
  const forward = '<ForwardTo>https://elsewhere/A</ForwardTo>'
  const queue = `<QueueDescription>${batched}${forward}</QueueDescription>`
  const created = await put('q', queue)
  for (const part of [batched, forward]) expect(created).toContain(part)
  expect((await admin.broker.getQueue('q')).forwardTo).toBe('a')
  const changed = await put('q', `<QueueDescription>${forward}</QueueDescription>`, update)
  for (const part of [batched, forward]) expect(changed).toContain(part)
  await admin.broker.updateQueue('q', { forwardTo: 'b' })
  const { text } = await admin.send('GET', 'q')
  expect(text).toContain(`<ForwardTo>${admin.server.endpoint}b</ForwardTo>`)
  expect(text).toContain(batched)
  const topic = await put('t', `<TopicDescription>${window}${ordering}</TopicDescription>`)
  for (const part of [window, ordering]) expect(topic).toContain(part)
  const subscription = `<SubscriptionDescription>${batched}</SubscriptionDescription>`
  expect(await put('t/Subscriptions/s', subscription)).toContain(batched)
})

test('the filters of a topic are counted from version 2024-05 on', async () => {
  await using admin = await runningAdmin()
  await admin.broker.createTopic('news')
  const rules = [{ name: 'a', filter: { subject: 'x' } }, { name: 'b' }, { name: 'c' }]
  await admin.broker.createSubscription({ topic: 'news', subscription: 'all' })
  await admin.broker.createSubscription({ topic: 'news', subscription: 'some' }, { rules })
  const counts = '<SqlFilterCount>3</SqlFilterCount><CorrelationFilterCount>1<'
  expect((await admin.send('GET', 'news?api-version=2024-05')).text).toContain(counts)
  expect((await admin.send('GET', 'news?api-version=2021-05')).text).not.toContain('FilterCount')
})

test('version 2017-04 knows nothing that came later', async () => {
  await using admin = await runningAdmin()
  const size = '<MaxMessageSizeInKilobytes>512</MaxMessageSizeInKilobytes>'
  const put = { body: entryOf(`<QueueDescription>${size}</QueueDescription>`) }
  const refused = await admin.send('PUT', 'orders?api-version=2017-04', put)
  expect(refused.status).toBe(400)
  expect(refused.text).toContain('MaxMessageSizeInKilobytes came with version 2021-05')
  expect((await admin.send('PUT', 'orders?api-version=2021-05', put)).text).toContain(size)
  const old = 'orders?api-version=2017-04'
  const read = await admin.send('GET', old)
  expect(read.text).not.toContain('MaxMessageSizeInKilobytes')
  const update = { body: read.text, headers: { 'if-match': '*' } }
  expect((await admin.send('PUT', old, update)).status).toBe(200)
  expect((await admin.send('GET', 'orders')).text).toContain(size)
})

test('what somebody has used says when', async () => {
  await using admin = await runningAdmin()
  await admin.broker.createQueue('orders')
  const time = async (): Promise<string> => (await admin.send('GET', 'orders')).text
  expect(await time()).toContain('<AccessedAt>0001-')
  await admin.broker.createSender('orders').sendMessages({ body: 1 })
  await expect.poll(time).not.toContain('<AccessedAt>0001-')
})

test.each(['%24Resources/Queues', '$resources/queues/', '$Resources/queues'])(
  'the list is found as %s',
  async (path) => {
    await using admin = await runningAdmin()
    await admin.broker.createQueue('orders')
    const { status, text } = await admin.send('GET', path)
    expect(status).toBe(200)
    expect(text).toContain('<title type="text">orders</title>')
  },
)

test('the next page is linked, with what was asked for', async () => {
  await using admin = await runningAdmin()
  for (const name of ['a', 'b', 'c']) await admin.broker.createQueue(name)
  const { endpoint } = admin.server
  const { text } = await admin.send('GET', '$Resources/queues?api-version=2017-04&$skip=1&$top=1')
  expect(text).toContain(
    `<link rel="next" href="${endpoint}$Resources/queues?api-version=2017-04&amp;$skip=2&amp;$top=1">`,
  )
  expect((await admin.send('GET', '$Resources/queues?$skip=2&$top=1')).text).not.toContain('"next"')
})

test.each(['$skip=-1', '$skip=x', '$top=0', '$top=1.5', '$top=', 'api-version=' + 'x'.repeat(41)])(
  'a list with %s is 400',
  async (query) => {
    await using admin = await runningAdmin()
    expect((await admin.send('GET', `$Resources/queues?${query}`)).status).toBe(400)
  },
)

test.each(['', '$Resources', '$Resources/relays', '$Resources/queues/a', 'a/Subscriptions/b/c'])(
  'nothing is at %j',
  async (path) => {
    await using admin = await runningAdmin()
    const { status, text } = await admin.send('GET', path)
    expect([status, text]).toEqual([404, expect.stringContaining('<Code>404</Code>')])
  },
)

test.each([
  ['POST', 'orders'],
  ['PATCH', 'orders'],
  ['PUT', '$Resources/queues'],
  ['PUT', 'news/Subscriptions'],
  ['DELETE', '$namespaceinfo'],
  ['DELETE', 'news/Subscriptions/all/Rules'],
])('%s of %s is 405', async (method, path) => {
  await using admin = await runningAdmin()
  const body = method === 'DELETE' ? undefined : QUEUE
  expect((await admin.send(method, path, { body })).status).toBe(405)
})

test('an update names no version of what it changes', async () => {
  await using admin = await runningAdmin()
  const headers = { 'if-match': '"abc"' }
  const { status, text } = await admin.send('PUT', 'orders', { body: QUEUE, headers })
  expect(status).toBe(400)
  expect(text).toContain('If-Match')
})

test('a dead-letter queue is not managed by itself', async () => {
  await using admin = await runningAdmin()
  await admin.broker.createQueue('orders')
  for (const method of ['GET', 'DELETE']) {
    expect((await admin.send(method, 'orders/$DeadLetterQueue')).status).toBe(404)
  }
})

test.each([
  ['orders', '<TopicDescription/>', 201],
  ['orders', '<RuleDescription/>', 400],
  ['orders', '<SubscriptionDescription/>', 400],
  ['news/Subscriptions/more', '<QueueDescription/>', 400],
  ['news/Subscriptions/all/Rules/r', '<SubscriptionDescription/>', 400],
  ['news/Subscriptions/all/Rules/r', '<RuleDescription><Name>other</Name></RuleDescription>', 400],
  ['news/Subscriptions/all/Rules/r', '<RuleDescription/>', 201],
])('%s with %s is %i', async (path, description, status) => {
  await using admin = await runningAdmin()
  await admin.broker.createTopic('news')
  await admin.broker.createSubscription({ topic: 'news', subscription: 'all' })
  expect((await admin.send('PUT', path, { body: entryOf(description) })).status).toBe(status)
})

test('a default rule is one of a new subscription only', async () => {
  await using admin = await runningAdmin()
  await admin.broker.createTopic('news')
  await admin.broker.createSubscription({ topic: 'news', subscription: 'all' })
  const body = entryOf(
    '<SubscriptionDescription><DefaultRuleDescription/></SubscriptionDescription>',
  )
  const headers = { 'if-match': '*' }
  const { status } = await admin.send('PUT', 'news/Subscriptions/all', { body, headers })
  expect(status).toBe(400)
})

test('every answer of an error is XML with code and detail, and can be found in a log', async () => {
  await using admin = await runningAdmin()
  const { text, headers } = await admin.send('GET', 'a%3Cb%3E&')
  expect(headers.get('content-type')).toBe('application/xml;charset=utf-8')
  expect(text).toMatch(
    /^<\?xml .*\?><Error><Code>404<\/Code><Detail>SubCode=40400\. The messaging entity 'a&lt;b&gt;&amp;' could not be found\. TrackingId:[0-9a-f]{32}, Timestamp:\S+Z<\/Detail><\/Error>$/,
  )
})

test('a token of an entity serves for what is below it, and for nothing else', async () => {
  await using admin = await runningAdmin()
  await admin.broker.createTopic('news')
  await admin.broker.createTopic('newspaper')
  await admin.broker.createSubscription({ topic: 'news', subscription: 'all' })
  const token = sasToken(`sb://anywhere/News`)
  const statusOf = async (path: string): Promise<number> =>
    (await admin.send('GET', path, { token })).status
  expect(await statusOf('news')).toBe(200)
  expect(await statusOf('news/Subscriptions/all/Rules/$Default')).toBe(200)
  expect(await statusOf('newspaper')).toBe(401)
  expect(await statusOf('$Resources/topics')).toBe(401)
  expect(await statusOf('$namespaceinfo')).toBe(401)
})
