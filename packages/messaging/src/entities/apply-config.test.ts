import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { EntityAdministration } from './entity-administration.ts'
import { resolveNamespace } from './namespace.ts'
import { FakeEntities } from './stored-entities.fixture.ts'

const NAMESPACE = 'UserConfig.Namespaces[0]'

function open(): { readonly entities: FakeEntities; readonly admin: EntityAdministration } {
  const entities = new FakeEntities()
  return { entities, admin: new EntityAdministration(entities, resolveNamespace()) }
}

function withNamespace(namespace: unknown, userConfig: object = {}): unknown {
  return { UserConfig: { ...userConfig, Namespaces: [namespace] } }
}

const SHOP = withNamespace({
  Name: 'shop',
  Queues: [
    {
      Name: 'orders',
      Properties: { LockDuration: 'PT30S', ForwardDeadLetteredMessagesTo: 'dead' },
    },
    { Name: 'dead' },
  ],
  Topics: [
    {
      Name: 'news',
      Subscriptions: [
        { Name: 'all', Properties: { ForwardTo: 'Orders' } },
        {
          Name: 'red',
          Rules: [
            {
              Name: 'r',
              Properties: {
                CorrelationFilter: { Label: 'red', Properties: { n: 1, on: true } },
                Action: { SqlExpression: 'SET n = 2' },
              },
            },
          ],
        },
      ],
    },
  ],
})

async function problemsOf(
  admin: EntityAdministration,
  config: unknown,
): Promise<readonly string[]> {
  const error: unknown = await admin.applyConfig(config).catch((reason: unknown) => reason)
  return String(error)
    .split(/;?\n {2}/)
    .slice(1)
}

test('everything is created by one command', async () => {
  const { admin, entities } = open()
  await admin.applyConfig(SHOP)
  expect(entities.commands.map(({ kind }) => kind)).toEqual(['create'])
  expect(await admin.getQueue('orders')).toMatchObject({
    lockDuration: 'PT30S',
    forwardDeadLetteredMessagesTo: 'dead',
  })
  const all = { topic: 'news', subscription: 'all' }
  expect((await admin.getSubscription(all)).forwardTo).toBe('orders')
  expect((await admin.listRules(all)).map(({ name }) => name)).toEqual(['$Default'])
  expect(await admin.listRules({ topic: 'news', subscription: 'red' })).toMatchObject([
    {
      name: 'r',
      filter: { subject: 'red', applicationProperties: { n: 1, on: true } },
      action: { sqlExpression: 'SET n = 2' },
    },
  ])
})

test('applied again, it changes nothing', async () => {
  const { admin, entities } = open()
  await admin.applyConfig(SHOP)
  const before = entities.records
  await admin.applyConfig(SHOP)
  expect(entities.records).toEqual(before)
  expect(entities.commands).toHaveLength(1)
})

test('what is missing is added, also to a topic that exists', async () => {
  const { admin } = open()
  await admin.applyConfig(SHOP)
  await admin.deleteSubscription({ topic: 'news', subscription: 'red' })
  await admin.deleteQueue('dead')
  await admin.applyConfig(SHOP)
  expect((await admin.listQueues()).map(({ name }) => name)).toEqual(['dead', 'orders'])
  expect((await admin.listSubscriptions('news')).map((one) => one.subscriptionName)).toEqual([
    'all',
    'red',
  ])
})

test('what the file does not name may differ in an entity that exists', async () => {
  const { admin } = open()
  await admin.createQueue('orders', { lockDuration: 30_000, maxDeliveryCount: 3 })
  await admin.createQueue('dead')
  await admin.updateQueue('orders', { forwardDeadLetteredMessagesTo: 'dead' })
  await admin.applyConfig(SHOP)
  expect((await admin.getQueue('orders')).maxDeliveryCount).toBe(3)
})

test('an entity that exists with another definition is refused, and nothing is created', async () => {
  const { admin, entities } = open()
  const red = { topic: 'news', subscription: 'red' }
  await admin.createQueue('orders', { lockDuration: 'PT10S' })
  await admin.createTopic('news')
  await admin.createSubscription(red)
  await admin.createTopic('dead')
  const before = entities.records
  expect(await problemsOf(admin, SHOP)).toEqual([
    `${NAMESPACE}.Queues[0].Properties.LockDuration: is "PT10S" in the queue that exists, got "PT30S"`,
    `${NAMESPACE}.Queues[0].Properties.ForwardDeadLetteredMessagesTo: is not set in the queue that exists, got "dead"`,
    `${NAMESPACE}.Queues[1].Name: is the name of a topic that exists`,
    `${NAMESPACE}.Topics[0].Subscriptions[1].Rules: are not the rules of the subscription that exists`,
  ])
  expect(entities.records).toEqual(before)
})

test('a rule that exists with another action is refused', async () => {
  const { admin } = open()
  const config = (sqlExpression: string) => {
    const rule = { Name: 'a', Properties: { Action: { SqlExpression: sqlExpression } } }
    return withNamespace({ Topics: [{ Name: 't', Subscriptions: [{ Name: 's', Rules: [rule] }] }] })
  }
  await admin.applyConfig(config('SET n = 1'))
  await admin.applyConfig(config('SET n = 1'))
  expect(await problemsOf(admin, config('SET n = 2'))).toEqual([
    `${NAMESPACE}.Topics[0].Subscriptions[0].Rules: are not the rules of the subscription that exists`,
  ])
})

test('the order of rules and of their properties makes no difference', async () => {
  const { admin } = open()
  const config = (rules: readonly unknown[]) =>
    withNamespace({ Topics: [{ Name: 't', Subscriptions: [{ Name: 's', Rules: rules }] }] })
  const rule = (name: string, filter: object) => ({
    Name: name,
    Properties: { CorrelationFilter: filter },
  })
  await admin.applyConfig(config([rule('a', { To: 'x', Label: 'y' }), rule('b', { To: 'z' })]))
  await admin.applyConfig(config([rule('B', { To: 'z' }), rule('a', { Label: 'y', To: 'x' })]))
  expect(
    await problemsOf(admin, config([rule('a', { To: 'x', Label: 'y' }), rule('b', { To: 'Z' })])),
  ).toHaveLength(1)
})

test('every problem is told with its path, and nothing is created', async () => {
  const { admin, entities } = open()
  const config = withNamespace(
    {
      Name: 'shop',
      Queues: [
        { Name: 'a', Properties: { LockDuration: 'PT1S', MaxDeliveryCount: 0 } },
        { Name: 'b c', Properties: { ForwardTo: 'none', Typo: 1 } },
        { Name: 'A' },
        { Name: 'good' },
      ],
      Topics: [
        {
          Name: 'a',
          Subscriptions: [
            { Name: 's', Properties: { RequiresSession: true, ForwardTo: 'good' } },
            { Name: 'x'.repeat(51), Rules: [{ Name: '' }, { Name: 'r' }, { Name: 'R' }] },
          ],
        },
      ],
    },
    { Limits: { MinLockDuration: 'PT2S' } },
  )
  expect(await problemsOf(admin, config)).toEqual([
    `${NAMESPACE}.Queues[1].Properties.Typo: there is no option Typo`,
    `${NAMESPACE}.Queues[0].Properties.LockDuration: must be PT2S to PT5M, got "PT1S"`,
    `${NAMESPACE}.Queues[0].Properties.MaxDeliveryCount: must be an integer from 1 to 2147483647, got 0`,
    `${NAMESPACE}.Queues[1].Name: may have letters, digits and . - _ / ~ only, got "b c"`,
    `${NAMESPACE}.Queues[1].Properties.ForwardTo: must be the path of a queue or topic that exists, got "none"`,
    `${NAMESPACE}.Queues[2].Name: is the name of ${NAMESPACE}.Queues[0], too`,
    `${NAMESPACE}.Topics[0].Name: is the name of ${NAMESPACE}.Queues[0], too`,
    `${NAMESPACE}.Topics[0].Subscriptions[0].Properties.ForwardTo: cannot stand beside requiresSession: true`,
    `${NAMESPACE}.Topics[0].Subscriptions[1].Name: must have 1 to 50 characters, got 51`,
    `${NAMESPACE}.Topics[0].Subscriptions[1].Rules[0]: name must have 1 to 50 characters, got 0`,
    `${NAMESPACE}.Topics[0].Subscriptions[1].Rules[2]: name "R" is used by another rule`,
  ])
  expect(entities.commands).toEqual([])
})

test("the file's namespace counts from then on", async () => {
  const { admin } = open()
  const queue = { Name: 'q', Properties: { LockDuration: 100 } }
  await admin.applyConfig(
    withNamespace(
      { Tier: 'Basic', ResourceLock: 'CanNotDelete', Queues: [queue] },
      { Limits: { MinLockDuration: 'PT0.1S' } },
    ),
  )
  expect(await admin.getQueue('q')).toMatchObject({
    lockDuration: 'PT0.1S',
    defaultMessageTimeToLive: 'P14D',
  })
  await expect(admin.deleteQueue('q')).rejects.toThrow('resource lock CanNotDelete')
  await expect(admin.createTopic('t')).rejects.toThrow('tier Basic has queues only')
  await admin.updateQueue('q', { lockDuration: 200 })
})

test('tier Basic has no topics in a file either', async () => {
  const { admin } = open()
  const config = withNamespace({ Tier: 'Basic', Topics: [{ Name: 't' }] })
  expect(await problemsOf(admin, config)).toEqual([
    `${NAMESPACE}.Topics[0].Name: cannot be that of a topic: tier Basic has queues only`,
  ])
})

test('an entity that another broker creates meanwhile is no reason to give up', async () => {
  const { admin, entities } = open()
  const elsewhere = open()
  await elsewhere.admin.createQueue('dead')
  const settings = elsewhere.entities.find('dead')?.settings
  if (settings === undefined) throw new Error('it was created')
  entities.meanwhile = () => {
    entities.create({ entities: [{ kind: 'queue', path: 'dead', settings, rules: [] }] })
  }
  await admin.applyConfig(SHOP)
  expect((await admin.listQueues()).map(({ name }) => name)).toEqual(['dead', 'orders'])
})

test('the file in the guide is good', async () => {
  const guide = await readFile(new URL('../../../../docs/guide/queues.md', import.meta.url), 'utf8')
  const [, text = ''] = /```json\n(.*?)```/s.exec(guide) ?? []
  const { admin } = open()
  await admin.applyConfig(JSON.parse(text))
  expect((await admin.listQueues()).map(({ name }) => name)).toEqual(['orders'])
})
