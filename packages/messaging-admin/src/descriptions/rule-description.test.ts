import type { RuleOptions } from '@tidemark/messaging'
import { typedProperties, type RuleRecord, type StoredValue } from '@tidemark/messaging/front'
import { expect, test } from 'vitest'
import { readXml } from '../atom/read-xml.ts'
import { writeXml } from '../atom/write-xml.ts'
import { childOf, element, type XmlElement } from '../atom/xml-element.ts'
import { propertyValuesElement, readPropertyValues } from './property-values.ts'
import { readRule, ruleDescription } from './rule-description.ts'

const RULES: readonly (readonly [Omit<RuleRecord, 'createdMs'>, RuleOptions])[] = [
  [
    { name: 'r', filter: { kind: 'true' }, action: undefined },
    { name: 'r', filter: undefined },
  ],
  [
    { name: 'r', filter: { kind: 'false' }, action: undefined },
    { name: 'r', filter: false },
  ],
  [
    { name: '$Default', filter: { kind: 'sql', expression: "a < 'b'" }, action: 'SET a = 1' },
    {
      name: '$Default',
      filter: { sqlExpression: "a < 'b'" },
      action: { sqlExpression: 'SET a = 1' },
    },
  ],
  [
    {
      name: 'r',
      filter: {
        kind: 'correlation',
        filter: { subject: '', to: ' x ', applicationProperties: { at: { date: 5 } } },
      },
      action: undefined,
    },
    {
      name: 'r',
      filter: {
        subject: '',
        to: ' x ',
        applicationProperties: typedProperties({ at: { date: 5 } }),
      },
    },
  ],
  [
    {
      name: 'r',
      filter: { kind: 'sql', expression: 'a = @p', parameters: { '@p': { int64: 5 } } },
      action: 'SET a = @q',
      actionParameters: { '@q': 'x' },
    },
    {
      name: 'r',
      filter: { sqlExpression: 'a = @p', parameters: typedProperties({ '@p': { int64: 5 } }) },
      action: { sqlExpression: 'SET a = @q', parameters: typedProperties({ '@q': 'x' }) },
    },
  ],
]

test.each(RULES)('the rule %j is read as it was written', (record, options) => {
  const written = readXml(writeXml(ruleDescription({ ...record, createdMs: 0 })))
  expect(readRule(written, 'other')).toEqual({ action: undefined, ...options })
})

test('a rule without anything matches everything, under the name that it is given', () => {
  expect(readRule(element('RuleDescription', []), 'r')).toEqual({ name: 'r' })
})

const VALUES: readonly StoredValue[] = [
  '',
  ' a <b> & "c" ',
  0,
  -1.5,
  2 ** 31 - 1,
  { int64: 5 },
  { float64: 5 },
  { float64: 1e300 },
  { float: 0.5 },
  { byte: -5 },
  { ubyte: 200 },
  { short: -300 },
  { ushort: 60_000 },
  { uint: 2 ** 32 - 1 },
  { uint64: 7 },
  { double: 'NaN' },
  { double: 'Infinity' },
  { double: '-Infinity' },
  true,
  false,
  { long: '4611686018427387904' },
  { ulong: '18446744073709551615' },
  { date: 1_700_000_000_123 },
  { bytes: 'AAH/' },
  { uuid: '00112233-4455-6677-8899-aabbccddeeff' },
  { char: 'é' },
  null,
]

test.each(VALUES)('the value %j keeps its type', (value) => {
  const written = writeXml(propertyValuesElement('Properties', { 'a key': value }))
  expect(readPropertyValues(readXml(written))).toEqual({ 'a key': value })
})

test('names that are those of the language are names like any other', () => {
  const values = Object.fromEntries([['__proto__', 1]])
  const written = writeXml(propertyValuesElement('Properties', values))
  expect(Object.entries(readPropertyValues(readXml(written)))).toEqual([['__proto__', 1]])
})

test.each([
  ['int', '5', 5],
  ['long', '9007199254740993', { long: '9007199254740993' }],
  ['unsignedLong', '+7', { uint64: 7 }],
  ['decimal', '1.50', 1.5],
  ['char', '233', { char: 'é' }],
  ['char', 'é', { char: 'é' }],
  ['dateTime', '2026-01-02T03:04:05', { date: Date.UTC(2026, 0, 2, 3, 4, 5) }],
  ['dateTime', '2026-01-02T03:04:05.5+02:00', { date: Date.UTC(2026, 0, 2, 1, 4, 5, 500) }],
])('a value of the type %s with %j is %j', (type, text, value) => {
  expect(readPropertyValues(pair(type, text))).toEqual({ a: value })
})

test.each([
  ['PT1.5S', 15_000_000n, 'PT1.5000000S'],
  ['P1DT2H3M4.0000001S', 937_840_000_001n, 'PT93784.0000001S'],
  ['-PT0.00001S', -100n, '-PT0.0000100S'],
])('the duration %s is a time span of %i ticks', (text, ticks, shown) => {
  const values = readPropertyValues(pair('duration', text))
  const { described } = values['a'] as { readonly described: string }
  const bytes = Buffer.from(described, 'base64')
  const small = BigInt.asIntN(8, ticks) === ticks
  expect(bytes.subarray(0, 25).toString('latin1')).toBe('\0\u00A3\u0016com.microsoft:timespan')
  expect(small ? BigInt(bytes.readInt8(26)) : bytes.readBigInt64BE(26)).toBe(ticks)
  expect(bytes[25]).toBe(small ? 0x55 : 0x81)
  const [shownPair] = propertyValuesElement('Properties', values).children
  expect(childOf(shownPair!, 'Value')).toMatchObject({ text: shown })
  expect(readPropertyValues(readXml(writeXml(propertyValuesElement('P', values))))).toEqual(values)
})

test.each([
  ['int', 'five'],
  ['int', '5.5'],
  ['double', ''],
  ['double', 'x'],
  ['boolean', 'maybe'],
  ['dateTime', 'tomorrow'],
  ['dateTime', '5'],
  ['guid', 'a-b'],
  ['duration', '5'],
  ['duration', 'P1Y'],
  ['QName', 'a'],
])('a value of the type %s with %j is refused', (type, text) => {
  expect(() => readPropertyValues(pair(type, text))).toThrow(
    expect.objectContaining({ code: 'ERR_INVALID_REQUEST' }),
  )
})

test.each([
  element('Properties', [element('Other', '')]),
  element('Properties', [element('KeyValueOfstringanyType', [element('Key', 'a')])]),
  element('Properties', [element('KeyValueOfstringanyType', [element('Value', 'a')])]),
])('what is no pair of key and value is refused', (properties) => {
  expect(() => readPropertyValues(properties)).toThrow(/KeyValueOfstringanyType/)
})

test.each([
  ['a filter without a type', element('Filter', '')],
  ['a filter of an unknown type', element('Filter', '', { type: 'DateTimeFilter' })],
  ['an action of an unknown type', element('Action', '', { type: 'SqlFilter' })],
  ['a SQL filter without an expression', element('Filter', '', { type: 'SqlFilter' })],
  [
    'a property that is none of a message',
    element('Filter', [element('Subject', 'a')], { type: 'CorrelationFilter' }),
  ],
])('a rule with %s is refused', (_name, part) => {
  expect(() => readRule(element('RuleDescription', [part]), 'r')).toThrow(
    expect.objectContaining({ code: 'ERR_INVALID_REQUEST' }),
  )
})

function pair(type: string, text: string): XmlElement {
  return element('Properties', [
    element('KeyValueOfstringanyType', [
      element('Key', 'a'),
      element('Value', text, { type: `d6p1:${type}` }),
    ]),
  ])
}
