import type { Expression } from './expression.ts'
import type { ExpressionParser } from './expression-parser.ts'
import type { OperandContext } from './operand-parser.ts'
import type { FromClause, SelectItem, Selection } from './query.ts'

/** What stands between SELECT (and DISTINCT, TOP) and FROM. */
export function parseSelectList(
  parser: ExpressionParser,
  context: OperandContext,
  from: FromClause | undefined,
): Selection {
  const { cursor } = context
  if (cursor.isSymbol('*')) return { kind: 'value', value: readStar(context, from), text: '*' }
  const read = (): Pick<SelectItem, 'value' | 'text'> => {
    const { place } = cursor
    return { value: parser.expression(), text: cursor.textSince(place) }
  }
  if (cursor.takeKeyword('VALUE')) return { kind: 'value', ...read() }
  const items: SelectItem[] = []
  const names = new Set<string>()
  let unnamed = 0
  do {
    const token = cursor.peek()
    const { value, text } = read()
    const name = readAlias(context) ?? impliedName(value) ?? `$${++unnamed}`
    if (names.has(name)) {
      throw cursor.errorAt(
        token,
        `SELECT names two columns '${name}'; give one another name with AS:`,
      )
    }
    names.add(name)
    items.push({ name, value, text })
  } while (cursor.takeSymbol(','))
  return { kind: 'list', items }
}

/** `*` stands for the one source; with several it would not say which. */
function readStar({ cursor }: OperandContext, from: FromClause | undefined): Expression {
  const token = cursor.take()
  if (cursor.isSymbol(',')) throw cursor.errorAt(token, "SELECT '*' together with other columns")
  if (from === undefined) throw cursor.errorAt(token, "SELECT '*' without FROM")
  const [source, ...others] = from.sources
  if (others.length > 0 || (source !== undefined && from.documentName !== undefined)) {
    throw cursor.errorAt(
      token,
      "SELECT '*' with JOIN is not supported: name the columns instead of '*'",
    )
  }
  return { kind: 'variable', name: '*', slot: source?.slot ?? 0 }
}

function readAlias({ cursor }: OperandContext): string | undefined {
  if (cursor.takeKeyword('AS')) {
    const token = cursor.peek()
    if (token.kind === 'string') {
      cursor.take()
      return token.value
    }
    return cursor.expectWord('an alias')
  }
  return cursor.isName() ? cursor.take().text : undefined
}

function impliedName(value: Expression): string | undefined {
  if (value.kind === 'variable') return value.name
  if (value.kind !== 'path') return undefined
  const last = value.steps.at(-1)
  return last?.kind === 'literal' && typeof last.value === 'string' ? last.value : undefined
}
