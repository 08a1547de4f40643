import { assertNever } from '@tidemark/contracts/internal'
import { finite } from '../functions/sql-function.ts'
import { joinStrings } from '../functions/string-functions.ts'
import type { Json } from '../json.ts'
import type { QueryBudget } from '../query-budget.ts'
import type { ChainOperator } from '../syntax/expression.ts'
import { sqlCompare, sqlEquals } from '../values/compare.ts'

/** The result of an operator; undefined where the operands are not of its types. */
export function applyOperator(
  operator: ChainOperator,
  [left, right]: readonly [left: Json, right: Json],
  budget: QueryBudget,
): Json {
  switch (operator) {
    case '=':
      return sqlEquals(left, right, budget)
    case '!=': {
      const equal = sqlEquals(left, right, budget)
      return equal === undefined ? undefined : !equal
    }
    case '<':
    case '<=':
    case '>':
    case '>=': {
      const order = sqlCompare(left, right, budget)
      return order === undefined ? undefined : isInOrder(operator, order)
    }
    case '??':
      return left === undefined ? right : left
    case '||': {
      const joined = joinStrings([left, right], { budget })
      if (joined !== undefined) budget.make(joined.length)
      return joined
    }
    default:
      return typeof left === 'number' && typeof right === 'number'
        ? finite(calculate(operator, left, right))
        : undefined
  }
}

function isInOrder(operator: '<' | '<=' | '>' | '>=', order: number): boolean {
  switch (operator) {
    case '<':
      return order < 0
    case '<=':
      return order <= 0
    case '>':
      return order > 0
    case '>=':
      return order >= 0
    default:
      return assertNever(operator)
  }
}

type Calculation = Exclude<ChainOperator, '=' | '!=' | '<' | '<=' | '>' | '>=' | '??' | '||'>

function calculate(operator: Calculation, left: number, right: number): number {
  switch (operator) {
    case '+':
      return left + right
    case '-':
      return left - right
    case '*':
      return left * right
    case '/':
      return left / right
    case '%':
      return left % right
    case '&':
      return left & right
    case '|':
      return left | right
    case '^':
      return left ^ right
    case '<<':
      return left << right
    case '>>':
      return left >> right
    case '>>>':
      return left >>> right
    default:
      return assertNever(operator)
  }
}
