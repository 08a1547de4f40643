import type {
  CorrelationRuleFilter,
  RuleProperties,
  ServiceBusMessage,
  SqlRuleFilter,
} from '@azure/service-bus'
import { describe, expect, test } from 'vitest'
import { bodies, only, type ClientEntity } from './client-entity.ts'
import { codeOf, Namespace, refusal } from './interop-amqp.fixture.ts'

const ALL = { sqlExpression: '1 = 1' }

type Filter = SqlRuleFilter | CorrelationRuleFilter

/** A subscription whose only rule has this filter. */
async function filtered(space: Namespace, filter: Filter): Promise<ClientEntity> {
  const entity = await space.subscription({ rules: [] })
  await entity.rules.createRule('only', filter)
  return entity
}

async function rulesOf({ rules }: ClientEntity): Promise<RuleProperties[]> {
  const all: RuleProperties[] = []
  for await (const rule of rules.listRules()) all.push(rule)
  return all
}

interface FilterCase {
  readonly filter: Filter
  readonly matches: Partial<ServiceBusMessage>
  readonly not: Partial<ServiceBusMessage>
}

const CORRELATIONS: readonly (readonly [string, FilterCase])[] = [
  ['subject', { filter: { subject: 'red' }, matches: { subject: 'red' }, not: { subject: 'Red' } }],
  [
    'correlationId',
    {
      filter: { correlationId: 'c' },
      matches: { correlationId: 'c' },
      not: { correlationId: 'd' },
    },
  ],
  [
    'messageId',
    { filter: { messageId: 'm' }, matches: { messageId: 'm' }, not: { messageId: 'n' } },
  ],
  ['to', { filter: { to: 'there' }, matches: { to: 'there' }, not: { replyTo: 'there' } }],
  ['replyTo', { filter: { replyTo: 'here' }, matches: { replyTo: 'here' }, not: { to: 'here' } }],
  [
    'sessionId',
    { filter: { sessionId: 's' }, matches: { sessionId: 's' }, not: { sessionId: 't' } },
  ],
  [
    'replyToSessionId',
    {
      filter: { replyToSessionId: 's' },
      matches: { replyToSessionId: 's' },
      not: { sessionId: 's' },
    },
  ],
  [
    'contentType',
    {
      filter: { contentType: 'a/b' },
      matches: { contentType: 'a/b' },
      not: { contentType: 'a/c' },
    },
  ],
  [
    'an application property',
    {
      filter: { applicationProperties: { colour: 'red' } },
      matches: { applicationProperties: { colour: 'red', size: 1 } },
      not: { applicationProperties: { colour: 'blue' } },
    },
  ],
  [
    'all of several properties',
    {
      filter: { subject: 'red', applicationProperties: { size: 1, isNew: true } },
      matches: { subject: 'red', applicationProperties: { size: 1, isNew: true } },
      not: { subject: 'red', applicationProperties: { size: 1, isNew: false } },
    },
  ],
]

const properties = (
  applicationProperties: ServiceBusMessage['applicationProperties'],
): Partial<ServiceBusMessage> => ({ applicationProperties: applicationProperties ?? {} })

const SQL: readonly (readonly [string, Partial<ServiceBusMessage>, Partial<ServiceBusMessage>])[] =
  [
    ["colour = 'red'", properties({ colour: 'red' }), properties({ colour: 'blue' })],
    ["colour <> 'red'", properties({ colour: 'blue' }), properties({})],
    ["user.colour != 'red'", properties({ colour: 'blue' }), properties({ colour: 'red' })],
    ['size > 10', properties({ size: 11 }), properties({ size: 10 })],
    ['size >= 10 AND size < 20', properties({ size: 19 }), properties({ size: 20 })],
    ['size <= 1.5', properties({ size: 1.5 }), properties({ size: 1.6 })],
    ["colour IN ('red', 'green')", properties({ colour: 'green' }), properties({ colour: 'blue' })],
    ["colour NOT IN ('red')", properties({ colour: 'blue' }), properties({ colour: 'red' })],
    ["colour LIKE 'r%d'", properties({ colour: 'rounded' }), properties({ colour: 'round up' })],
    ["name LIKE '10!%%' ESCAPE '!'", properties({ name: '10% off' }), properties({ name: '100' })],
    ['EXISTS(colour)', properties({ colour: '' }), properties({ size: 1 })],
    ['colour IS NULL', properties({ size: 1 }), properties({ colour: 'red' })],
    ['colour IS NOT NULL', properties({ colour: 'red' }), properties({ size: 1 })],
    ['isNew = TRUE', properties({ isNew: true }), properties({ isNew: false })],
    ["NOT (colour = 'red')", properties({ colour: 'blue' }), properties({})],
    ["colour = 'red' OR size = 1", properties({ size: 1 }), properties({ size: 2 })],
    ['size * 2 + 1 = 7', properties({ size: 3 }), properties({ size: 4 })],
    ['size % 2 = 0', properties({ size: 4 }), properties({ size: 5 })],
    ["sys.Label = 'red'", { subject: 'red' }, { subject: 'blue' }],
    ["sys.CorrelationId LIKE 'a%'", { correlationId: 'abc' }, { correlationId: 'bcd' }],
    ["sys.MessageId = 'm'", { messageId: 'm' }, { messageId: 'n' }],
  ]

describe('Topics and rules', () => {
  test('TOP-01 every subscription with a rule that matches gets a copy', async () => {
    await using space = await Namespace.open()
    const all = await space.subscription({}, 'all')
    const red = await space.subscription(
      { rules: [{ name: 'red', filter: { subject: 'red' } }] },
      'red',
    )
    await all.send({ body: 'r', subject: 'red' }, { body: 'b', subject: 'blue' })
    expect(bodies(await all.peek())).toEqual(['r', 'b'])
    expect(bodies(await red.peek())).toEqual(['r'])
  })

  test('TOP-01 copies are settled apart from each other', async () => {
    await using space = await Namespace.open()
    const one = await space.subscription({}, 'one')
    const two = await space.subscription({}, 'two')
    await one.send('a')
    await one.receiver.deadLetterMessage(await one.receiveOne())
    expect(await one.places()).toEqual({ here: [], dead: ['a'] })
    expect(await two.places()).toEqual({ here: ['a'], dead: [] })
    await two.receiver.completeMessage(await two.receiveOne())
    expect(bodies(await one.peekDead())).toEqual(['a'])
  })

  test('TOP-01 a message to a topic without subscriptions is accepted and gone', async () => {
    await using space = await Namespace.open()
    const topic = await space.topic()
    await topic.send('a')
    const late = await space.subscription({}, 'late')
    expect(await late.peek()).toEqual([])
  })

  test('TOP-01 copies of one message have the same enqueued number', async () => {
    await using space = await Namespace.open()
    const one = await space.subscription({}, 'one')
    const two = await space.subscription({}, 'two')
    await one.send('a', 'b')
    const numbers = (messages: readonly { enqueuedSequenceNumber?: number }[]): unknown[] =>
      messages.map(({ enqueuedSequenceNumber }) => enqueuedSequenceNumber)
    expect(numbers(await one.peek())).toEqual(numbers(await two.peek()))
  })

  test('TOP-02 a new subscription has a rule that matches everything', async () => {
    await using space = await Namespace.open()
    const entity = await space.subscription()
    const rules = await rulesOf(entity)
    expect(rules.map(({ name }) => name)).toEqual(['$Default'])
  })

  test('TOP-02 without any rule a subscription receives nothing', async () => {
    await using space = await Namespace.open()
    const entity = await space.subscription()
    await entity.rules.deleteRule('$Default')
    await entity.send('a')
    expect(await entity.peek()).toEqual([])
  })

  test('TOP-03 rules without an action give one copy together, each with one its own', async () => {
    await using space = await Namespace.open()
    const entity = await space.subscription({ rules: [] })
    const { rules } = entity
    for (const name of ['p1', 'p2', 'p3']) await rules.createRule(name, ALL)
    for (const name of ['a1', 'a2']) {
      await rules.createRule(name, ALL, { sqlExpression: `SET by = '${name}'` })
    }
    await entity.send('x')
    const copies = await entity.peek()
    expect(copies).toHaveLength(3)
    const shown = copies.map(({ applicationProperties: { RuleName: name, by } = {} }) =>
      [name ?? '-', by ?? '-'].join(' '),
    )
    expect(shown.toSorted()).toEqual(['- -', 'a1 a1', 'a2 a2'])
  })

  test.each(CORRELATIONS)(
    'TOP-04 a correlation filter compares %s',
    async (_, { filter, matches, not }) => {
      await using space = await Namespace.open()
      const entity = await filtered(space, filter)
      await entity.send({ body: 'yes', ...matches }, { body: 'no', ...not }, 'neither')
      expect(bodies(await entity.peek())).toEqual(['yes'])
    },
  )

  test.each(SQL)('TOP-05 the SQL filter %s', async (sqlExpression, matches, not) => {
    await using space = await Namespace.open()
    const entity = await filtered(space, { sqlExpression })
    await entity.send({ body: 'yes', ...matches }, { body: 'no', ...not })
    expect(bodies(await entity.peek())).toEqual(['yes'])
  })

  test('TOP-05 a filter that is no SQL is refused', async () => {
    await using space = await Namespace.open()
    const entity = await space.subscription()
    const call = entity.rules.createRule('wrong', { sqlExpression: 'colour = = 1' })
    expect((await refusal(call)).code).not.toBe('ServiceTimeout')
    expect(await rulesOf(entity)).toHaveLength(1)
  })

  test('TOP-05 a filter of more than 1024 characters is refused', async () => {
    await using space = await Namespace.open()
    const entity = await space.subscription()
    const long = (length: number): string => `a = '${'x'.repeat(length - 6)}'`
    await entity.rules.createRule('long', { sqlExpression: long(1024) })
    const call = entity.rules.createRule('longer', { sqlExpression: long(1025) })
    expect((await refusal(call)).code).not.toBe('ServiceTimeout')
  })

  test('TOP-06 an action sets and removes properties of its copy', async () => {
    await using space = await Namespace.open()
    const entity = await space.subscription({ rules: [] })
    await entity.rules.createRule('only', ALL, {
      sqlExpression: "SET sys.Label = 'new'; SET size = size + 1; REMOVE colour",
    })
    const message = {
      body: { a: 1 },
      subject: 'old',
      applicationProperties: { size: 1, colour: 'red' },
    }
    await entity.send(message)
    const copy = await entity.receiveOne()
    expect(copy.subject).toBe('new')
    expect(copy.body).toEqual({ a: 1 })
    expect(copy.applicationProperties).toEqual({ size: 2, RuleName: 'only' })
  })

  test('TOP-06 an action changes nothing in other copies', async () => {
    await using space = await Namespace.open()
    const plain = await space.subscription({}, 'plain')
    const changed = await space.subscription({ rules: [] }, 'changed')
    await changed.rules.createRule('only', ALL, { sqlExpression: "SET sys.To = 'x'; SET n = 2" })
    await plain.send({ body: 'a', to: 'y', applicationProperties: { n: 1 } })
    expect(only(await plain.peek())).toMatchObject({ to: 'y', applicationProperties: { n: 1 } })
    expect(only(await changed.peek())).toMatchObject({ to: 'x', applicationProperties: { n: 2 } })
  })

  test('TOP-07 rules apply to later messages only', async () => {
    await using space = await Namespace.open()
    const entity = await space.subscription({ rules: [] })
    await entity.send('a')
    await entity.rules.createRule('all', ALL)
    await entity.send('b')
    await entity.rules.deleteRule('all')
    await entity.send('c')
    expect(bodies(await entity.peek())).toEqual(['b'])
  })

  test('TOP-07 rules are listed as they were created', async () => {
    await using space = await Namespace.open()
    const entity = await space.subscription({ rules: [] })
    await entity.rules.createRule('sql', { sqlExpression: 'a = 1' }, { sqlExpression: 'SET b = 2' })
    await entity.rules.createRule('correlation', {
      subject: 's',
      correlationId: 'c',
      applicationProperties: { t: 'x', n: 1, f: true },
    })
    const rules = await rulesOf(entity)
    const found = (name: string): unknown => rules.find((rule) => rule.name === name)
    expect(rules).toHaveLength(2)
    expect(found('sql')).toMatchObject({
      filter: { sqlExpression: 'a = 1' },
      action: { sqlExpression: 'SET b = 2' },
    })
    expect(found('correlation')).toMatchObject({
      filter: {
        subject: 's',
        correlationId: 'c',
        applicationProperties: { t: 'x', n: 1, f: true },
      },
    })
  })

  test('TOP-07 many rules are listed page by page, each once', async () => {
    await using space = await Namespace.open()
    const names = Array.from(
      { length: 150 },
      (_, index) => `rule-${String(index).padStart(3, '0')}`,
    )
    const entity = await space.subscription({
      rules: names.map((name) => ({ name, filter: { subject: name } })),
    })
    const listed: string[] = []
    for await (const { name } of entity.rules.listRules()) listed.push(name)
    expect(listed.toSorted()).toEqual(names)
    const pages: number[] = []
    for await (const page of entity.rules.listRules().byPage({ maxPageSize: 40 })) {
      pages.push(page.length)
    }
    expect(pages.reduce((sum, size) => sum + size, 0)).toBe(150)
    expect(Math.max(...pages)).toBeLessThanOrEqual(40)
  })

  test('TOP-07 a rule’s name is unique in its subscription', async () => {
    await using space = await Namespace.open()
    const entity = await space.subscription()
    await entity.rules.createRule('one', ALL)
    const again = entity.rules.createRule('one', { subject: 's' })
    expect(await codeOf(again)).toBe('MessagingEntityAlreadyExists')
    const other = await space.subscription({}, 'other')
    await other.rules.createRule('one', ALL)
  })

  test('TOP-07 a rule’s name has at most fifty characters', async () => {
    await using space = await Namespace.open()
    const entity = await space.subscription()
    await entity.rules.createRule('x'.repeat(50), ALL)
    const long = entity.rules.createRule('x'.repeat(51), ALL)
    expect((await refusal(long)).code).not.toBe('ServiceTimeout')
  })

  test('TOP-07 a rule that does not exist cannot be removed', async () => {
    await using space = await Namespace.open()
    const entity = await space.subscription()
    expect(await codeOf(entity.rules.deleteRule('nothing'))).toBe('MessagingEntityNotFound')
  })

  test('TOP-07 rules of a subscription that does not exist are not found', async () => {
    await using space = await Namespace.open()
    await space.topic()
    const { rules } = space.entity('events', 'nobody')
    expect(await codeOf(rules.createRule('one', ALL))).toBe('MessagingEntityNotFound')
    expect(await codeOf(rulesOf(space.entity('events', 'nobody')))).toBe('MessagingEntityNotFound')
  })

  test.each([true, false])(
    'TOP-08 a filter that fails dead-letters the message or does not match (%s)',
    async (deadLetteringOnFilterEvaluationExceptions) => {
      await using space = await Namespace.open()
      const entity = await space.subscription({
        deadLetteringOnFilterEvaluationExceptions,
        rules: [{ name: 'fails', filter: { sqlExpression: '1 / n = 1' } }],
      })
      await entity.send({ body: 'a', applicationProperties: { n: 0 } })
      const dead = deadLetteringOnFilterEvaluationExceptions ? ['a'] : []
      expect(await entity.places()).toEqual({ here: [], dead })
    },
  )
})
