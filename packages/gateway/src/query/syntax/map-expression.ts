import { assertNever } from '@tidemark/contracts/internal'
import type { Expression } from './expression.ts'

/** The same node with each child replaced. Subqueries are not entered: their names are their own. */
export function mapChildren(
  expression: Expression,
  map: (child: Expression) => Expression,
): Expression {
  switch (expression.kind) {
    case 'literal':
    case 'parameter':
    case 'variable':
    case 'subquery':
    case 'result':
      return expression
    case 'path':
      return { ...expression, root: map(expression.root), steps: expression.steps.map(map) }
    case 'unary':
      return { ...expression, operand: map(expression.operand) }
    case 'aggregate':
      return { ...expression, operand: map(expression.operand) }
    case 'chain':
      return {
        ...expression,
        first: map(expression.first),
        rest: expression.rest.map(({ operator, operand }) => ({ operator, operand: map(operand) })),
      }
    case 'logical':
      return { ...expression, operands: expression.operands.map(map) }
    case 'call':
      return { ...expression, operands: expression.operands.map(map) }
    case 'conditional':
      return {
        ...expression,
        condition: map(expression.condition),
        whenTrue: map(expression.whenTrue),
        otherwise: map(expression.otherwise),
      }
    case 'between':
      return {
        ...expression,
        value: map(expression.value),
        low: map(expression.low),
        high: map(expression.high),
      }
    case 'in':
      return { ...expression, value: map(expression.value), list: expression.list.map(map) }
    case 'like':
      return {
        ...expression,
        value: map(expression.value),
        pattern: map(expression.pattern),
        escape: expression.escape && map(expression.escape),
      }
    case 'array':
      return { ...expression, items: expression.items.map(map) }
    case 'object':
      return {
        ...expression,
        properties: expression.properties.map(({ name, value }) => ({ name, value: map(value) })),
      }
    default:
      return assertNever(expression)
  }
}

export function childrenOf(expression: Expression): Expression[] {
  const children: Expression[] = []
  mapChildren(expression, (child) => {
    children.push(child)
    return child
  })
  return children
}
