import { MAX_ITEMS } from '../limits.ts'
import type {
  ChainExpression,
  ChainOperator,
  Expression,
  LogicalExpression,
  UnaryOperator,
} from './expression.ts'
import type { TokenCursor } from './token-cursor.ts'

const COMPARISONS: ReadonlyMap<string, ChainOperator> = new Map([
  ['=', '='],
  ['!=', '!='],
  ['<>', '!='],
  ['<', '<'],
  ['<=', '<='],
  ['>', '>'],
  ['>=', '>='],
])

/** From the weakest to the strongest; each goes from left to right. */
const CHAIN_LEVELS: readonly ReadonlyMap<string, ChainOperator>[] = [
  new Map([['|', '|']]),
  new Map([['^', '^']]),
  new Map([['&', '&']]),
  new Map([
    ['<<', '<<'],
    ['>>', '>>'],
    ['>>>', '>>>'],
  ]),
  new Map([
    ['+', '+'],
    ['-', '-'],
    ['||', '||'],
  ]),
  new Map([
    ['*', '*'],
    ['/', '/'],
    ['%', '%'],
  ]),
]
const COALESCE: ReadonlyMap<string, ChainOperator> = new Map([['??', '??']])
const UNARY: ReadonlyMap<string, UnaryOperator> = new Map([
  ['-', '-'],
  ['+', '+'],
  ['~', '~'],
])

/** Reads operands: whatever binds more strongly than any operator. */
export type OperandReader = (parser: ExpressionParser) => Expression

/**
 * Reads expressions by the strength of their operators, from the weakest: `?:`, `??`, OR, AND, NOT,
 * comparisons with IN, BETWEEN and LIKE, bits, sums with `||`, products, signs.
 */
export class ExpressionParser {
  readonly cursor: TokenCursor
  readonly #readOperand: OperandReader

  constructor(cursor: TokenCursor, readOperand: OperandReader) {
    this.cursor = cursor
    this.#readOperand = readOperand
  }

  /** @throws ERR_BAD_QUERY */
  expression(): Expression {
    return this.cursor.nested(() => this.#conditional())
  }

  /** Expressions between commas. */
  list(): Expression[] {
    const items: Expression[] = []
    do {
      if (items.length === MAX_ITEMS) {
        throw this.cursor.errorAt(
          this.cursor.peek(),
          `a list of more than ${MAX_ITEMS} values ends`,
        )
      }
      items.push(this.expression())
    } while (this.cursor.takeSymbol(','))
    return items
  }

  #conditional(): Expression {
    const condition = this.#chain(COALESCE, () => this.#logical('OR'))
    if (!this.cursor.takeSymbol('?')) return condition
    const whenTrue = this.expression()
    this.cursor.expectSymbol(':')
    return { kind: 'conditional', condition, whenTrue, otherwise: this.expression() }
  }

  #logical(operator: LogicalExpression['operator']): Expression {
    const operands = [this.#logicalOperand(operator)]
    while (this.cursor.takeKeyword(operator)) operands.push(this.#logicalOperand(operator))
    return operands.length === 1 ? operands[0]! : { kind: 'logical', operator, operands }
  }

  #logicalOperand(operator: LogicalExpression['operator']): Expression {
    return operator === 'OR' ? this.#logical('AND') : this.#negation()
  }

  #negation(): Expression {
    if (!this.cursor.takeKeyword('NOT')) return this.#comparison()
    const operand = this.cursor.nested(() => this.#negation())
    return { kind: 'unary', operator: 'NOT', operand }
  }

  #comparison(): Expression {
    const value = this.#chain(COMPARISONS, () => this.#strong(0))
    const negated = this.cursor.isKeyword('NOT')
    const predicate = this.#predicate(value, negated ? 1 : 0)
    if (predicate === undefined) return value
    return negated ? { kind: 'unary', operator: 'NOT', operand: predicate } : predicate
  }

  /** IN, BETWEEN or LIKE that stands `ahead` tokens ahead; undefined when there is none. */
  #predicate(value: Expression, ahead: number): Expression | undefined {
    const { cursor } = this
    const keyword = ['IN', 'BETWEEN', 'LIKE'].find((word) => cursor.isKeyword(word, ahead))
    if (keyword === undefined) return undefined
    cursor.goTo(cursor.place + ahead + 1)
    if (keyword === 'IN') {
      cursor.expectSymbol('(')
      const list = this.list()
      cursor.expectSymbol(')')
      return { kind: 'in', value, list }
    }
    const operand = this.#strong(0)
    if (keyword === 'LIKE') {
      const escape = cursor.takeKeyword('ESCAPE') ? this.#strong(0) : undefined
      return { kind: 'like', value, pattern: operand, escape }
    }
    cursor.expectKeyword('AND')
    return { kind: 'between', value, low: operand, high: this.#strong(0) }
  }

  #strong(level: number): Expression {
    const operators = CHAIN_LEVELS[level]
    return operators ? this.#chain(operators, () => this.#strong(level + 1)) : this.#unary()
  }

  #chain(operators: ReadonlyMap<string, ChainOperator>, read: () => Expression): Expression {
    const first = read()
    const rest: { operator: ChainOperator; operand: Expression }[] = []
    for (;;) {
      const token = this.cursor.peek()
      const operator = token.kind === 'symbol' ? operators.get(token.text) : undefined
      if (operator === undefined) break
      this.cursor.take()
      rest.push({ operator, operand: read() })
    }
    const chain: ChainExpression = { kind: 'chain', first, rest }
    return rest.length === 0 ? first : chain
  }

  #unary(): Expression {
    const token = this.cursor.peek()
    const operator = token.kind === 'symbol' ? UNARY.get(token.text) : undefined
    if (operator === undefined) return this.#readOperand(this)
    this.cursor.take()
    const operand = this.cursor.nested(() => this.#unary())
    return { kind: 'unary', operator, operand }
  }
}
