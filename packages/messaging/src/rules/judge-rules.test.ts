import { systemRandom as random } from '@tidemark/contracts'
import type { EntityRecord, EntitySettings, RuleRecord } from '@tidemark/store/messages'
import { expect, test, vi } from 'vitest'
import type { MessageHead } from '../messages/message-codec.ts'
import { checkRule } from './check-rule.ts'
import { RuleJudge } from './judge-rules.ts'
import { ParsedRules } from './parsed-rules.ts'

const HEAD: MessageHead = {
  bodyKind: 'json',
  messageId: 'm',
  subject: 'paid',
  sessionId: 's',
  properties: {
    n: 3,
    half: 1.5,
    text: 'abc',
    flag: true,
    none: null,
    big: { long: '9007199254740993' },
    at: { date: 1000 },
    later: { date: 2000 },
    raw: { bytes: 'AA==' },
    'two words': 1,
  },
}

function subscription(
  rules: readonly Partial<RuleRecord>[],
  settings: Partial<EntitySettings> = {},
): EntityRecord {
  return {
    number: 7,
    settings: { deadLettersFilterErrors: true, maxMessageBytes: 1_000_000, ...settings },
    rules: rules.map((rule, at) => ({
      name: `r${at}`,
      filter: { kind: 'true' },
      action: undefined,
      createdMs: 0,
      ...rule,
    })),
  } as unknown as EntityRecord
}

function sql(expression: string): Pick<RuleRecord, 'filter'> {
  return { filter: { kind: 'sql', expression } }
}

const ONE = { subscriptions: 1, messages: 1, random }

const judge = (record: EntityRecord, head = HEAD, bytes = 0) => [
  ...new RuleJudge({ head, bytes }, new ParsedRules(), ONE).copiesFor(record),
]

/** True, false, or what failed. */
function outcome(expression: string): unknown {
  checkRule({ ...sql(expression), action: undefined })
  const [copy] = judge(subscription([sql(expression)]))
  return copy?.deadLetter?.description ?? copy !== undefined
}

test.each([
  ['n = 3', true],
  ['N = 3', true],
  ['user.n = 3', true],
  ['[n] = 3 and "n" = 3', true],
  ['[two words] = 1', true],
  ["sys.Label = 'paid' AND sys.MessageId = 'm' AND sys.SessionId = 's'", true],
  ['sys.CorrelationId IS NULL', true],
  ['n + 1 * 2 - 4 / 2 % 3 = 3', true],
  ['-n < -2 AND +n > 2', true],
  ['n / 2 = 1 AND n / 2.0 = 1.5 AND n / 2e0 = 1.5', true],
  ['half * 2 = 3 AND half / 1 = 1.5', true],
  ['7 % 4 = 3 AND -7 / 2 = -3', true],
  ['n = 3. AND n = 3.0 AND n > .5 AND n < 3e1 AND n < 3.e+1', true],
  ['big = 9007199254740993', true],
  ['big = 9007199254740992', false],
  ['big - 1 = 9007199254740992 AND big / 2.0 > big / 4', true],
  ["property('n') = 3 AND P('te' + 'xt') = 'abc'", true],
  ["property('nothing') IS NULL AND property(n) IS NULL", true],
  ['newid() <> NEWID() AND newid() IS NOT NULL', true],
  [
    '9223372036854775807 + 1 = 1',
    "The rule 'r0' could not be evaluated: a whole number does not fit into 64 bits",
  ],
  ['big > n', true],
  ["text + 'd' = 'abcd'", true],
  ["text < 'abd'", true],
  ["text = 'ABC'", false],
  ['at < later', true],
  ['at = at AND raw = raw', true],
  ['flag', true],
  ['NOT flag', false],
  ['n', false],
  ['NOT n', false],
  ["n = '3'", false],
  ["NOT (n = '3')", false],
  ['none IS NULL', true],
  ['EXISTS(none)', true],
  ['EXISTS(sys.To) OR EXISTS(nothing)', false],
  ['n IN (1, NULL, 3)', true],
  ['n IN (1, NULL)', false],
  ['n NOT IN (1, NULL)', false],
  ['n NOT IN (1, 2)', true],
  ["text LIKE '%'", true],
  ["text LIKE '_b_' AND text LIKE 'a%c' AND text NOT LIKE 'a_'", true],
  [String.raw`'50%' LIKE '50\%' ESCAPE '\'`, true],
  ["'it''s' = 'it''s'", true],
  ['n + text = 3', false],
  ['1 = 1', true],
  ['NULL = NULL', false],
  ['n = 3 OR n / 0 = 1', true],
  ['n / 0 = 1', "The rule 'r0' could not be evaluated: division by zero"],
  ['n % 0 = 1', "The rule 'r0' could not be evaluated: division by zero"],
  [
    'big * big = 1',
    "The rule 'r0' could not be evaluated: a whole number does not fit into 64 bits",
  ],
  [
    "text LIKE 'a' ESCAPE 'xy'",
    "The rule 'r0' could not be evaluated: ESCAPE must be one character",
  ],
])('%s: %s', (expression, expected) => {
  expect(outcome(expression)).toBe(expected)
})

test('a filter that would take too long fails', () => {
  const text = 'a'.repeat(100_000)
  const head = { ...HEAD, properties: { text } }
  const [copy] = judge(subscription([sql(`text LIKE '%${'a'.repeat(500)}b'`)]), head)
  expect(copy?.deadLetter?.description).toBe(
    "The rule 'r0' could not be evaluated: the rules take too long for this message",
  )
})

/** Of types that only AMQP has. */
const AMQP_HEAD: MessageHead = {
  bodyKind: 'amqp',
  properties: {
    id: { uuid: '00112233-4455-6677-8899-aabbccddeeff' },
    same: { uuid: '00112233-4455-6677-8899-aabbccddeeff' },
    other: { uuid: '00112233-4455-6677-8899-aabbccddee00' },
    huge: { ulong: '18446744073709551615' },
    distant: { timestamp: '9000000000000000' },
    nan: { double: 'NaN' },
    n: 3,
    small: { ubyte: 5 },
    exact: { int64: 5 },
    double: { float64: 5 },
    raw: { bytes: 'AA==' },
    letter: { char: 'é' },
    price: { decimal128: '303e000000000000000000000000007b' },
    most: { decimal128: '3040ffffffffffffffffffffffffffff' },
    cents: { decimal64: '3180000000000096' },
  },
}

test.each([
  ['small = exact AND small + n = 8 AND exact > 4.5', true],
  ['small / 2 = 2 AND exact / 2 = 2 AND double / 2 = 2.5', true],
  ["letter = 'é' AND letter LIKE '_'", true],
  ['price = 12.3 AND price > 12 AND price * 10 = 123.0 AND cents = 1.5', true],
  ['id = same', true],
  ['id <> same', false],
  ['id = other', false],
  ['NOT (id = other) AND id <> other', true],
  ['id < other OR id >= other', false],
  ['id <> raw OR id = raw', false],
  ["id = '00112233-4455-6677-8899-aabbccddeeff'", false],
  ["id LIKE '%'", false],
  ['id + 1 = 1', false],
  ['EXISTS(id) AND id IS NOT NULL', true],
  ['huge = huge AND distant = distant', true],
  ['huge > n AND NOT huge <= n', true],
  ['nan = nan OR nan <> nan', false],
  ['nan IS NULL', false],
])(
  'TOP-05 values of types that only AMQP has are the same, or cannot be compared: %s: %s',
  (expression, expected) => {
    expect(judge(subscription([sql(expression)]), AMQP_HEAD)).toHaveLength(expected ? 1 : 0)
  },
)

test('TOP-05 TOP-06 parameters stand for their values, with their types', () => {
  const parameters = {
    '@n': 3,
    '@t': 'abc',
    '@id': { uuid: 'a' },
    '@none': null,
    '@d': { float64: 2 },
  }
  const filter = (expression: string) =>
    judge(subscription([{ filter: { kind: 'sql', expression, parameters } }])).length === 1
  expect(filter('n = @n AND text = @t AND n / @d = 1.5')).toBe(true)
  expect(filter('n = @none')).toBe(false)
  expect(filter("text = '@t'")).toBe(false)
  const [copy] = judge(
    subscription([{ action: 'SET a = @id SET b = @n + 1;', actionParameters: parameters }]),
  )
  expect(copy?.changes?.properties).toMatchObject({ a: { uuid: 'a' }, b: { int64: 4 } })
  expect(() =>
    checkRule({ filter: { kind: 'sql', expression: 'n = @N', parameters }, action: undefined }),
  ).toThrow('filter: there is no parameter @N, at character 5')
})

test('TOP-04 TOP-06 such values are found by correlation filters, and copied by actions', () => {
  const matched = (properties: MessageHead['properties']): boolean => {
    const filter = { kind: 'correlation', filter: { applicationProperties: properties } } as const
    return judge(subscription([{ filter }]), AMQP_HEAD).length > 0
  }
  expect(matched({ id: { uuid: '00112233-4455-6677-8899-aabbccddeeff' }, n: 3 })).toBe(true)
  expect(matched({ id: { uuid: '00112233-4455-6677-8899-aabbccddee00' } })).toBe(false)
  expect(matched({ id: '00112233-4455-6677-8899-aabbccddeeff' })).toBe(false)
  expect(matched({ letter: 'é' })).toBe(true)
  expect(matched({ letter: { char: 'e' } })).toBe(false)
  expect(matched({ price: 12.3, cents: { decimal128: '303c0000000000000000000000000096' } })).toBe(
    true,
  )
  const steps = ['id', 'huge', 'small', 'letter', 'price', 'double'] as const
  const action = steps.map((name) => `SET [${name} 2] = ${name}`).join(' ')
  const [copy] = judge(subscription([{ action }]), AMQP_HEAD)
  expect(copy?.changes?.properties).toEqual({
    ...Object.fromEntries(steps.map((name) => [`${name} 2`, AMQP_HEAD.properties?.[name]])),
    RuleName: 'r0',
  })
})

test.each([
  ['', 'filter: expected a property at character 1, got the end'],
  ['n = = 3', 'filter: expected a property at character 5, got "="'],
  ["n = 'x", 'filter: the text that begins at character 5 has no end'],
  ['n = 3 4', 'filter: expected the end at character 7, got "4"'],
  ['n = 3 AND', 'filter: expected a property at character 10, got the end'],
  ['n NOT 3', 'filter: expected IN or LIKE at character 7, got "3"'],
  ['n IS 3', 'filter: expected NULL at character 6, got "3"'],
  ['(n = 3', 'filter: expected ")" at character 7, got the end'],
  ['n # 3', 'filter: nothing can begin with "#" at character 3'],
  [
    'sys.Size = 3',
    'filter: there is no system property sys.Size, at character 1; there are ContentType, CorrelationId, Label, MessageId, ReplyTo, ReplyToSessionId, SessionId, To',
  ],
  ['('.repeat(65) + '1 = 1' + ')'.repeat(65), 'filter: an expression is at most 64 levels deep'],
  [`n = '${'x'.repeat(1019)}'`, 'filter: an expression has at most 1024 characters, got 1025'],
])('%s is refused: %s', (expression, message) => {
  expect(() => checkRule({ ...sql(expression), action: undefined })).toThrow(message)
})

test.each([
  ['', 'action: expected SET or REMOVE at character 1, got the end'],
  ['SET n', 'action: expected "=" at character 6, got the end'],
  ['SET n = 1 x', 'action: expected SET or REMOVE at character 11, got "x"'],
  ['SET n = 1;; REMOVE n', 'action: expected SET or REMOVE at character 11, got ";"'],
  ['SET n = @p', 'action: there is no parameter @p, at character 9'],
  ['REMOVE', 'action: expected a property at character 7, got the end'],
])('the action %s is refused: %s', (action, message) => {
  expect(() => checkRule({ filter: { kind: 'true' }, action })).toThrow(message)
})

test('TOP-03 matching rules without action give one copy, each with an action its own', () => {
  const copies = judge(
    subscription([{}, { action: 'SET n = n + 1' }, sql('n = 3'), { action: 'REMOVE n' }]),
  )
  expect(copies).toMatchObject([
    { subscription: 7, changes: undefined, session: 's', deadLetter: undefined },
    {
      subscription: 7,
      changes: { properties: { n: { int64: 4 }, RuleName: 'r1' }, removed: [], system: {} },
      session: 's',
      deadLetter: undefined,
    },
    {
      subscription: 7,
      changes: { properties: { RuleName: 'r3' }, removed: ['n'], system: {} },
      session: 's',
      deadLetter: undefined,
    },
  ])
})

test('TOP-06 the steps of an action see each other, and keep types', () => {
  const action =
    "SET a = n; SET a = a + 1; SET big = big + 1; SET when = at; SET sys.SessionId = 'x' + text; REMOVE sys.Label; REMOVE flag; SET flag = FALSE;"
  const [copy] = judge(subscription([{ action }]))
  expect(copy).toMatchObject({
    subscription: 7,
    changes: {
      properties: {
        a: { int64: 4 },
        big: { long: '9007199254740994' },
        when: { date: 1000 },
        flag: false,
        RuleName: 'r0',
      },
      removed: [],
      system: { sessionId: 'xabc', subject: null },
    },
    session: 'xabc',
    deadLetter: undefined,
  })
})

test('TOP-06 actions find properties as filters do, without regard to case', () => {
  const [copy] = judge(subscription([{ action: 'REMOVE TEXT; SET N = 4; SET Fresh = 1' }]))
  expect(copy?.changes).toMatchObject({
    removed: ['text'],
    properties: { n: { int64: 4 }, Fresh: { int64: 1 } },
  })
  expect(Object.keys(copy?.changes?.properties ?? {})).not.toContain('N')
})

test.each([
  ['texts that double with each step', 'SET a = a + a;'.repeat(60)],
  ['a whole number above 64 bits', 'SET a = 9223372036854775807 + 1'],
  ['a literal above 64 bits', 'SET a = 9223372036854775808'],
  ['a session of more than 128 characters', `SET sys.SessionId = '${'s'.repeat(129)}'`],
])('TOP-08 an action fails by its limits: %s', (_, action) => {
  const head: MessageHead = { bodyKind: 'json', properties: { a: 'x' } }
  const copies = judge(subscription([{ action }]), head)
  expect(copies).toHaveLength(1)
  expect(copies[0]?.deadLetter).toBeDefined()
})

test('TOP-06 what an action sets and then removes is removed', () => {
  const [copy] = judge(
    subscription([{ action: 'SET fresh = 1; SET n = 5; REMOVE fresh; REMOVE n' }]),
  )
  expect(copy?.changes).toEqual({
    properties: { RuleName: 'r0' },
    removed: ['fresh', 'n'],
    system: {},
  })
})

test('TOP-08 one copy is dead-lettered for all failures, with the first of them, or none', () => {
  const rules = [sql('n / 0 = 1'), sql('n % 0 = 1'), {}]
  const copies = judge(subscription(rules))
  expect(copies).toHaveLength(2)
  expect(copies[1]?.deadLetter?.description).toBe(
    "The rule 'r0' could not be evaluated: division by zero",
  )
  expect(judge(subscription(rules, { deadLettersFilterErrors: false }))).toHaveLength(1)
})

test('TOP-04 a correlation filter compares values and not their types of numbers', () => {
  const correlates = (applicationProperties: Record<string, never>, subject = 'paid') =>
    judge(
      subscription([
        { filter: { kind: 'correlation', filter: { subject, applicationProperties } } },
      ]),
    ).length === 1
  const given = (values: object) => values as Record<string, never>
  expect(correlates(given({ n: { long: '3' }, text: 'abc', at: { date: 1000 } }))).toBe(true)
  expect(correlates(given({ n: '3' }))).toBe(false)
  expect(correlates(given({ none: null }))).toBe(true)
  expect(correlates(given({ missing: null }))).toBe(false)
  expect(correlates(given({}), 'Paid')).toBe(false)
  expect(correlates(given({ N: { ubyte: 3 }, TEXT: 'abc' }))).toBe(true)
  expect(correlates(given({ TEXT: 'ABC' }))).toBe(false)
})

test('TOP-06 an action sees and changes names of any case, as its steps left them', () => {
  const act = (action: string, properties: MessageHead['properties']) =>
    judge(subscription([{ action }]), { ...HEAD, properties })[0]?.changes
  const both = { Aa: 1, aA: 2 }
  expect(act('REMOVE AA; SET x = aa; SET AA = 5', both)).toMatchObject({
    properties: { x: 2, aA: { int64: 5 } },
    removed: ['Aa'],
  })
  expect(act('SET new = 1; SET NEW = NeW + 1; REMOVE nEW; SET y = new', {})).toMatchObject({
    properties: { y: null },
    removed: ['new'],
  })
  expect(act("SET sys.Label = 'x'; SET z = sys.Label; REMOVE sys.Label", {})).toMatchObject({
    properties: { z: 'x' },
    system: { subject: null },
  })
})

test('TOP-08 an action whose copy is larger than the subscription takes fails', () => {
  const action = Array.from({ length: 60 }, (_, n) => `SET a${n}=text`).join(';')
  const text = 'x'.repeat(20_000)
  const [copy] = judge(subscription([{ action }]), { ...HEAD, properties: { text } }, 30_000)
  expect(copy?.deadLetter?.description).toContain('the copy has more than 1000000 bytes')
  const [small] = judge(subscription([{ action: 'SET a = 1' }]), HEAD, 999_990)
  expect(small?.deadLetter?.reason).toBe('FilterEvaluationException')
})

/** Of a message, over these subscriptions. */
function judgeAll(
  all: readonly EntityRecord[],
  message: { readonly head: MessageHead; readonly bytes: number },
  messages = 1,
) {
  const together = { subscriptions: all.length, messages, random }
  const judge = new RuleJudge(message, new ParsedRules(), together)
  const copies = all.map((record) => judge.copiesFor(record))
  return { copies, steps: judge.steps }
}

test('TOP-08 all subscriptions together take bounded work for a message', () => {
  const heavy = subscription([sql(`sys.Label LIKE '%${'a'.repeat(900)}b%'`)])
  const head = { ...HEAD, subject: 'a'.repeat(4000) }
  const { copies, steps } = judgeAll(
    Array.from({ length: 100 }, () => heavy),
    { head, bytes: 0 },
  )
  expect(copies.flat().every(({ deadLetter }) => deadLetter !== undefined)).toBe(true)
  expect(steps).toBeGreaterThan(4_000_000)
  expect(steps).toBeLessThan(5_000_001)
})

test('TOP-08 no subscription fails for the rules of others', () => {
  const greedy = subscription([
    sql(`sys.Label LIKE '%${'a'.repeat(900)}b%'`),
    { action: Array.from({ length: 40 }, (_, n) => `SET a${n} = sys.Label`).join(';') },
  ])
  const modest = subscription([{ ...sql("sys.Label LIKE '%a%'"), action: "SET a = 'x'" }])
  const head = { ...HEAD, subject: 'a'.repeat(20_000) }
  const all = [...Array.from({ length: 1999 }, () => greedy), modest]
  const { copies } = judgeAll(all, { head, bytes: 500 })
  expect(copies.at(-1)).toMatchObject([{ deadLetter: undefined, changedBytes: 40 }])
})

test.each([
  ['a rule', sql('1=1')],
  ['a part of an expression', sql(`1 IN (${'2,'.repeat(450)}3)`)],
  ['a rule that fails', sql('1/0=1')],
  ['joined texts', sql(Array.from({ length: 80 }, () => "x+x<''").join(' OR '))],
  ['a correlation', { filter: { kind: 'correlation', filter: { subject: 'x' } } }],
  ['a step of an action', { action: 'REMOVE q;'.repeat(110) }],
  ['a copy', { action: 'SET a=1' }],
] satisfies [string, Partial<RuleRecord>][])(
  'TOP-08 %s counts as work, so that a thousand of them end',
  (_, rule) => {
    const record = subscription(Array.from({ length: 1000 }, () => rule))
    const head: MessageHead = { bodyKind: 'json', properties: { x: 'x'.repeat(30_000) } }
    const { steps } = judgeAll(
      Array.from({ length: 20 }, () => record),
      { head, bytes: 1 },
    )
    expect(steps).toBeGreaterThanOrEqual(20_000)
    expect(steps).toBeLessThanOrEqual(5_000_000)
  },
)

test('TOP-08 the copies of one message take no more together than the subscription takes of one', () => {
  const action = Array.from({ length: 40 }, (_, n) => `SET a${n} = text`).join(';')
  const record = subscription(Array.from({ length: 1000 }, () => ({ action })))
  const head = { ...HEAD, properties: { text: 'x'.repeat(5_000) } }
  const copies = judge(record, head, 1)
  const [letter] = copies.splice(-1)
  expect(letter?.deadLetter?.description).toBe(
    "The rule 'r4' could not be evaluated: the copies of this message take too many bytes",
  )
  expect(copies).toHaveLength(4)
  const bytes = copies.reduce((sum, { changedBytes }) => sum + changedBytes, 0)
  expect(bytes).toBeLessThan(1_000_000)
})

test('TOP-03 the first copy of a message may be as large as it is', () => {
  const record = subscription([{ action: 'SET a = 1' }, { action: 'SET a = 2' }])
  expect(judge(record, HEAD, 999_000)).toMatchObject([
    { deadLetter: undefined },
    { deadLetter: { reason: 'FilterEvaluationException' } },
  ])
  expect(judge(record, HEAD, 400_000)).toHaveLength(2)
})

test('TOP-08 messages that are stored together share the bytes that actions may add', () => {
  const record = subscription([{ action: `SET a = '${'x'.repeat(900)}'` }])
  const [copy] = judgeAll([record], { head: HEAD, bytes: 1 }, 10_000).copies.flat()
  expect(copy?.deadLetter).toBeUndefined()
  const [failed] = judgeAll([record], { head: HEAD, bytes: 1 }, 100_000).copies.flat()
  expect(failed?.deadLetter).toBeDefined()
})

test.each([{ bytes: 'A' }, 'A'])(
  'TOP-08 a value that an action would copy too often is not written: %j',
  (value) => {
    const long =
      typeof value === 'string' ? value.repeat(500_000) : { bytes: value.bytes.repeat(500_000) }
    const action = Array.from({ length: 60 }, (_, n) => `SET a${n} = long`).join(';')
    const record = subscription(Array.from({ length: 3 }, () => ({ action })))
    const spy = vi.spyOn(JSON, 'stringify')
    const copies = judge(record, { ...HEAD, properties: { long } }, 1)
    const written = spy.mock.calls.length
    spy.mockRestore()
    expect(copies).toMatchObject([{ deadLetter: { reason: 'FilterEvaluationException' } }])
    expect(written).toBe(0)
  },
)

test('TOP-08 looking for names, and comparing texts and bytes, is work', () => {
  const bytes = { bytes: 'A'.repeat(900_000) }
  const compares = Array.from({ length: 100 }, () => 'b <> b').join(' OR ')
  const [copy] = judge(subscription([sql(compares)]), { ...HEAD, properties: { b: bytes } })
  expect(copy?.deadLetter?.description).toContain('take too long')
  const filter = { kind: 'correlation', filter: { applicationProperties: { b: bytes } } } as const
  const rules = Array.from({ length: 1000 }, () => ({ filter }))
  const same = { bytes: 'A'.repeat(900_000) }
  const [other] = judge(subscription(rules), { ...HEAD, properties: { b: same } }).slice(-1)
  expect(other?.deadLetter?.description).toContain('take too long')
})

test('no rule that takes too long takes a message from those that cost nothing', () => {
  const heavy = sql(`sys.Label LIKE '%${'a'.repeat(900)}b%'`)
  const correlation = { filter: { kind: 'correlation', filter: { messageId: 'm' } } } as const
  const long = { ...HEAD, subject: 'a'.repeat(9_000) }
  for (const plain of [{ filter: { kind: 'true' } } as const, correlation]) {
    const record = subscription([heavy, heavy, plain], { deadLettersFilterErrors: false })
    expect(judge(record, long)).toMatchObject([{ changes: undefined, deadLetter: undefined }])
  }
  expect(judge(subscription([heavy], { deadLettersFilterErrors: false }), long)).toEqual([])
})
