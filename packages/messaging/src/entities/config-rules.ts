import { option, optionOf, optionRule, requiredOption } from '@tidemark/contracts/internal'
import {
  keyOf,
  optionsOf,
  type ConfigPlace,
  type ConfigReader,
  type KeyRules,
  type Values,
} from './config-reader.ts'
import type { CorrelationRuleFilter, RuleOptions } from './options.ts'

const GROUP = optionRule(
  'an object',
  (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
)

const RULE: KeyRules = { Name: requiredOption(option.text), Properties: GROUP }

const PROPERTIES: KeyRules = {
  FilterType: optionOf('Correlation', 'Sql'),
  CorrelationFilter: GROUP,
  SqlFilter: GROUP,
  Action: GROUP,
}

const SQL: KeyRules = { SqlExpression: requiredOption(option.text) }

const TEXTS = [
  'contentType',
  'correlationId',
  'messageId',
  'replyTo',
  'replyToSessionId',
  'sessionId',
  'to',
] as const

const CORRELATION: KeyRules = {
  ...Object.fromEntries(TEXTS.map((name) => [keyOf(name), option.text])),
  Label: option.text,
  Properties: GROUP,
}

const PRIMITIVE = optionRule('a text, a number, true or false', (value) =>
  ['string', 'number', 'boolean'].includes(typeof value),
)

/** A rule, without the parts that have problems. */
export function readConfigRule(reader: ConfigReader, { value, at }: ConfigPlace): RuleOptions {
  const rule = reader.object(value, at, RULE)
  const properties = reader.object(rule['Properties'] ?? {}, `${at}.Properties`, PROPERTIES)
  const filter = readFilter(reader, properties, `${at}.Properties`)
  const action = readSql(reader, properties['Action'], `${at}.Properties.Action`)
  return { name: textOf(rule['Name']) ?? '', filter, action }
}

function readFilter(reader: ConfigReader, properties: Values, at: string): RuleOptions['filter'] {
  const { FilterType: type, CorrelationFilter: correlation, SqlFilter: sql } = properties
  const kind = type ?? (sql === undefined ? 'Correlation' : 'Sql')
  const [key, other] =
    kind === 'Sql' ? ['SqlFilter', 'CorrelationFilter'] : ['CorrelationFilter', 'SqlFilter']
  if (properties[other] !== undefined) {
    reader.report(`${at}.${other}`, `cannot stand beside FilterType "${textOf(kind)}"`)
  }
  if (properties[key] === undefined) {
    if (type !== undefined) reader.report(`${at}.${key}`, 'is missing')
    return undefined
  }
  return kind === 'Sql'
    ? readSql(reader, sql, `${at}.SqlFilter`)
    : readCorrelation(reader, correlation, `${at}.CorrelationFilter`)
}

function readSql(
  reader: ConfigReader,
  value: unknown,
  at: string,
): { readonly sqlExpression: string } | undefined {
  if (value === undefined) return undefined
  const sqlExpression = textOf(reader.object(value, at, SQL)['SqlExpression'])
  return sqlExpression === undefined ? undefined : { sqlExpression }
}

function readCorrelation(reader: ConfigReader, value: unknown, at: string): CorrelationRuleFilter {
  const { Label, Properties, ...texts } = reader.object(value, at, CORRELATION)
  return optionsOf({
    ...texts,
    Subject: Label,
    ApplicationProperties:
      Properties === undefined ? undefined : reader.map(Properties, `${at}.Properties`, PRIMITIVE),
  })
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}
