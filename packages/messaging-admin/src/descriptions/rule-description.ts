import { assertNever, describeValue } from '@tidemark/contracts/internal'
import type { CorrelationRuleFilter, RuleOptions, SqlRuleFilter } from '@tidemark/messaging'
import {
  actionOf,
  typedProperties,
  type RuleFilter,
  type RuleRecord,
  type SqlText,
} from '@tidemark/messaging/front'
import { description, instant, property } from '../atom/entry.ts'
import { element, type XmlElement } from '../atom/xml-element.ts'
import { InvalidRequestError } from '../errors/invalid-request-error.ts'
import { propertyValuesElement, readPropertyValues } from './property-values.ts'
import { ignored, readProperties, type PropertyReaders } from './read-properties.ts'

const RULE_READERS: PropertyReaders<Omit<RuleOptions, 'name'> & { readonly given: string }> = {
  Action: (given) => ({ action: readAction(given) }),
  CreatedAt: ignored,
  Filter: (given) => ({ filter: readFilter(given) }),
  Name: ({ text }) => ({ given: text }),
}

const SQL_READERS: PropertyReaders<SqlRuleFilter> = {
  CompatibilityLevel: ignored,
  Parameters: (given) =>
    given.children.length === 0 ? {} : { parameters: typedProperties(readPropertyValues(given)) },
  RequiresPreprocessing: ignored,
  SqlExpression: ({ text }) => ({ sqlExpression: text }),
}

const CORRELATION_READERS: PropertyReaders<CorrelationRuleFilter> = {
  ContentType: ({ text }) => ({ contentType: text }),
  CorrelationId: ({ text }) => ({ correlationId: text }),
  Label: ({ text }) => ({ subject: text }),
  MessageId: ({ text }) => ({ messageId: text }),
  Properties: (given) => ({
    applicationProperties: typedProperties(readPropertyValues(given)),
  }),
  ReplyTo: ({ text }) => ({ replyTo: text }),
  RequiresPreprocessing: ignored,
  ReplyToSessionId: ({ text }) => ({ replyToSessionId: text }),
  SessionId: ({ text }) => ({ sessionId: text }),
  To: ({ text }) => ({ to: text }),
}

/** A `RuleDescription`, or the default rule of a subscription. @throws ERR_INVALID_REQUEST */
export function readRule(rule: XmlElement, fallbackName: string): RuleOptions {
  const { given = fallbackName, ...options } = readProperties(rule, RULE_READERS)
  return { name: given, ...options }
}

export function ruleDescription(rule: RuleRecord): XmlElement {
  const { name, filter, createdMs } = rule
  const action = actionOf(rule)
  return description('RuleDescription', [
    filterElement(filter),
    action === undefined
      ? element('Action', '', { 'i:type': 'EmptyRuleAction' })
      : sqlElement('Action', 'SqlRuleAction', action),
    instant('CreatedAt', createdMs),
    property('Name', name),
  ])
}

function readFilter(given: XmlElement): RuleOptions['filter'] {
  const type = typeOf(given)
  switch (type) {
    case 'TrueFilter':
      return undefined
    case 'FalseFilter':
      return false
    case 'SqlFilter':
      return readSql(given)
    case 'CorrelationFilter':
      return readProperties(given, CORRELATION_READERS)
    default:
      throw new InvalidRequestError(`The type ${describeValue(type)} of Filter is not known.`)
  }
}

function readAction(given: XmlElement): SqlRuleFilter | undefined {
  const type = typeOf(given)
  switch (type) {
    case 'EmptyRuleAction':
      return undefined
    case 'SqlRuleAction':
      return readSql(given)
    default:
      throw new InvalidRequestError(`The type ${describeValue(type)} of Action is not known.`)
  }
}

function readSql(given: XmlElement): SqlRuleFilter {
  const { sqlExpression, ...parameters } = readProperties(given, SQL_READERS)
  if (sqlExpression !== undefined) return { sqlExpression, ...parameters }
  throw new InvalidRequestError(`${given.name} must have a SqlExpression.`)
}

/** Without the prefix of its namespace. */
function typeOf({ attributes }: XmlElement): string | undefined {
  return attributes['type']?.replace(/^.*:/, '')
}

function filterElement(filter: RuleFilter): XmlElement {
  switch (filter.kind) {
    case 'true':
      return sqlElement('Filter', 'TrueFilter', { expression: '1=1' })
    case 'false':
      return sqlElement('Filter', 'FalseFilter', { expression: '1=0' })
    case 'sql':
      return sqlElement('Filter', 'SqlFilter', filter)
    case 'correlation': {
      const { applicationProperties, ...texts } = filter.filter
      return element(
        'Filter',
        [
          property('CorrelationId', texts.correlationId),
          property('MessageId', texts.messageId),
          property('To', texts.to),
          property('ReplyTo', texts.replyTo),
          property('Label', texts.subject),
          property('SessionId', texts.sessionId),
          property('ReplyToSessionId', texts.replyToSessionId),
          property('ContentType', texts.contentType),
          applicationProperties && propertyValuesElement('Properties', applicationProperties),
        ],
        { 'i:type': 'CorrelationFilter' },
      )
    }
    default:
      return assertNever(filter)
  }
}

function sqlElement(name: string, type: string, { expression, parameters }: SqlText): XmlElement {
  const elements = [
    element('SqlExpression', expression),
    element('CompatibilityLevel', '20'),
    parameters && propertyValuesElement('Parameters', parameters),
  ]
  return element(name, elements, { 'i:type': type })
}
