import type { CorrelationRuleFilter, Message, RuleOptions } from '@tidemark/messaging'
import { describe, expect, test } from 'vitest'
import { rejection, type CaseParts, type TestedNamespace } from './fixtures.ts'
import { bodies, type TestedEntity } from './tested-entity.ts'

const NAME = { topic: 't', subscription: 's' }
const sql = (sqlExpression: string) => ({ sqlExpression })

/** A subscription with these rules. */
async function withRules(
  space: TestedNamespace,
  rules: readonly RuleOptions[],
): Promise<TestedEntity> {
  await space.topic('t')
  const copy = await space.subscription('t', 's', { rules: [] })
  for (const rule of rules) await copy.createRule(rule)
  return copy
}

async function ruleNames(copy: TestedEntity): Promise<readonly string[]> {
  return (await copy.listRules()).map(({ name }) => name)
}

/** Copies into subscriptions, by rules. */
export function messagingTopics({ open, isByClient }: CaseParts): void {
  describe('topics', () => {
    test('TOP-01 each subscription with a matching rule gets a copy, and settles it for itself', async () => {
      const space = await open()
      const topic = await space.topic('t')
      const one = await space.subscription('t', 'one', { maxDeliveryCount: 1 })
      const two = await space.subscription('t', 'two')
      const none = await space.subscription('t', 'none', {
        rules: [{ name: 'never', filter: sql('1 = 0') }],
      })
      await topic.send('a', 'b')
      const firstNumbers = async (entity: TestedEntity) =>
        (await entity.peek()).map(({ enqueuedSequenceNumber }) => enqueuedSequenceNumber)
      expect(await firstNumbers(one)).toEqual(await firstNumbers(two))
      await one.receiver.completeMessage((await one.receive(1))[0] ?? {})
      await one.receiver.abandonMessage(await one.receiveOne())
      expect(await one.places()).toEqual({ here: [], dead: ['b'] })
      expect(bodies(await two.receive())).toEqual(['a', 'b'])
      expect(await two.dead()).toEqual([])
      expect(await none.peek()).toEqual([])
    })

    test('TOP-01 a topic without subscriptions drops what it gets', async () => {
      const space = await open()
      const topic = await space.topic('t')
      await topic.send('before')
      const copy = await space.subscription('t', 's')
      await topic.send('after')
      expect(bodies(await copy.peek())).toEqual(['after'])
    })

    test('TOP-01 SET-18 each subscription has numbers of its own', async () => {
      const space = await open()
      const topic = await space.topic('t')
      const one = await space.subscription('t', 'one')
      await topic.send('a', 'b')
      const two = await space.subscription('t', 'two')
      await topic.send('c')
      const numbersOf = async (entity: TestedEntity) =>
        (await entity.peek()).map(({ sequenceNumber }) => sequenceNumber)
      expect(await numbersOf(one)).toEqual([1, 2, 3])
      expect(await numbersOf(two)).toEqual([1])
    })

    test('TOP-02 a new subscription has the rule $Default', async () => {
      const space = await open()
      await space.topic('t')
      const copy = await space.subscription('t', 's')
      expect(await ruleNames(copy)).toEqual(['$Default'])
      await copy.send('a')
      expect(bodies(await copy.peek())).toEqual(['a'])
    })

    test('TOP-02 unless it is given rules; without any it gets nothing', async () => {
      const space = await open()
      await space.topic('t')
      const rules = [{ name: 'red', filter: sql("colour = 'red'") }]
      const copy = await space.subscription('t', 's', { rules })
      expect(await ruleNames(copy)).toEqual(['red'])
      await copy.send('a', { body: 'b', applicationProperties: { colour: 'red' } })
      expect(bodies(await copy.peek())).toEqual(['b'])
      await copy.deleteRule('red')
      await copy.send({ body: 'c', applicationProperties: { colour: 'red' } })
      expect(bodies(await copy.peek())).toEqual(['b'])
    })

    test('TOP-03 five matching rules, two with actions: three copies', async () => {
      const space = await open()
      const copy = await withRules(space, [
        { name: 'p1' },
        { name: 'a1', action: sql("SET tag = 'one'") },
        { name: 'p2', filter: sql('1 = 1') },
        { name: 'a2', action: sql("SET tag = 'two'") },
        { name: 'p3', filter: sql('n > 0') },
        { name: 'not', filter: sql('n > 5'), action: sql("SET tag = 'three'") },
      ])
      await copy.send({ body: 'a', applicationProperties: { n: 1 } })
      const tags = (await copy.peek()).map(({ applicationProperties }) => applicationProperties)
      const byRule = tags.toSorted((one, other) =>
        String(one?.['RuleName'] ?? '').localeCompare(String(other?.['RuleName'] ?? '')),
      )
      expect(byRule).toEqual([
        { n: 1 },
        { n: 1, tag: 'one', RuleName: 'a1' },
        { n: 1, tag: 'two', RuleName: 'a2' },
      ])
    })

    const full = {
      correlationId: 'c',
      messageId: 'm',
      to: 't',
      replyTo: 'r',
      subject: 's',
      sessionId: 'i',
      replyToSessionId: 'q',
      contentType: 'x/y',
    }
    test.each(Object.keys(full))('TOP-04 a correlation filter compares %s exactly', async (key) => {
      const space = await open()
      const value = full[key as keyof typeof full]
      const copy = await withRules(space, [{ name: 'r', filter: { [key]: value } }])
      await copy.send({ body: 'match', ...full })
      await copy.send({ body: 'case', ...full, messageId: 'm2', [key]: value.toUpperCase() })
      await copy.send({ body: 'other', ...full, messageId: 'm3', [key]: 'other' })
      const got = bodies(await copy.peek())
      expect(got).toEqual(['match'])
    })

    test('TOP-04 all that it names must be equal, application properties too', async () => {
      const space = await open()
      const filter: CorrelationRuleFilter = {
        subject: 's',
        applicationProperties: { colour: 'red', n: 1, on: true },
      }
      const copy = await withRules(space, [{ name: 'r', filter }])
      expect(await copy.listRules()).toMatchObject([{ name: 'r', filter }])
      const message = (body: string, changes: object): Message => ({
        body,
        subject: 's',
        applicationProperties: { colour: 'red', n: 1, on: true, ...changes },
      })
      await copy.send(
        message('match', {}),
        message('more', { extra: 1 }),
        message('colour', { colour: 'Red' }),
        message('number', { n: 2 }),
        message('flag', { on: false }),
        { body: 'lacks', subject: 's' },
        { ...message('subject', {}), subject: 'S' },
      )
      expect(bodies(await copy.peek())).toEqual(['match', 'more'])
    })

    /** Message: n = 3, text = 'abc', flag = true, `a%b` = 'a%b', subject = 'paid'. `missing` is not there. */
    const conditions: readonly (readonly [string, boolean])[] = [
      ['n = 3', true],
      ['n <> 3', false],
      ['n != 4', true],
      ['n < 4 AND n <= 3', true],
      ['n > 3 OR n >= 3', true],
      ['NOT (n = 4)', true],
      ['n IN (1, 2, 3)', true],
      ['n NOT IN (1, 2)', true],
      ["text IN ('x', 'abc')", true],
      ["text LIKE 'a%'", true],
      ["text LIKE 'a_c'", true],
      ["text NOT LIKE '%z'", true],
      [String.raw`percent LIKE 'a\%b' ESCAPE '\'`, true],
      [String.raw`text LIKE 'a\%c' ESCAPE '\'`, false],
      ['EXISTS(n)', true],
      ['EXISTS(missing)', false],
      ['NOT EXISTS(missing)', true],
      ['missing IS NULL', true],
      ['n IS NOT NULL', true],
      ['n + 2 * 2 = 7', true],
      ['(n + 2) * 2 = 10', true],
      ['n - 1 = 2 AND n / 3 = 1 AND n % 2 = 1', true],
      ["sys.Label = 'paid'", true],
      ["sys.label = 'other'", false],
      ["sys.MessageId LIKE 'm%' AND sys.CorrelationId = 'c'", true],
      ['user.n = 3', true],
      ['flag = TRUE', true],
      // Unknown is no match, whether or not it is negated.
      ['missing = 3', false],
      ['NOT (missing = 3)', false],
      ['missing = 3 OR n = 3', true],
      ['missing = 3 AND n = 3', false],
      ['missing IN (1, 2)', false],
      ["missing LIKE 'a%'", false],
    ]
    test('TOP-05 SQL filters: comparison, logic with unknown, arithmetic', async () => {
      const space = await open()
      await space.topic('t')
      const copies = new Map<string, TestedEntity>()
      for (const [index, [expression]] of conditions.entries()) {
        const rules = [{ name: 'r', filter: sql(expression) }]
        copies.set(expression, await space.subscription('t', `s${index}`, { rules }))
      }
      await space.entity('t').send({
        body: 'a',
        subject: 'paid',
        messageId: 'm1',
        correlationId: 'c',
        applicationProperties: { n: 3, text: 'abc', flag: true, percent: 'a%b' },
      })
      const matched: [string, boolean][] = []
      for (const [expression, copy] of copies) {
        matched.push([expression, (await copy.peek()).length === 1])
      }
      expect(matched).toEqual(conditions)
    })

    test.each([
      ['a syntax error', 'n = = 3'],
      ['no condition', ''],
      ['an open text', "n = 'x"],
      ['1025 characters', `n = '${'x'.repeat(1019)}'`],
    ])('TOP-05 %s is refused, and the rule is not there', async (_, expression) => {
      const space = await open()
      await space.topic('t')
      const copy = await space.subscription('t', 's')
      const created = copy.createRule({ name: 'r', filter: sql(expression) })
      // AMQP has one condition for both.
      const code = isByClient ? 'ERR_INVALID_OPTION' : 'ERR_INVALID_RULE'
      expect(await rejection(created)).toBe(code)
      expect(await ruleNames(copy)).toEqual(['$Default'])
    })

    test('TOP-05 1024 characters are allowed', async () => {
      const space = await open()
      const expression = `n = '${'x'.repeat(1018)}'`
      expect(expression).toHaveLength(1024)
      const copy = await withRules(space, [{ name: 'r', filter: sql(expression) }])
      await copy.send({ body: 'a', applicationProperties: { n: 'x'.repeat(1018) } })
      expect(bodies(await copy.peek())).toEqual(['a'])
    })

    test('TOP-06 actions set and remove properties of the copy alone', async () => {
      const space = await open()
      const action = sql(
        "SET n = n + 1; SET sys.Label = 'new'; SET sys.To = 'there'; SET fresh = 'x'; REMOVE old",
      )
      const copy = await withRules(space, [{ name: 'r', action }])
      expect(await copy.listRules()).toMatchObject([{ name: 'r', action }])
      const other = await space.subscription('t', 'other')
      const properties = { n: 1, old: 'gone' }
      await copy.send({ body: 'a', subject: 'was', applicationProperties: properties })
      const changed = await copy.peekOne()
      expect(changed).toMatchObject({ subject: 'new', to: 'there', body: 'a' })
      expect(changed.applicationProperties).toEqual({ n: 2, fresh: 'x', RuleName: 'r' })
      const same = await other.peekOne()
      expect(same.subject).toBe('was')
      expect(same.applicationProperties).toEqual(properties)
    })

    test('TOP-07 rules come and go while messages flow, for later messages only', async () => {
      const space = await open()
      const copy = await withRules(space, [{ name: 'one', filter: sql('n = 1') }])
      const send = (body: string, n: number) => copy.send({ body, applicationProperties: { n } })
      await send('a1', 1)
      await send('a2', 2)
      await copy.createRule({ name: 'two', filter: sql('n = 2') })
      expect(bodies(await copy.peek())).toEqual(['a1'])
      await send('b2', 2)
      await copy.deleteRule('one')
      await send('c1', 1)
      await send('c2', 2)
      expect(bodies(await copy.peek())).toEqual(['a1', 'b2', 'c2'])
      expect(await ruleNames(copy)).toEqual(['two'])
    })

    test('TOP-07 another broker judges by the rules that are there, not by those it has read', async () => {
      const space = await open()
      const copy = await withRules(space, [{ name: 'one', filter: sql('n = 1') }])
      const elsewhere = copy.through(space.secondBroker())
      await elsewhere.send({ body: 'a', applicationProperties: { n: 2 } })
      await space.broker.createRule(NAME, { name: 'two', filter: sql('n = 2') })
      await elsewhere.send({ body: 'b', applicationProperties: { n: 2 } })
      await space.broker.createSubscription({ topic: 't', subscription: 'new' })
      await elsewhere.send({ body: 'c', applicationProperties: { n: 2 } })
      expect(bodies(await copy.peek())).toEqual(['b', 'c'])
      const added = space.entity({ topic: 't', subscription: 'new' })
      expect(bodies(await added.peek())).toEqual(['c'])
    })

    test('TOP-07 the name of a rule is unique, and has at most 50 characters', async () => {
      const space = await open()
      const copy = await withRules(space, [{ name: 'one' }])
      const again = copy.createRule({ name: 'ONE' })
      expect(await rejection(again)).toBe('ERR_MESSAGING_ENTITY_EXISTS')
      const long = copy.createRule({ name: 'x'.repeat(51) })
      expect(await rejection(long)).toBe('ERR_INVALID_OPTION')
      await copy.createRule({ name: 'x'.repeat(50) })
      expect(await copy.listRules()).toHaveLength(2)
      const deleted = copy.deleteRule('none')
      expect(await rejection(deleted)).toBe('ERR_MESSAGING_ENTITY_NOT_FOUND')
    })

    // A text of AMQP has no half characters.
    test.skipIf(isByClient).each(['sessionId', 'messageId', 'replyToSessionId'] as const)(
      'TOP-08 an action that sets %s to what no sender may give fails',
      async (name) => {
        const space = await open()
        await space.topic('t')
        const copy = await space.subscription('t', 's', {
          requiresSession: true,
          rules: [
            { name: 'r', filter: sql('1 = 1'), action: { sqlExpression: `SET sys.${name} = x` } },
          ],
        })
        for (const x of ['a\0b', 'c\ud83d', 'd'.repeat(129)]) {
          await copy.send({ body: 'a', sessionId: 's', applicationProperties: { x } })
        }
        const dead = await copy.drainDead()
        expect(dead.map(({ deadLetterReason }) => deadLetterReason)).toEqual(
          Array.from({ length: 3 }, () => 'FilterEvaluationException'),
        )
        await copy.send({ body: 'b', sessionId: 's', applicationProperties: { x: 'good' } })
        expect((await copy.peekOne())[name]).toBe('good')
      },
    )

    test.each([true, false])(
      'TOP-08 a filter that fails (kept in the dead-letter queue: %s)',
      async (deadLetteringOnFilterEvaluationExceptions) => {
        const space = await open()
        await space.topic('t')
        const copy = await space.subscription('t', 's', {
          deadLetteringOnFilterEvaluationExceptions,
          rules: [{ name: 'r', filter: sql('n / 0 = 1') }],
        })
        const healthy = await space.subscription('t', 'healthy')
        await copy.send({ body: 'a', applicationProperties: { n: 1 } })
        const dead = deadLetteringOnFilterEvaluationExceptions ? ['a'] : []
        expect(await copy.places()).toEqual({ here: [], dead })
        expect(bodies(await healthy.peek())).toEqual(['a'])
        if (deadLetteringOnFilterEvaluationExceptions) {
          expect((await copy.deadOne()).deadLetterReason).toMatch(/^.+$/)
        }
      },
    )
  })
}
