import type { PropertyValue, RuleOptions } from '@tidemark/messaging'
import type { RuleRecord } from '@tidemark/messaging/front'
import { expect, test } from 'vitest'
import { readXml } from '../atom/read-xml.ts'
import { writeXml } from '../atom/write-xml.ts'
import { element, type XmlElement } from '../atom/xml-element.ts'
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
    { name: 'r', filter: { subject: '', to: ' x ', applicationProperties: { at: new Date(5) } } },
  ],
]

test.each(RULES)('the rule %j is read as it was written', (record, options) => {
  const written = readXml(writeXml(ruleDescription({ ...record, createdMs: 0 })))
  expect(readRule(written, 'other')).toEqual({ action: undefined, ...options })
})

test('a rule without anything matches everything, under the name that it is given', () => {
  expect(readRule(element('RuleDescription', []), 'r')).toEqual({ name: 'r' })
})

const VALUES: readonly PropertyValue[] = [
  '',
  ' a <b> & "c" ',
  0,
  -1.5,
  1e300,
  NaN,
  Infinity,
  -Infinity,
  true,
  false,
  2n ** 62n,
  new Date(1_700_000_000_123),
  new Uint8Array([0, 1, 255]),
  null,
]

test.each(VALUES)('the value %s keeps its type', (value) => {
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
  ['long', '9007199254740993', 9007199254740993n],
  ['unsignedLong', '+7', 7],
  ['decimal', '1.50', 1.5],
  ['guid', 'a-b', 'a-b'],
  ['dateTime', '2026-01-02T03:04:05', new Date('2026-01-02T03:04:05Z')],
  ['dateTime', '2026-01-02T03:04:05.5+02:00', new Date('2026-01-02T01:04:05.500Z')],
])('a value of the type %s with %j is %s', (type, text, value) => {
  expect(readPropertyValues(pair(type, text))).toEqual({ a: value })
})

test.each([
  ['int', 'five'],
  ['int', '5.5'],
  ['double', ''],
  ['double', 'x'],
  ['boolean', 'maybe'],
  ['dateTime', 'tomorrow'],
  ['dateTime', '5'],
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
    'parameters',
    element(
      'Filter',
      [element('SqlExpression', 'a = @p'), propertyValuesElement('Parameters', { '@p': 1 })],
      { type: 'SqlFilter' },
    ),
  ],
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
