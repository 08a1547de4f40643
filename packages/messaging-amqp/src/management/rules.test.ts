import rhea from 'rhea'
import { describe, expect, it } from 'vitest'
import { ManagedBroker, wire, type TypedValue } from './managed-broker.fixture.ts'

const ALL = { topic: 'News', subscription: 'All' }
const PATH = 'news/subscriptions/all'
const { types } = rhea

async function withSubscription(): Promise<ManagedBroker> {
  const world = await ManagedBroker.open()
  await world.broker.createTopic(ALL.topic)
  await world.broker.createSubscription(ALL, { rules: [] })
  return world
}

function page(skip: number, top: number): object {
  return { skip: wire.int(skip), top: wire.int(top) }
}

describe('add-rule', () => {
  it('TOP-07 adds a rule with a SQL filter and an action', async () => {
    await using world = await withSubscription()
    const body = {
      'rule-name': types.wrap_string('r'),
      'rule-description': {
        'sql-filter': { expression: 'n = 1' },
        'sql-rule-action': { expression: 'SET n = 2' },
      },
    }
    expect(await world.ask(PATH, 'add-rule', body)).toMatchObject({ status: 200 })
    expect(await world.broker.listRules(ALL)).toMatchObject([
      { name: 'r', filter: { sqlExpression: 'n = 1' }, action: { sqlExpression: 'SET n = 2' } },
    ])
  })

  it('TOP-04 adds a rule with a correlation filter and properties of every type', async () => {
    await using world = await withSubscription()
    const at = new Date(1_700_000_000_000)
    const properties = {
      int: types.wrap_int(5),
      long: types.wrap_long(5_000_000_000),
      huge: types.wrap_long(Buffer.from('7fffffffffffffff', 'hex')),
      double: 0.5,
      text: 'x',
      flag: true,
      none: null,
      at,
    }
    const texts = {
      'correlation-id': 'c',
      'message-id': 'm',
      to: 't',
      'reply-to': 'r',
      label: 'l',
      'session-id': 's',
      'reply-to-session-id': 'rs',
      'content-type': 'ct',
    }
    const filter = { ...texts, properties }
    const body = {
      'rule-name': 'r',
      'rule-description': { 'correlation-filter': filter, 'sql-rule-action': null },
    }
    expect(await world.ask(PATH, 'add-rule', body)).toMatchObject({ status: 200 })
    const [rule] = await world.broker.listRules(ALL)
    expect(rule?.filter).toEqual({
      correlationId: 'c',
      messageId: 'm',
      to: 't',
      replyTo: 'r',
      subject: 'l',
      sessionId: 's',
      replyToSessionId: 'rs',
      contentType: 'ct',
      applicationProperties: {
        int: 5,
        long: 5_000_000_000,
        huge: 2n ** 63n - 1n,
        double: 0.5,
        text: 'x',
        flag: true,
        none: null,
        at,
      },
    })
  })

  it('TOP-07 answers 409 for a name that is used', async () => {
    await using world = await withSubscription()
    const rule = { 'rule-description': { 'sql-filter': { expression: '1=1' } } }
    await world.ask(PATH, 'add-rule', { ...rule, 'rule-name': 'r' })
    expect(await world.ask(PATH, 'add-rule', { ...rule, 'rule-name': 'R' })).toMatchObject({
      status: 409,
      condition: 'com.microsoft:entity-already-exists',
    })
  })

  it.each<[string, object]>([
    ['rule-name', { 'rule-description': { 'sql-filter': { expression: '1=1' } } }],
    ['rule-description', { 'rule-name': 'r' }],
    ['rule-description.correlation-filter', { 'rule-name': 'r', 'rule-description': {} }],
    [
      'rule-description.sql-filter.expression',
      { 'rule-name': 'r', 'rule-description': { 'sql-filter': {} } },
    ],
    [
      'rule-description.correlation-filter.label',
      { 'rule-name': 'r', 'rule-description': { 'correlation-filter': { label: 5 } } },
    ],
    [
      'correlation-filter.properties',
      { 'rule-name': 'r', 'rule-description': { 'correlation-filter': { properties: 'x' } } },
    ],
    ['filter', { 'rule-name': 'r', 'rule-description': { 'sql-filter': { expression: '1 =' } } }],
    ['name', { 'rule-name': 'a b', 'rule-description': { 'sql-filter': { expression: '1=1' } } }],
  ])('names %s when it is wrong or missing', async (name, body) => {
    await using world = await withSubscription()
    expect(await world.ask(PATH, 'add-rule', body)).toMatchObject({
      status: 400,
      condition: 'com.microsoft:argument-error',
      description: expect.stringContaining(name),
    })
    expect(await world.broker.listRules(ALL)).toEqual([])
  })

  it.each(['q', 'News', 'q/$DeadLetterQueue', `${PATH}/$DeadLetterQueue`])(
    'refuses %s, which is no subscription',
    async (path) => {
      await using world = await withSubscription()
      await world.broker.createQueue('q')
      const body = { 'rule-name': 'r', 'rule-description': { 'sql-filter': { expression: '1=1' } } }
      for (const operation of ['add-rule', 'remove-rule']) {
        expect(await world.ask(path, operation, body)).toMatchObject({
          status: 400,
          condition: 'amqp:not-allowed',
        })
      }
    },
  )
})

describe('remove-rule', () => {
  it('TOP-07 removes a rule, and answers 404 when there is none', async () => {
    await using world = await withSubscription()
    await world.broker.createRule(ALL, { name: 'r' })
    expect(await world.ask(PATH, 'remove-rule', { 'rule-name': 'r' })).toMatchObject({
      status: 200,
    })
    expect(await world.broker.listRules(ALL)).toEqual([])
    expect(await world.ask(PATH, 'remove-rule', { 'rule-name': 'r' })).toMatchObject({
      status: 404,
      condition: 'amqp:not-found',
      description: expect.stringMatching(/^The messaging entity '.*r' could not be found\.$/),
    })
  })
})

describe('enumerate-rules', () => {
  it('TOP-07 lists pages in the order of creation, and ends with 204', async () => {
    await using world = await withSubscription()
    for (const name of ['c', 'a', 'b']) await world.broker.createRule(ALL, { name })
    const names = async (skip: number, top: number): Promise<unknown> => {
      const { status, body } = await world.ask(PATH, 'enumerate-rules', page(skip, top))
      if (status === 204) return 'end'
      return body.rules.map((rule) => itemsOf(rule['rule-description'])[2]?.value)
    }
    expect(await names(0, 2 ** 31 - 1)).toEqual(['c', 'a', 'b'])
    expect(await names(1, 1)).toEqual(['a'])
    expect(await names(3, 100)).toBe('end')
  })

  it('describes every kind of rule with the codes and types that the official client reads', async () => {
    await using world = await withSubscription()
    await world.broker.createRule(ALL, { name: 'true' })
    const action = { sqlExpression: 'SET n = 2' }
    await world.broker.createRule(ALL, { name: 'sql', filter: { sqlExpression: 'n = 1' }, action })
    const at = new Date(1_700_000_000_000)
    const applicationProperties = {
      int: -5,
      long: 5_000_000_000,
      huge: 2n ** 62n,
      double: 0.5,
      text: 'x',
      flag: true,
      none: null,
      at,
    }
    const filter = { subject: 'l', applicationProperties }
    await world.broker.createRule(ALL, { name: 'correlation', filter })
    await world.broker.createRule(ALL, { name: 'bare', filter: { messageId: 'm' } })
    const { body } = await world.ask(PATH, 'enumerate-rules', page(0, 10))
    const read = body.rules.map(({ 'rule-description': rule }) => {
      const [given, done] = itemsOf(rule)
      return [
        rule.descriptor?.value,
        given?.descriptor?.value,
        itemsOf(given).map(({ value }) => value),
        done?.descriptor?.value,
        itemsOf(done).map(({ value }) => value),
      ]
    })
    const none = null
    expect(read).toEqual([
      [1335734829060, 83483426823, [], 1335734829061, []],
      [1335734829060, 83483426822, ['n = 1'], 1335734829062, ['SET n = 2']],
      [
        1335734829060,
        83483426825,
        [none, none, none, none, 'l', none, none, none, expect.any(Array)],
        1335734829061,
        [],
      ],
      [
        1335734829060,
        83483426825,
        [none, 'm', none, none, none, none, none, none, []],
        1335734829061,
        [],
      ],
    ])
    const [correlation] = itemsOf(body.rules[2]?.['rule-description'])
    const typed = itemsOf(itemsOf(correlation)[8]).map(({ type, value }) => [type.name, value])
    expect(typed.filter((_, at_) => at_ % 2 === 0).map(([, name]) => name)).toEqual(
      Object.keys(applicationProperties),
    )
    expect(typed.filter((_, at_) => at_ % 2 === 1)).toEqual([
      ['Int', -5],
      ['Long', 5_000_000_000],
      ['Long', Buffer.from('4000000000000000', 'hex')],
      ['Double', 0.5],
      ['Str8', 'x'],
      ['True', true],
      ['Null', null],
      ['Timestamp', at],
    ])
  })
})

/** Of a list or map. */
function itemsOf(value: TypedValue | undefined): readonly TypedValue[] {
  return (value?.value ?? []) as readonly TypedValue[]
}
