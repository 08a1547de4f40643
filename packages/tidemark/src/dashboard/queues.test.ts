import { expect, test } from 'vitest'
import { openMessaging } from '../index.ts'
import { OpenedPage } from './opened-page.fixture.ts'

const TASKS = { database: 'shop', entity: 'tasks' }

async function opened(options: Parameters<typeof OpenedPage.open>[0] = {}) {
  const page = await OpenedPage.open(options)
  await page.store.createDatabase('shop')
  const broker = openMessaging(page.store.database('shop'))
  await broker.createQueue('tasks')
  await broker.createTopic('news')
  const all = { topic: 'news', subscription: 'all' }
  await broker.createSubscription(all, {
    rules: [{ name: 'big', filter: { sqlExpression: 'total > 10' } }],
  })
  return {
    page,
    broker,
    async [Symbol.asyncDispose]() {
      await broker.close()
      await page[Symbol.asyncDispose]()
    },
  }
}

test('queues, topics and subscriptions are counted by state', async () => {
  await using both = await opened()
  const { page, broker } = both
  await using sender = broker.createSender('tasks')
  await sender.sendMessages([{ body: 1 }, { body: 2 }, { body: 3 }])
  await sender.scheduleMessages({ body: 4 }, new Date('2100-01-01'))
  await using receiver = broker.createReceiver('tasks')
  const [first, second] = await receiver.receiveMessages(2)
  await receiver.deadLetterMessage(first!, { deadLetterReason: 'bad' })
  const { tables } = await page.view('overview', {})
  expect(tables.queues.map(({ id, kind }) => [id, kind])).toEqual([
    ['shop/news', 'topic'],
    ['shop/news/Subscriptions/all', 'subscription'],
    ['shop/tasks', 'queue'],
  ])
  const { head } = await page.view('queue', TASKS)
  expect(head).toMatchObject({
    ...TASKS,
    kind: 'queue',
    status: 'Active',
    requiresSession: false,
    active: 2,
    locked: 1,
    scheduled: 1,
    dead: 1,
    deferred: 0,
    maxDeliveryCount: 10,
    lockMs: 60_000,
    forwardTo: null,
  })
  expect(head.oldestMs).toBeGreaterThan(1_700_000_000_000)
  await receiver.completeMessage(second!)
  const topic = await page.view('queue', { ...TASKS, entity: 'news' })
  expect(topic.head).toMatchObject({ kind: 'topic', active: null, scheduled: 0 })
  expect(topic.tables.subscriptions.map(({ entity }) => entity)).toEqual(['news/Subscriptions/all'])
  const subscription = await page.view('queue', { ...TASKS, entity: 'news/Subscriptions/all' })
  expect(subscription.head.kind).toBe('subscription')
  expect(subscription.tables.rules).toEqual([{ id: 'big', text: 'total > 10' }])
})

test('messages are peeked by state and session, page by page, masked; sessions are listed', async () => {
  await using both = await opened({
    mask: (value) => {
      const { body, subject, properties } = value as {
        body: { n: number }
        subject: string
        properties: unknown
      }
      const hidden = { hidden: true }
      return {
        body: { n: body.n, ...hidden },
        subject: subject[0],
        properties: properties && hidden,
      }
    },
  })
  const { page, broker } = both
  await broker.createQueue('ordered', { requiresSession: true })
  await using sender = broker.createSender('ordered')
  const ordered = { ...TASKS, entity: 'ordered' }
  for (let n = 0; n < 120; n += 1) {
    const sessionId = n % 3 === 0 ? 'b' : 'a'
    await sender.sendMessages({
      body: { n, secret: n },
      subject: 'private',
      sessionId,
      applicationProperties: { n },
    })
  }
  const at = new Date('2100-01-01')
  const [scheduled] = await sender.scheduleMessages(
    { body: { n: 999 }, subject: 'private', sessionId: 'a' },
    at,
  )
  const first = await page.read('messages', ordered)
  expect(first.messages).toHaveLength(100)
  expect(first.messages[1]).toMatchObject({
    session: 'a',
    state: 'active',
    deliveries: 0,
    subject: 'p',
  })
  expect(JSON.parse(first.messages[1]?.body ?? '')).toEqual({ n: 1, hidden: true })
  expect(JSON.parse(first.messages[1]?.properties ?? '')).toEqual({ hidden: true })
  const rest = await page.read('messages', { ...ordered, from: String(first.next) })
  expect([rest.messages.length, rest.next]).toEqual([21, null])
  const later = await page.read('messages', { ...ordered, state: 'scheduled' })
  expect(later.messages).toMatchObject([{ number: scheduled, scheduledMs: at.getTime() }])
  const ofB = await page.read('messages', { ...ordered, session: 'b' })
  expect(ofB.messages).toHaveLength(40)
  expect(await page.read('sessions', ordered)).toEqual({ sessions: ['a', 'b'], next: null })
  expect(await page.read('sessions', { ...ordered, after: 'a' })).toMatchObject({ sessions: ['b'] })
  for (const wrong of [{ state: 'x' }, { from: '-1' }, { entity: '' }]) {
    expect(await page.refused('api/messages', { ...ordered, ...wrong })).toEqual([
      400,
      'ERR_BAD_REQUEST',
    ])
  }
})

test('dead messages go back, messages are scheduled and taken back, each after a dry run', async () => {
  await using both = await opened()
  const { page, broker } = both
  await using sender = broker.createSender('tasks')
  await sender.sendMessages([{ body: 'a' }, { body: 'b' }])
  await using receiver = broker.createReceiver('tasks')
  for (const message of await receiver.receiveMessages(2)) await receiver.deadLetterMessage(message)
  const dead = await page.read('messages', { ...TASKS, dead: '1' })
  expect(dead.messages.map(({ body }) => body)).toEqual(['a', 'b'])
  const counts = async () => {
    const { head } = await page.view('queue', TASKS)
    return [head.active, head.dead, head.scheduled]
  }
  const numbers = [dead.messages[0]?.number ?? 0]
  const dry = await page.act('redriveMessages', { ...TASKS, numbers: null, dryRun: true })
  expect(dry).toMatchObject({ done: false, numbers: { messages: 2 } })
  expect(await counts()).toEqual([0, 2, 0])
  await page.act('redriveMessages', { ...TASKS, numbers })
  expect(await counts()).toEqual([1, 1, 0])
  const missing = await page.act('redriveMessages', { ...TASKS, numbers })
  expect(missing.numbers).toEqual({ messages: 0, missing: 1 })
  const message = { ...TASKS, body: '{"n":1}', atMs: Date.UTC(2100, 0, 1) }
  expect((await page.act('schedule', { ...message, dryRun: true })).text).toContain('2100-01-01')
  expect(await counts()).toEqual([1, 1, 0])
  await page.act('schedule', message)
  expect(await counts()).toEqual([1, 1, 1])
  const { messages } = await page.read('messages', { ...TASKS, state: 'scheduled' })
  expect(JSON.parse(messages[0]?.body ?? '')).toEqual({ n: 1 })
  const scheduled = [messages[0]?.number ?? 0]
  await page.act('cancelScheduled', { ...TASKS, numbers: scheduled, dryRun: true })
  expect(await counts()).toEqual([1, 1, 1])
  await page.act('cancelScheduled', { ...TASKS, numbers: scheduled })
  expect(await counts()).toEqual([1, 1, 0])
  const again = await page.post('cancelScheduled', { ...TASKS, numbers: scheduled })
  expect(again.status).toBe(404)
  for (const [name, body] of [
    ['schedule', { ...TASKS, body: 'x', atMs: 9e15 }],
    ['schedule', { ...TASKS, entity: 'news/Subscriptions/all', body: 'x', atMs: null }],
    ['cancelScheduled', { ...TASKS, numbers: null }],
    ['redriveMessages', { ...TASKS, numbers: [-1] }],
  ] as const) {
    expect([name, (await page.post(name, body)).status]).toEqual([name, 400])
  }
})
