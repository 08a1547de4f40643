import type { SqlText, StoredValue, SystemProperty } from '@tidemark/store/messages'
import { InvalidRuleError } from '../errors/invalid-rule-error.ts'
import type {
  ActionStep,
  BinaryOperator,
  Expression,
  PropertyName,
  SqlValue,
} from './expression.ts'
import { sqlValue } from './sql-values.ts'
import { tokenize, type Token } from './tokens.ts'

export const MAX_SQL_CHARACTERS = 1024
/** Of parentheses and prefixes in each other. */
const MAX_DEPTH = 64

const SYSTEM_NAMES: ReadonlyMap<string, SystemProperty> = new Map([
  ['contenttype', 'contentType'],
  ['correlationid', 'correlationId'],
  ['label', 'subject'],
  ['messageid', 'messageId'],
  ['replyto', 'replyTo'],
  ['replytosessionid', 'replyToSessionId'],
  ['sessionid', 'sessionId'],
  ['subject', 'subject'],
  ['to', 'to'],
])

const COMPARISONS: ReadonlyMap<string, BinaryOperator> = new Map([
  ['=', '='],
  ['<>', '<>'],
  ['!=', '<>'],
  ['<', '<'],
  ['<=', '<='],
  ['>', '>'],
  ['>=', '>='],
])

const KEYWORDS: ReadonlySet<string> = new Set(
  'AND OR NOT IN LIKE ESCAPE EXISTS IS NULL TRUE FALSE SET REMOVE'.split(' '),
)

/** A filter: a condition. @throws ERR_INVALID_RULE */
export function parseFilter(sql: SqlText): Expression {
  const parser = new Parser(sql)
  const condition = parser.condition()
  parser.end()
  return condition
}

/** An action: steps, each with a semicolon behind it or not. @throws ERR_INVALID_RULE */
export function parseAction(sql: SqlText): readonly ActionStep[] {
  return new Parser(sql).steps()
}

/** By recursive descent: each method is a line of the grammar in the guide. */
class Parser {
  readonly #tokens: readonly Token[]
  readonly #parameters: Readonly<Record<string, StoredValue>>
  #at = 0
  #depth = 0

  constructor({ expression: sql, parameters = {} }: SqlText) {
    if (sql.length > MAX_SQL_CHARACTERS) {
      throw new InvalidRuleError(
        `an expression has at most ${MAX_SQL_CHARACTERS} characters, got ${sql.length}`,
      )
    }
    this.#tokens = tokenize(sql)
    this.#parameters = parameters
  }

  end(): void {
    if (this.#token.kind !== 'end') throw this.#unexpected('the end')
  }

  steps(): readonly ActionStep[] {
    const steps: ActionStep[] = []
    do {
      steps.push(this.#step())
      this.#takeSign(';')
    } while (this.#token.kind !== 'end')
    return steps
  }

  condition(): Expression {
    return this.#nested(() => {
      let left = this.#conjunction()
      while (this.#takeWord('OR')) left = binary('OR', left, this.#conjunction())
      return left
    })
  }

  #step(): ActionStep {
    if (this.#takeWord('REMOVE')) return { kind: 'remove', property: this.#property() }
    if (!this.#takeWord('SET')) throw this.#unexpected('SET or REMOVE')
    const property = this.#property()
    this.#expectSign('=')
    return { kind: 'set', property, value: this.condition() }
  }

  #conjunction(): Expression {
    let left = this.#negation()
    while (this.#takeWord('AND')) left = binary('AND', left, this.#negation())
    return left
  }

  #negation(): Expression {
    if (!this.#takeWord('NOT')) return this.#comparison()
    return this.#nested(() => ({ kind: 'not', operand: this.#negation() }))
  }

  #comparison(): Expression {
    const operand = this.#sum()
    const { kind, text } = this.#token
    const operator = kind === 'sign' ? COMPARISONS.get(text) : undefined
    if (operator !== undefined) {
      this.#at++
      return binary(operator, operand, this.#sum())
    }
    if (this.#takeWord('IS')) {
      const isNegated = this.#takeWord('NOT')
      this.#expectWord('NULL')
      return negatedIf(isNegated, { kind: 'isNull', operand })
    }
    const isNegated = this.#takeWord('NOT')
    if (this.#takeWord('IN')) return negatedIf(isNegated, this.#membership(operand))
    if (this.#takeWord('LIKE')) return negatedIf(isNegated, this.#likeness(operand))
    if (isNegated) throw this.#unexpected('IN or LIKE')
    return operand
  }

  #membership(operand: Expression): Expression {
    this.#expectSign('(')
    const list = [this.#sum()]
    while (this.#takeSign(',')) list.push(this.#sum())
    this.#expectSign(')')
    return { kind: 'in', operand, list }
  }

  #likeness(operand: Expression): Expression {
    const pattern = this.#sum()
    const escape = this.#takeWord('ESCAPE') ? this.#sum() : undefined
    return { kind: 'like', operand, pattern, escape }
  }

  #sum(): Expression {
    let left = this.#product()
    for (;;) {
      if (this.#takeSign('+')) left = binary('+', left, this.#product())
      else if (this.#takeSign('-')) left = binary('-', left, this.#product())
      else return left
    }
  }

  #product(): Expression {
    let left = this.#signed()
    for (;;) {
      if (this.#takeSign('*')) left = binary('*', left, this.#signed())
      else if (this.#takeSign('/')) left = binary('/', left, this.#signed())
      else if (this.#takeSign('%')) left = binary('%', left, this.#signed())
      else return left
    }
  }

  #signed(): Expression {
    if (this.#takeSign('-'))
      return this.#nested(() => ({ kind: 'negate', operand: this.#signed() }))
    if (this.#takeSign('+')) return this.#nested(() => this.#signed())
    return this.#primary()
  }

  #primary(): Expression {
    const token = this.#token
    if (token.kind === 'text') return this.#literal(token.text)
    if (token.kind === 'number') return this.#literal(numberOf(token.text))
    if (token.kind === 'parameter') return this.#literal(this.#parameter(token.text))
    if (this.#takeWord('TRUE')) return { kind: 'literal', value: true }
    if (this.#takeWord('FALSE')) return { kind: 'literal', value: false }
    if (this.#takeWord('NULL')) return { kind: 'literal', value: null }
    if (this.#takeWord('EXISTS')) {
      this.#expectSign('(')
      const property = this.#property()
      this.#expectSign(')')
      return { kind: 'exists', property }
    }
    if (this.#takeSign('(')) {
      const inner = this.condition()
      this.#expectSign(')')
      return inner
    }
    if (this.#takeCall('NEWID')) {
      this.#expectSign(')')
      return { kind: 'newId' }
    }
    if (this.#takeCall('PROPERTY') || this.#takeCall('P')) {
      const name = this.condition()
      this.#expectSign(')')
      return { kind: 'lookUp', name }
    }
    return { kind: 'property', property: this.#property() }
  }

  #parameter(name: string): SqlValue {
    if (Object.hasOwn(this.#parameters, name)) return sqlValue(this.#parameters[name])
    throw new InvalidRuleError(`there is no parameter ${name}, at character ${this.#token.at + 1}`)
  }

  #property(): PropertyName {
    const { kind, text, at } = this.#token
    const scope = kind === 'word' ? text.toLowerCase() : ''
    const next = this.#tokens[this.#at + 1]
    if ((scope === 'sys' || scope === 'user') && next?.kind === 'sign' && next.text === '.') {
      this.#at += 2
      const name = this.#name()
      if (scope === 'user') return { kind: 'user', name }
      const system = SYSTEM_NAMES.get(name.toLowerCase())
      if (system !== undefined) return { kind: 'system', name: system }
      throw new InvalidRuleError(
        `there is no system property sys.${name}, at character ${at + 1}; there are ` +
          'ContentType, CorrelationId, Label, MessageId, ReplyTo, ReplyToSessionId, SessionId, To',
      )
    }
    return { kind: 'user', name: this.#name() }
  }

  #name(): string {
    const { kind, text } = this.#token
    const isKeyword = kind === 'word' && KEYWORDS.has(text.toUpperCase())
    if (isKeyword || (kind !== 'word' && kind !== 'name')) throw this.#unexpected('a property')
    this.#at++
    return text
  }

  #literal(value: SqlValue): Expression {
    this.#at++
    return { kind: 'literal', value }
  }

  #nested(parse: () => Expression): Expression {
    if (++this.#depth > MAX_DEPTH) {
      throw new InvalidRuleError(`an expression is at most ${MAX_DEPTH} levels deep`)
    }
    const parsed = parse()
    this.#depth--
    return parsed
  }

  get #token(): Token {
    return this.#tokens[this.#at]!
  }

  #takeWord(word: string): boolean {
    const { kind, text } = this.#token
    if (kind !== 'word' || text.toUpperCase() !== word) return false
    this.#at++
    return true
  }

  /** A function's name, and the parenthesis behind it. A property may have the same name. */
  #takeCall(name: string): boolean {
    const next = this.#tokens[this.#at + 1]
    if (next?.kind !== 'sign' || next.text !== '(' || !this.#takeWord(name)) return false
    this.#at++
    return true
  }

  #takeSign(sign: string): boolean {
    const { kind, text } = this.#token
    if (kind !== 'sign' || text !== sign) return false
    this.#at++
    return true
  }

  #expectWord(word: string): void {
    if (!this.#takeWord(word)) throw this.#unexpected(word)
  }

  #expectSign(sign: string): void {
    if (!this.#takeSign(sign)) throw this.#unexpected(JSON.stringify(sign))
  }

  #unexpected(expected: string): InvalidRuleError {
    const { kind, text, at } = this.#token
    const found = kind === 'end' ? 'the end' : JSON.stringify(text)
    return new InvalidRuleError(`expected ${expected} at character ${at + 1}, got ${found}`)
  }
}

function binary(operator: BinaryOperator, left: Expression, right: Expression): Expression {
  return { kind: 'binary', operator, left, right }
}

function negatedIf(isNegated: boolean, operand: Expression): Expression {
  return isNegated ? { kind: 'not', operand } : operand
}

/** Of digits alone, it is whole. */
function numberOf(text: string): number | bigint {
  return /^\d+$/.test(text) ? BigInt(text) : Number(text)
}
